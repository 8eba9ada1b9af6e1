"""Values, kinds and shapes of X at fit."""

import re
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from opgd import OPGDClassifierCV
from tests.hostile.outcomes import (
    fit_refused,
    fits,
    fits_like,
    fits_the_same,
    frame,
    table,
)
from tests.hostile.registry import (
    ESTIMATORS,
    allows_missing,
    has_noise,
    hostile,
    listed,
    name_of,
    unit_bound,
    without_ridge,
)

pl = pytest.importorskip("polars")  # not to be had for free-threaded Pythons

SECTION = "Features"
COLUMN_BY_COLUMN = {"CommonPrincipalComponents"}
NOTHING_BORROWED = {  # a ridge or shrinkage of their own, or no covariance
    "OPGDMixture",
}
REFUSED = "`ValueError`"


def redundancy_matters(model) -> bool:
    divided = model.get_params().get("n_subclasses", 1) not in (1, "auto", None)
    return name_of(model) in COLUMN_BY_COLUMN or unit_bound(model) or has_noise(model) or divided


MISSING_WORDS = r"(NaN or infinity in .*, first in row 4|noise does not support).*SimpleImputer"
MISSING_ALLOWED = {name_of(own) for own in ESTIMATORS.values() if allows_missing(own)}


@hostile("infinity in a data frame", f"{REFUSED} that names the columns and the estimator")
def infinite_in_a_frame(model):
    named = name_of(getattr(model, "estimator", model))
    for value in (np.inf, -np.inf):
        X, y = frame()
        X.loc[7, ["b", "d"]] = value
        fit_refused(model, X, y, rf"infinity in 'b', 'd', first in row 7. {named}")


@hostile("infinity in an array", f"{REFUSED} with the index of the column")
def infinite_in_an_array(model):
    X, y = table()
    X[3, 2] = np.inf
    fit_refused(model, X, y, "infinity in column 2")


@hostile(
    "missing values (NaN, `None`, pandas' `NA`)",
    f"accepted by {listed(MISSING_ALLOWED)}, see [missing values](missing_values.md); {REFUSED} "
    "that names the column and says what to do from the others",
)
def missing_values(model):
    X, y = frame()
    X.loc[4, "c"] = np.nan
    objects = X.astype(object).where(X.notna(), None)
    for guise in (X, objects, X.to_numpy()):
        if allows_missing(model):
            fits(model, guise, y)
        else:
            fit_refused(model, guise, y, MISSING_WORDS)
    if not allows_missing(model) and not has_noise(model):
        fit_refused(model, X.astype("Float64"), y, "'c', first in row 4")


@hostile(
    "a column, or a class in a column, without a single value",
    "a finite fit where missing values are accepted; the column is ignored with `DataWarning`",
    to=allows_missing,
)
def no_values(model):
    X, y = table()
    X[y == 1, 2] = np.nan
    fits(clone(model), X, y)
    X[:, 2] = np.nan
    assert any("without a single value" in message for message in fits(model, X, y))


@hostile(
    "half of the values missing, some samples without any",
    "a finite fit where missing values are accepted",
    to=allows_missing,
)
def half_missing(model):
    X, y = table()
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.5] = np.nan
    X[:5] = np.nan
    fits(model, X, y)


@hostile("text in a column", f"{REFUSED} that names the column and quotes the first string")
def words(model):
    X, y = frame()
    X = X.astype(object)
    X.loc[2, "a"] = "much"
    fit_refused(model, X, y, r"'a' is not numeric \(could not convert string to float: 'much'\)")


@hostile("a column of dates", f"{REFUSED} that names the column")
def dates(model):
    X, y = frame()
    fit_refused(
        model,
        X.assign(b=pd.Timestamp("2020-01-01")),
        y,
        r"Column 'b' is not numeric \(dates or times\). Convert it",
    )


@hostile("complex numbers", REFUSED)
def complex_numbers(model):
    X, y = table()
    fit_refused(model, X + 1j, y, "Complex data not supported")


@hostile("a sparse matrix", "`TypeError`")
def sparse_matrix(model):
    X, y = table()
    fit_refused(model, sparse.csr_array(X), y, "Sparse data was passed", TypeError)


@hostile("one or three dimensions, no samples, no features, a single sample", REFUSED)
def shapes_that_cannot_be(model):
    X, y = table()
    fit_refused(model, X[:, 0], y, "Expected 2D array, got 1D array")
    fit_refused(model, X[:, :, None], y, "dim 3")
    fit_refused(model, X[:0], y[:0], r"0 sample\(s\)")
    fit_refused(model, X[:, :0], y, r"0 feature\(s\)")
    fit_refused(model, X[:1], y[:1], r"1 sample\(s\)|Only one class")


@hostile("column names only some of which are strings", "`TypeError`")
def names_of_two_kinds(model):
    X, y = frame()
    fit_refused(model, X.rename(columns={"a": 0}), y, "string names", TypeError)


@hostile("only constant features", REFUSED)
def all_constant(model):
    X, y = table()
    fit_refused(model, np.full_like(X, 0.1), y, "constant")


@hostile(
    "a constant feature",
    "same predictions, zero loadings; one warning that names it",
)
def constant_column(model):
    X, y = frame()
    X.insert(1, "always", 0.1)
    said = fits_the_same(model, X, y)
    assert sum("'always'" in own for own in said) == 1, said
    if hasattr(model, "components_") and model.components_.shape[1] == X.shape[1]:
        assert np.all(model.components_[:, 1] == 0)


@hostile(
    "a duplicated feature",
    f"same predictions; finite predictions from {listed(COLUMN_BY_COLUMN)}, whose model depends "
    "on redundant features",
)
def duplicate_column(model):
    X, y = table()
    twice = np.column_stack([X, X[:, 1]])
    fits(clone(model), twice, y)
    model = without_ridge(model)  # a ridge on every feature depends on their number
    (fits if redundancy_matters(model) else fits_the_same)(model, twice, y)


@hostile("a feature that is a linear combination of others", "as for a duplicated feature")
def collinear_column(model):
    X, y = table()
    more = np.column_stack([X, X @ [1.0, 2, 0, -1]])
    fits(clone(model), more, y)
    model = without_ridge(model)
    (fits if redundancy_matters(model) else fits_the_same)(model, more, y)


@hostile(
    "fewer samples than features (12 by 25)",
    f"a finite fit; a warning, except from {listed(NOTHING_BORROWED)}",
)
def few_rows(model):
    y = np.arange(12) % 3
    X = np.random.default_rng(0).normal(size=(12, 25)) + y[:, None]
    fits(clone(model), X, y)
    said = fits(without_ridge(model), X, y)
    mentioned = any("columns" in message or "features" in message for message in said)
    assert name_of(model) in NOTHING_BORROWED or mentioned, said


@hostile("a single feature", "a finite fit")
def one_column(model):
    X, y = table()
    if isinstance(model, OPGDClassifierCV):  # was told to try two axes
        model.set_params(n_components=1)
    fits(model, X[:, [0]], y)


@hostile("all values shifted by 1e8 or -1e12", "same predictions")
def offsets(model):
    for offset in (1e8, -1e12):
        fits_the_same(model, table()[0] + offset)


@hostile("all values shifted by 1e4, in float32", "same predictions")
def offsets_in_single_precision(model):
    fits_the_same(model, (table()[0] + 1e4).astype(np.float32), atol=1e-4)


@hostile("all features multiplied by 1e-12, 1e12, 1e-150 or 1e150", "same predictions")
def units(model):
    for unit in (1e-12, 1e12, 1e-150, 1e150):
        fits_the_same(model, table()[0] * unit)


@hostile(
    "features multiplied by different factors (1e-12, 1e-4, 1e4 and 1e12)",
    "same predictions; finite predictions from `CommonPrincipalComponents`, which depends on units",
)
def mixed_units(model):
    X, y = table()
    scaled = X * [1e-12, 1e-4, 1e4, 1e12]
    (fits if unit_bound(model) else fits_the_same)(model, scaled, y)


@hostile(
    "values whose squares overflow (1e160, 1e300)",
    f"same predictions, or a {REFUSED} stating that they are too large",
)
def squares_overflow(model):
    for unit in (1e160, 1e300):
        the_same_or_refused(model, unit, "values too large|squares overflow")


@hostile(
    "values whose squares underflow (1e-170)",
    f"same predictions, or a {REFUSED} stating that they are too small",
)
def squares_vanish(model):
    the_same_or_refused(model, 1e-170, "squares underflow")
    if not unit_bound(model):
        the_same_or_refused(
            model, np.array([1e-170, 1, 1, 1]), "values too small|squares underflow"
        )


def the_same_or_refused(model, unit, words):
    X, y = table()
    try:
        fits_the_same(model, X * unit, y)
    except ValueError as error:
        assert re.search(words, str(error)), error  # noqa: PT017


@hostile(
    "values whose differences overflow (1.7e308 and -1.7e308)",
    f"{REFUSED} stating that values are too large, or a finite fit",
)
def differences_overflow(model):
    X, y = table()
    X[0, 0], X[1, 0] = 1.7e308, -1.7e308
    try:
        fits(model, X, y)
    except ValueError as error:
        assert "too large" in str(error), error  # noqa: PT017


@hostile("a single outlier of 1e8", "a finite fit")
def outlier(model):
    X, y = table()
    X[5, 1] = 1e8
    fits(model, X, y)


@hostile("float16", "same predictions as for these numbers in float64")
def half_precision(model):
    X, y = table()
    X = X.astype(np.float16)
    fits_like(model, [X], X.astype(np.float64), y)


@hostile("float32", "same predictions")
def single_precision(model):
    fits_the_same(model, table()[0].astype(np.float32), atol=1e-4)


@hostile("integers (8 and 64 bits, unsigned)", "same predictions as for these numbers in float64")
def integers(model):
    X, y = table()
    whole = np.round(X * 8).astype(np.int64) + 64
    guises = [whole.astype(kind) for kind in (np.int8, np.int64, np.uint8)]
    fits_like(model, guises, whole.astype(float), y)


@hostile("booleans", "treated as 1 and 0", to=lambda model: not has_noise(model))
def booleans(model):
    X, y = table()
    fits_like(model, [X > 1], (X > 1).astype(float), y)


@hostile("numbers in columns of dtype object", "same predictions")
def objects(model):
    X, _ = frame()
    fits_the_same(model, X.astype(object))


@hostile("non-native byte order, long double", "same predictions")
def foreign_floats(model):
    X, _ = table()
    for kind in (X.dtype.newbyteorder(), np.longdouble):
        fits_the_same(model, X.astype(kind))


@hostile(
    "read-only arrays, Fortran order, non-contiguous views, negative strides", "same predictions"
)
def memory_layouts(model):
    X, _ = table()
    locked = X.copy()
    locked.setflags(write=False)
    wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
    for own in (locked, np.asfortranarray(X), wide[::2, ::3], X[::-1].copy()[::-1]):
        fits_the_same(model, own)


@hostile("a memory map", "same predictions")
def memory_map(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, table()[0])
        fits_the_same(model, np.load(path, mmap_mode="r"))


@hostile("lists of lists", "same predictions")
def lists(model):
    fits_the_same(model, table()[0].tolist())


@hostile(
    "pandas data frames with a shuffled index, polars data frames",
    "same predictions; samples are matched by position, not by index",
)
def frames(model):
    X, _ = frame()
    shuffled = X.set_axis(np.random.default_rng(1).permutation(len(X)))
    for own in (shuffled, pl.from_pandas(X)):
        fits_the_same(model, own)
        assert list(model.feature_names_in_) == list("abcd")


@hostile("two columns with the same name", f"{REFUSED} that gives the name")
def duplicate_names(model):
    X, y = frame()
    fit_refused(model, X.set_axis(["a", "b", "b", "d"], axis=1), y, "column named 'b'")
