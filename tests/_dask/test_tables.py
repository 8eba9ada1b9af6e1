"""Dask data frames with categories."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from opgd import (
    OPGDClassifierCV,
    TableEncoder,
    table_encoder,
)

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
