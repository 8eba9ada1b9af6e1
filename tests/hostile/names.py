"""Names and labels that are long, odd or made to collide, and unusual containers of numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from tests.hostile.extremes import FINITE, finite_or_refused
from tests.hostile.outcomes import (
    fit,
    fit_refused,
    fits,
    fits_the_same,
    frame,
    same,
    some_labels,
    table,
    usable,
)
from tests.hostile.registry import classifies, hostile

pl = pytest.importorskip("polars")  # not to be had for free-threaded Pythons

SECTION = "Names and containers"
COLLISION = 2**61 - 1
"""Multiples of this have the same hash in Python."""


def labeled_by(model, names):
    """Labels of the table with these names, some of them missing where that is the point."""
    codes = some_labels(model, table()[1])
    labels = np.empty(len(codes), dtype=object)
    labels[:] = [None if code == -1 else names[code] for code in codes]
    return labels


@hostile(
    "column names that are empty, 100 000 characters long, or contain control characters, "
    "markup or formulas",
    "same predictions; the names are kept",
)
def odd_names(model):
    X, _ = frame()
    names = ["", "long" * 25_000, "\x1b[31m\n\x00<script>alert(1)</script>", "=1+1"]
    fits_the_same(model, X.set_axis(names, axis=1))
    assert list(model.feature_names_in_) == names


@hostile(
    "column names that differ only in case, spaces or Unicode normalization", "same predictions"
)
def similar_names(model):
    X, _ = frame()
    for names in (["a", "A", "a ", " a"], ["\u00e9", "e\u0301", "E\u0301", "\u0435"]):
        fits_the_same(model, X.set_axis(names, axis=1))


@hostile("labels of 100 000 characters, with control characters or markup", "kept", to=classifies)
def odd_labels(model):
    X, _ = table()
    names = ["\x00\x1b]0;title\x07", "<b>", "z" * 100_000]
    fits_the_same(model, X, labeled_by(model, names))
    assert model.classes_.tolist() == names


@hostile(
    "labels that differ only in case, spaces or Unicode normalization",
    "different classes",
    to=classifies,
)
def similar_labels(model):
    X, _ = table()
    for names in (["A", "a", "a "], ["E\u0301", "e\u0301", "\u00e9"]):
        fits_the_same(model, X, labeled_by(model, names))
        assert model.classes_.tolist() == names


@hostile(
    "integers as labels whose hashes are equal in Python",
    "different classes",
    to=classifies,
)
def colliding_labels(model):
    X, _ = table()
    names = [COLLISION * factor for factor in (1, 10**6, 10**12)]
    fits_the_same(model, X, labeled_by(model, names))
    assert model.classes_.tolist() == names


@hostile("a data frame with a hierarchical column index", "`TypeError` or same predictions")
def hierarchical_names(model):
    X, y = frame()
    X.columns = pd.MultiIndex.from_product([["u", "v"], ["a", "b"]])
    try:
        fits_the_same(model, X, y)
    except TypeError as error:
        assert "string" in str(error), error  # noqa: PT017


@hostile("broadcast arrays, whose samples share memory", "a finite fit or a `ValueError`")
def broadcast(model):
    X, y = table()
    fit_refused(model, np.broadcast_to(X[0], X.shape), y, "constant")
    shared = np.broadcast_to(X[:, :1], X.shape)
    finite_or_refused(model, shared, y)


@hostile("single-precision numbers of 3e38, 1e-38 or 1e-44", FINITE)
def extreme_single_precision(model):
    X, y = table()
    for unit in (2e37, 1e-38, 1e-44):
        finite_or_refused(clone(model), (X * unit).astype(np.float32), y)


@hostile("extreme values in a data frame of pandas (nullable) or polars", FINITE)
def extreme_frames(model):
    X, y = frame()
    for unit in (1e300, 1e-300, 5e-324):
        with np.errstate(invalid="ignore"):  # pandas tries integers
            nullable = (X * unit).convert_dtypes()
        finite_or_refused(clone(model), nullable, y)
        finite_or_refused(clone(model), pl.from_pandas(X * unit), y)


@hostile("integers of 64 bits beyond 2^53", "a finite fit; they are rounded to floats")
def large_integers(model):
    X, y = table()
    fits(model, np.round(X * 2**50).astype(np.int64) + 2**60, y)


@hostile("a data frame of pandas with repeated index values", "same predictions")
def repeated_index(model):
    X, y = frame()
    repeated = X.set_axis(np.zeros(len(X), dtype=int))
    fits_the_same(model, repeated, y)
    same(model, repeated)


@hostile("a fit on a data frame, predictions for its rows in other containers", "same predictions")
def other_container(model):
    X, y = frame()
    fit(model, X, y)
    same(model, pl.from_pandas(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about missing names
        same(model, X.to_numpy(), model, X)
        same(model, X.to_numpy().tolist(), model, X)
    usable(model, X.iloc[[3, 3, 3]])
