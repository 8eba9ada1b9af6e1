"""Write the model files that later versions must keep reading: tests/golden/data/*.opgd.

What is there stays as it is: a file is written only for an estimator or a version of the format
that has none. Run it from the root of the repository: python -m tests.golden.write
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

from opgd import OPGDMixture, OPGDSemiSupervised, save_model
from opgd._model_file.container import VERSION
from opgd._model_file.schema import ESTIMATORS

DATA = Path(__file__).resolve().parent / "data"
ROWS_KEPT = 5
"""Step between the iris samples that are fitted; predictions are for every fifth of these."""
METHODS = ["predict", "predict_proba", "transform", "typicality"]
PRIORS = {"setosa": 0.2, "versicolor": 0.3, "virginica": 0.5}
SETTINGS: dict[str, dict[str, Any]] = {
    "OPGDClassifierCV": {"n_components": [1, 2], "shrinkage": 0, "ridge": (0, 0.1), "cv": 2},
    "OPGDMixture": {"n_clusters": 3, "random_state": 0},
    "OPGDClassifier": {"n_components": 2, "priors": PRIORS},
}
CONFORMALIZED = ["OPGDClassifier", "ReducedRankLDA", "KernelNaiveBayes"]


def rows(first: int) -> tuple[Any, Any]:
    """A table with names of columns, and words as labels, from this row on."""
    iris = load_iris(as_frame=True)
    labels = iris.target_names[iris.target]
    return iris.data.iloc[first::ROWS_KEPT], labels[first::ROWS_KEPT]


def training_rows() -> tuple[Any, Any]:
    """What models are fitted to."""
    return rows(0)


def fitted(name: str) -> Any:
    """A small model of this kind."""
    X, y = training_rows()
    model = ESTIMATORS[name].estimator(**SETTINGS.get(name, {}))
    if isinstance(model, OPGDSemiSupervised):
        model.set_params(unlabeled="?")
        y = np.where(np.arange(len(y)) % 3 == 0, "?", y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows
        model = model.fit(X) if isinstance(model, OPGDMixture) else model.fit(X, y)
    return model.conformalize(*rows(1)) if name in CONFORMALIZED else model


def answers(model: Any) -> dict[str, Any]:
    """Predictions for some samples, as plain data."""
    some = training_rows()[0].iloc[::5]
    methods = [own for own in METHODS if hasattr(model, own)]
    return {own: np.asarray(getattr(model, own)(some)).tolist() for own in methods}


def main() -> None:
    DATA.mkdir(exist_ok=True)
    for name in ESTIMATORS:
        path = DATA / f"{name}.v{VERSION}.opgd"
        if not path.exists():
            model = fitted(name)
            save_model(model, path)
            text = json.dumps(answers(model), indent=1) + "\n"
            path.with_suffix(".json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
