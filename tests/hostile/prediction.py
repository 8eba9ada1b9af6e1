"""Rows that a fitted model is asked about."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from tests.hostile.outcomes import fit, frame, refused, same, table, usable, watched
from tests.hostile.registry import allows_missing, hostile

pl = pytest.importorskip("polars")  # not to be had for free-threaded Pythons

SECTION = "Prediction"
REFUSED = "`ValueError`"
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")


def answers(model):
    """The methods that take rows."""
    return [getattr(model, name) for name in METHODS if hasattr(model, name)]


def all_refuse(model, X, match, error=ValueError):
    for method in answers(model):
        refused(lambda method=method: method(X), match, error)


@hostile("an estimator that is not fitted", "`NotFittedError`")
def not_fitted(model):
    for name in METHODS[:2]:
        refused(lambda name=name: getattr(model, name)(table()[0]), "not fitted", NotFittedError)


@hostile("infinity", f"{REFUSED} that names the column")
def infinite_entries(model):
    X, y = frame()
    fit(model, X, y)
    X.loc[2, "c"] = np.inf
    all_refuse(model, X, "infinity in 'c', first in row 2")


@hostile(
    "missing values in some or all features of a sample",
    "finite probabilities given the other features where missing values are accepted, else "
    f"{REFUSED} that names the column",
)
def missing_entries(model):
    X, y = frame()
    fit(model, X, y)
    X.loc[2, "c"] = np.nan
    if not allows_missing(model):
        all_refuse(model, X, "NaN or infinity in 'c', first in row 2|noise does not support")
        return
    X.loc[5] = np.nan
    usable(model, X)


@hostile("a sparse matrix", "`TypeError`")
def sparse_rows(model):
    X, y = table()
    fit(model, X, y)
    all_refuse(model, sparse.csr_array(X), "Sparse data was passed", TypeError)


@hostile("columns renamed, reordered, missing or added", REFUSED)
def other_columns(model):
    X, y = frame()
    fit(model, X, y)
    for own in (X.rename(columns={"a": "z"}), X[list("bacd")], X[list("abc")], X.assign(e=0.0)):
        for kind in (own, pl.from_pandas(own)):
            all_refuse(model, kind, "feature names should match")
    all_refuse(model, X.rename(columns={"a": "z"}) * np.nan, "feature names should match")


@hostile("another number of features, one or three dimensions, no samples", REFUSED)
def other_shapes(model):
    X, y = table()
    fit(model, X, y)
    all_refuse(model, X[:, :3], "X has 3 features")
    all_refuse(model, X[0], "Expected 2D array, got 1D")
    all_refuse(model, X[:, :, None], "dim 3")
    all_refuse(model, X[:0], r"0 sample\(s\)")


@hostile(
    "an array after a fit to a data frame",
    "scikit-learn's warning about feature names, same predictions",
)
def names_left_out(model):
    X, y = frame()
    fit(model, X, y)
    _, said = watched(lambda: model.predict(X.to_numpy()), (UserWarning,))
    assert "valid feature names" in said[0]
    fitted = [model, *([model.estimator_] if hasattr(model, "estimator_") else [])]
    names = [estimator.__dict__.pop("feature_names_in_") for estimator in fitted]
    same(model, X.to_numpy())
    for estimator, known in zip(fitted, names, strict=True):
        estimator.feature_names_in_ = known


@hostile(
    "a single sample, samples in another order or with another index",
    "same prediction for each sample",
)
def rows_by_themselves(model):
    X, y = frame()
    fit(model, X, y)
    all_rows = model.predict_proba(X)
    order = np.random.default_rng(2).permutation(len(X))
    np.testing.assert_allclose(model.predict_proba(X.iloc[order]), all_rows[order], atol=1e-12)
    for i in (0, 17):
        np.testing.assert_allclose(model.predict_proba(X.iloc[[i]])[0], all_rows[i], atol=1e-12)


@hostile(
    "float16, integers, objects, read-only arrays",
    "same predictions as for these numbers in float64",
)
def other_kinds(model):
    X, y = table()
    fit(model, X, y)
    whole = np.round(X)
    locked = whole.copy()
    locked.setflags(write=False)
    for own in (whole.astype(np.float16), whole.astype(np.int32), whole.astype(object), locked):
        same(model, own, model, whole)


@hostile(
    "samples shifted by 1e3, 1e8, 1e100 or 1e300 in either direction, in one or all features",
    "finite probabilities that sum to one, no NaN in any output",
)
def far_rows(model):
    X, y = table()
    fit(model, X, y)
    for distance in (1e3, 1e8, 1e100, 1e300):
        for step in (np.ones(4), np.eye(4)[1], np.array([1.0, -1, 1, -1])):
            for sign in (-1, 1):
                usable(model, X[:5] + sign * distance * step)


@hostile(
    "values of 3e38 or -3e38 in float32",
    "finite probabilities that sum to one, no NaN in any output",
)
def far_rows_in_single_precision(model):
    X, y = table()
    fit(model, X.astype(np.float32), y)
    far = np.full((2, 4), 3e38, dtype=np.float32)
    far[1] *= -1
    usable(model, far)


@hostile("data frames with pandas' nullable dtypes", "same predictions")
def nullable_numbers(model):
    X, y = frame()
    fit(model, X, y)
    same(model, pd.DataFrame(X).convert_dtypes())
