"""Pipelines of all steps that model files can store, fitted to the messy table.

`python -m tests._model_file.pipelines` writes golden files for those that have none.
"""

import json
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from opgd import OPGDClassifier, OPGDClassifierCV, OPGDMixture, TableEncoder
from opgd._model_file.container import VERSION
from opgd.baselines import ReducedRankLDA
from tests.messy.write import FOLDER

ROWS = pd.read_csv(FOLDER / "customers.csv").dropna(subset="churn").head(90)
X, Y = ROWS.drop(columns="churn"), ROWS["churn"].to_numpy()
NEW = pd.read_csv(FOLDER / "new_customers.csv")
KNOWN = NEW.iloc[3:8]
"""New rows without unknown categories."""
GOLDEN = FOLDER.parent / "golden" / "pipelines"
NUMBERS, WORDS = ["tenure_months", "age", "visits"], ["plan", "city"]


def select(*steps):
    """Return a pipeline of steps after a selection of columns by name."""
    return ColumnTransformer([("chosen", make_pipeline(*steps), NUMBERS)])


def encode_by_hand(**options):
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=9, **options),
    )
    return ColumnTransformer(
        [("n", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), NUMBERS),
         ("w", words, WORDS)],
        remainder="drop",
    )  # fmt: skip


PIPELINES = {
    "encoder": (TableEncoder(missing="median"), OPGDClassifier(1)),
    "search": (
        TableEncoder({"city": "ignore"}, missing="median", max_categories=9).set_output(
            transform="pandas"
        ),
        OPGDClassifierCV((1,), shrinkage=(0.1, 0.5), ridge=0.1, n_subclasses=1, cv=2),
    ),
    "mixture": (TableEncoder(missing="median"), StandardScaler(), OPGDMixture(2, random_state=0)),
    "scalers": (
        select(
            SimpleImputer(),
            StandardScaler(with_std=False),
            MinMaxScaler((-1, 1), clip=True),
            RobustScaler(with_centering=False),
            FunctionTransformer(feature_names_out="one-to-one"),
            PCA(2, whiten=True, random_state=0),
        ),
        "passthrough",
        ReducedRankLDA(),
    ),
    "power": (
        select(SimpleImputer(), PowerTransformer(standardize=False)),
        OPGDClassifier(1),
    ),
    "by hand": (encode_by_hand(), OPGDClassifier(1)),
    "dense": (
        encode_by_hand(sparse_output=False, drop="if_binary", max_categories=4),
        OPGDClassifier(1),
    ),
    "ordinal": (
        ColumnTransformer(
            [("o", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1,
                                  encoded_missing_value=-2, max_categories=4), WORDS),
             ("p", "passthrough", ["tenure_months"]),
             ("s", SimpleImputer(strategy="constant", fill_value=3.0), make_column_selector("^a"))],
            verbose_feature_names_out=False,
        ),
        OPGDClassifier(1),
    ),
}  # fmt: skip


def fit(name):
    """Return the pipeline of this name, fitted."""
    pipeline = clone(make_pipeline(*PIPELINES[name]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows
        return pipeline.fit(X) if isinstance(pipeline[-1], OPGDMixture) else pipeline.fit(X, Y)


def write_golden():
    """Write the files that later versions must keep reading; existing ones stay."""
    from opgd import save_model

    for name in PIPELINES:
        path = GOLDEN / f"{name.replace(' ', '_')}.v{VERSION}.opgd"
        if not path.exists():
            model = fit(name)
            save_model(model, path)
            answers = {key: values.tolist() for key, values in predict(model, KNOWN).items()}
            path.with_suffix(".json").write_text(json.dumps(answers) + "\n", "utf-8")


def predict(model, rows):
    """Return all results of a model for rows, as arrays by method."""
    methods = ("predict", "predict_proba", "transform")
    return {name: np.asarray(getattr(model, name)(rows)) for name in methods}


if __name__ == "__main__":
    write_golden()
