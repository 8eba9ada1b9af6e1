"""Dask data frames with categories, and reports on samples of Dask input."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from opgd import (
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    TableEncoder,
    table_encoder,
    write_report,
)
from opgd.report.summary import summarize

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N_ROWS = 600


@pytest.fixture
def table(rng):
    labels = rng.integers(0, 2, N_ROWS)
    plans = np.array(["basic", "gold", "free"])[(rng.random(N_ROWS) + labels).astype(int)]
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, N_ROWS), "D")
    return pd.DataFrame(
        {
            "number": np.arange(N_ROWS),
            "age": np.where(rng.random(N_ROWS) < 0.1, np.nan, 40 + 10 * labels)
            + rng.normal(size=N_ROWS),
            "plan": plans,
            "color": pd.Categorical(rng.choice(["red", "blue"], N_ROWS)),
            "since": days,
            "label": labels,
        }
    )


@pytest.fixture
def lazy(table):
    return dd.from_pandas(table, npartitions=4)


@pytest.mark.parametrize("missing", ["keep", "median"])
def test_encoded_table_is_that_in_memory(table, lazy, missing):
    here, there = (TableEncoder(missing=missing).fit(X) for X in (table, lazy))
    assert str(there.summary_) == str(here.summary_)
    features = there.transform(lazy)
    assert isinstance(features, da.Array)
    assert features.dtype == np.float64
    np.testing.assert_allclose(features.compute(), here.transform(table))


def test_few_rows_decide_how_a_table_is_encoded(table, lazy, monkeypatch):
    monkeypatch.setattr(table_encoder, "MAX_LOADED", 150)
    encoder = TableEncoder().fit(lazy)
    assert encoder.summary_.n_rows == 150
    assert {entry.column: entry.kind for entry in encoder.summary_}["number"] == "identifier"
    np.testing.assert_allclose(encoder.transform(lazy).compute(), encoder.transform(table))
    requested = TableEncoder({"number": "number"}).fit(lazy)
    assert requested.get_feature_names_out()[0] == "number"


def test_encoder_passes_on_arrays_of_numbers(rng):
    X = rng.normal(size=(50, 3))
    features = TableEncoder().fit_transform(da.from_array(X, chunks=(20, 2)))
    assert features.shape == (50, 3)
    np.testing.assert_array_equal(features.compute(), X)


def test_empty_partitions_are_encoded(table, lazy):
    kept = lazy[lazy["number"] >= 300]  # the first partitions are empty
    encoder = TableEncoder().fit(kept)
    assert encoder.transform(kept).compute().shape == (300, len(encoder.get_feature_names_out()))


def test_pipelines_fit_and_predict_lazily(table, lazy):
    settings = {"n_components": 1, "shrinkage": (0, 0.1), "ridge": 0.05, "n_subclasses": 1}
    here, there = (
        make_pipeline(
            TableEncoder(), OPGDClassifierCV(**settings, covariance_type="diag", cv=2)
        ).fit(X.drop(columns="label"), X["label"])
        for X in (table, lazy)
    )
    assert there[-1].best_score_ == pytest.approx(here[-1].best_score_, abs=1e-6)
    labels = there.predict(lazy)
    assert isinstance(labels, da.Array)
    np.testing.assert_array_equal(labels.compute(), here.predict(table))


@pytest.fixture
def small_samples(monkeypatch):
    pytest.importorskip("jinja2")
    monkeypatch.setattr("opgd.inspection.sampling.MAX_ROWS", 200)


@pytest.mark.usefixtures("small_samples")
def test_report_describes_a_sample_and_counts_all_rows(rng, tmp_path):
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, N_ROWS)]
    X = rng.normal(size=(N_ROWS, 4)) + 2 * (y[:, None] == ["a", "b", "c", "d"])
    lazy = da.from_array(X, chunks=(250, 3))
    model = OPGDClassifier(2).fit(lazy, y)
    summary = summarize(model, lazy, da.from_array(y, chunks=250), comparison=None)
    counts = ", ".join(f"{name} {np.sum(y == name)}" for name in "ab")
    first = f"The table has 600 rows: {counts} and c {np.sum(y == 'c')}."
    assert summary.findings[0].startswith(first)
    assert "table with 600 rows" in summary.task
    assert summary.evaluation.source == "cv"
    assert summary.evaluation.n_rows == summary.n_rows == 200
    rows = np.array(summary.row_names, dtype=int)
    assert np.diff(rows).max() < 6
    in_memory = summarize(model, X[rows], y[rows], comparison=None)
    assert summary.evaluation.error == in_memory.evaluation.error
    page = write_report(model, lazy, y, path=tmp_path / "page.html", comparison=None).read_text()
    assert "All 200 rows of the sample are shown" in page
    with pytest.raises(ValueError, match="X has 600 samples, but y has 5"):
        summarize(model, lazy, y[:5])


@pytest.mark.usefixtures("small_samples")
def test_report_on_clusters_counts_all_rows(rng, tmp_path):
    X = rng.normal(size=(N_ROWS, 3)) + 6 * (np.arange(N_ROWS) % 4 == 0)[:, None]
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
    model = OPGDMixture(2, random_state=0).fit(frame)
    sizes = np.bincount(model.predict(frame).compute())
    summary = summarize(model, frame)
    assert all(f"{size}" in summary.findings[0].partition(".")[0] for size in sizes)
    assert summary.n_rows == 200
    assert write_report(model, frame, path=tmp_path / "page.html").exists()


def test_report_on_a_pipeline_encodes_the_sample(table, lazy, small_samples):
    X, y = lazy.drop(columns="label"), lazy["label"]
    model = make_pipeline(TableEncoder(), OPGDClassifier(1)).fit(X, y)
    summary = summarize(model, X, y, comparison=None, X_test=X, y_test=y)
    assert summary.title == "Prediction of label"
    assert summary.evaluation.source == "test"
    assert summary.evaluation.n_rows == 200
    assert summary.n_in_table == len(table)
