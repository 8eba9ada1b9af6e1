"""Displays, tables and reports of pipelines that end in one of our estimators."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from opgd import (
    DataWarning,
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    TableEncoder,
    write_report,
)
from opgd.inspection.pipelines import select_rows, unwrap
from opgd.plotting import (
    ComponentsDisplay,
    ConvergenceDisplay,
    LoadingsDisplay,
    PairsDisplay,
    ProjectionDisplay,
    loadings_table,
)
from opgd.report.summary import summarize
from tests.messy.write import FOLDER
from tests.report.helpers import unpack

TABLE = (
    pd.read_csv(FOLDER / "customers.csv").dropna(subset="churn").head(150).reset_index(drop=True)
)
X, Y = TABLE.drop(columns="churn"), TABLE["churn"].to_numpy()


def fit(*steps, y=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return make_pipeline(*steps).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fit(
        TableEncoder({"comment": "ignore"}), SimpleImputer(strategy="median"), OPGDClassifier(2)
    )


@pytest.fixture(scope="module")
def mixture():
    return fit(
        TableEncoder({"comment": "ignore"}),
        SimpleImputer(strategy="median"),
        StandardScaler(),
        OPGDMixture(2, random_state=0),
    )


@pytest.fixture(scope="module")
def summary(model):
    return summarize(model, X, Y, cv=3)


def test_displays_agree_with_those_of_the_final_estimator(model):
    features = model[:-1].transform(X)
    ours = ProjectionDisplay.from_estimator(model, X, Y, arrows=3, draw=False)
    theirs = ProjectionDisplay.from_estimator(model[-1], features, Y, arrows=3, draw=False)
    np.testing.assert_array_equal(ours.scores, theirs.scores)
    np.testing.assert_array_equal(ours.arrows.shifts, theirs.arrows.shifts)
    assert set(ours.arrows.names) <= set(model[:-1].get_feature_names_out())
    pairs = PairsDisplay.from_estimator(model, X, Y, draw=False)
    np.testing.assert_array_equal(pairs.scores, ours.scores)
    errors = ComponentsDisplay.from_estimator(model, X, Y, draw=False).panels[-1].curves[0]
    assert errors.values[-1] == np.mean(model.predict(X) != Y)
    assert len(ConvergenceDisplay.from_estimator(model, draw=False).losses) > 1


def test_loadings_have_the_encoded_names(model):
    names = model[:-1].get_feature_names_out().tolist()
    display = LoadingsDisplay.from_estimator(model, X, draw=False)
    assert display.columns == names
    table = loadings_table(model, X)
    assert table["column"].tolist() == 2 * names
    expected = loadings_table(model[-1], model[:-1].transform(X))
    np.testing.assert_array_equal(table["correlation"], expected["correlation"])
    assert not hasattr(model[-1], "_display_names")


def test_displays_of_searches_and_mixtures_accept_pipelines(mixture):
    search = fit(
        TableEncoder({"comment": "ignore"}),
        SimpleImputer(strategy="median"),
        OPGDClassifierCV((1, 2), ridge=0.1, cv=2),
    )
    assert ComponentsDisplay.from_cv(search, draw=False).panels
    assert ComponentsDisplay.from_mixture(mixture, draw=False).panels
    assert ProjectionDisplay.from_estimator(mixture, X, draw=False).kind == "cluster"


def test_other_pipelines_are_refused_by_the_name_of_their_last_step():
    other = fit(
        TableEncoder({"comment": "ignore"}),
        SimpleImputer(strategy="median"),
        StandardScaler(),
        LogisticRegression(),
    )
    message = "or a Pipeline that ends in one, got a Pipeline that ends in LogisticRegression"
    for display in (ProjectionDisplay, LoadingsDisplay, ComponentsDisplay):
        with pytest.raises(TypeError, match=message):
            display.from_estimator(other, X)
    with pytest.raises(TypeError, match=message):
        summarize(other, X, Y)


def test_steps_without_names_leave_columns_numbered():
    steps = (
        TableEncoder({"comment": "ignore"}),
        SimpleImputer(strategy="median"),
        FunctionTransformer(np.arctan),
        OPGDClassifier(1),
    )
    unnamed = fit(*steps)
    assert unwrap(unnamed).names is None
    display = LoadingsDisplay.from_estimator(unnamed, X, draw=False)
    assert display.columns[0] == "column 0"


def test_reports_show_the_columns_of_the_table(summary, model):
    page = summary.page
    originals = {column["name"]: column for column in page["originals"]}
    assert set(originals) == set(X.columns)
    rows = unpack(page["rows"])
    for name in ("plan", "usage", "city"):
        codes, words = unpack(originals[name]["codes"]), originals[name]["words"]
        shown = [None if code < 0 else words[code] for code in codes]
        assert shown == [None if cell != cell else cell for cell in X[name].iloc[rows]]
    used = [column["name"] for column in page["originals"] if column["name"] != "comment"]
    assert used.index("currency") > used.index("usage")  # columns that are not used come last
    json.dumps(page, allow_nan=False)


def test_reports_show_loadings_of_encoded_columns_and_the_encoding(summary, model, tmp_path):
    assert summary.columns == model[:-1].get_feature_names_out().tolist()
    assert [column.name for column in summary.table.listed] == list(X.columns)
    assert summary.table.n_missing == int(X.drop(columns="comment").isna().sum().sum())
    assert summary.table.treatment.endswith("filled before the fit.")
    path = write_report(model, X, Y, path=tmp_path / "r.html", cv=0)
    text = path.read_text("utf-8")
    assert "Columns of the table" in text
    assert "days since" in text


def test_cross_validation_of_a_report_fits_all_steps_again(model):
    seen = []

    class Recorder(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(len(X))
            return super().fit(X, y, sample_weight)

    pipeline = fit(
        TableEncoder({"comment": "ignore"}),
        SimpleImputer(strategy="median"),
        Recorder(),
        OPGDClassifier(1),
    )
    seen.clear()
    summary = summarize(pipeline, X, Y, cv=3)
    assert seen == [100, 100, 100]
    assert summary.evaluation.source == "cv"


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_reports_accept_other_data_frames(convert, model, summary):
    other = summarize(model, convert(X), Y, cv=3)
    assert other.evaluation.error == summary.evaluation.error
    assert {c["name"] for c in other.page["originals"]} == set(X.columns)
    assert len(select_rows(convert(X), np.array([2, 1]))) == 2


def test_arrays_have_no_original_columns(rng):
    rows, labels = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    pipeline = make_pipeline(PCA(2), OPGDClassifier(1)).fit(rows, labels)
    summary = summarize(pipeline, rows, labels, cv=2)
    assert summary.page["originals"] == []
    assert summary.table.listed == []
    assert summary.columns == ["pca0", "pca1"]
