"""What may happen: a refusal in words, a finite fit, or the same answers as without the trouble."""

import functools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from opgd import DataWarning
from tests.hostile.registry import ESTIMATORS, entry_of, has_noise, partly_labeled

SIZES = (26, 20, 14)
TOLERANCE = 1e-5
"""Of probabilities; searches end where a gradient is small, not at the same bits."""


def table():
    """Three classes of rows, on a grid that shifting does not round."""
    rng = np.random.default_rng(20261116)
    y = rng.permutation(np.repeat([0, 1, 2], SIZES))
    X = rng.normal(size=(len(y), 4))
    X[:, :3] += 3 * np.eye(3)[y]
    return np.round(X * 2**10) / 2**10, y


def frame():
    X, y = table()
    return pd.DataFrame(X, columns=["a", "b", "c", "d"]), y


def some_labels(model, y):
    """Labels as this estimator likes them: every fifth is missing where that is the point."""
    whole = isinstance(y, np.ndarray) and y.dtype.kind == "i" and y.ndim == 1
    if partly_labeled(model) and whole:
        return np.where(np.arange(len(y)) % 5 == 4, -1, y)
    return y


def watched(action, allowed=(DataWarning, ConvergenceWarning)):
    """The result and all that was said; no other warnings than those of this package."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = action()
    strange = [str(own.message) for own in caught if not issubclass(own.category, allowed)]
    assert not strange, strange
    return result, [str(own.message) for own in caught]


def fit(model, X, y=None, allowed=(DataWarning, ConvergenceWarning), **options):
    """Fit; inputs stay what they were. Returns what was said."""
    y = some_labels(model, y)
    before = pickle.dumps((X, y, options))
    _, said = watched(lambda: model.fit(X, y, **options), allowed)
    assert pickle.dumps((X, y, options)) == before, "fit changed its input"
    return said


def fits(model, X, y=None, **options):
    """Fit, and nothing of the result may be NaN or infinite."""
    said = fit(model, X, y, **options)
    usable(model, X)
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f":
            assert np.all(np.isfinite(value)), f"{name} is not finite"
    return said


def usable(model, X):
    """Answers about rows are finite, agree with each other, and come without warnings."""
    posteriors = np.asarray(watched(lambda: model.predict_proba(X))[0])
    assert np.all(np.isfinite(posteriors))
    assert np.all(posteriors >= 0)
    np.testing.assert_allclose(posteriors.sum(axis=1), 1, rtol=1e-9)
    labels = np.asarray(watched(lambda: model.predict(X))[0])
    chosen = np.argmax(posteriors, axis=1)
    strongest = getattr(model, "classes_", np.arange(posteriors.shape[1]))[chosen]
    sure = _sure(posteriors)
    if has_noise(model):
        sure &= labels != -1
    assert np.array_equal(labels[sure], strongest[sure])
    for method in ("predict_log_proba", "decision_function", "typicality", "transform"):
        if hasattr(model, method):
            answer, _ = watched(functools.partial(getattr(model, method), X))
            assert not np.any(np.isnan(answer)), f"{method} gives NaN"


def _sure(posteriors):
    """Rows whose two strongest classes differ by more than rounding."""
    if posteriors.shape[1] == 1:
        return np.ones(len(posteriors), dtype=bool)
    second, first = np.sort(posteriors, axis=1)[:, -2:].T
    return first - second > 1e-9


def refused(action, match, error=ValueError):
    """An error of exactly this kind, in words, and before any warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error, match=match) as caught:
            action()
    assert type(caught.value) is error


def fit_refused(model, X, y=None, match="", error=ValueError, **options):
    """The fit is refused, and leaves the estimator without a trace."""
    before = vars(model).copy()
    refused(lambda: model.fit(X, some_labels(model, y), **options), match, error)
    assert vars(model) == before, "a fit that failed changed the estimator"


@functools.cache
def plain(name, **parameters):
    """The estimator fitted to the table as it is."""
    X, y = table()
    model = clone(ESTIMATORS[name]).set_params(**parameters)
    fit(model, X, y)
    return model


def same(model, X, reference=None, rows=None, *, atol=TOLERANCE):
    """The same probabilities as the reference gives for its rows."""
    if reference is None:
        own = {name: value for name, value in model.get_params().items() if name == "ridge"}
        reference = plain(entry_of(model), **own)
    rows = table()[0] if rows is None else rows
    expected = reference.predict_proba(rows)
    np.testing.assert_allclose(np.asarray(model.predict_proba(X)), expected, rtol=0, atol=atol)


def fits_the_same(model, X, y=None, *, atol=TOLERANCE, **options):
    """A fit of the table in another guise gives the probabilities of the plain one."""
    said = fits(model, X, table()[1] if y is None else y, **options)
    same(model, X, atol=atol)
    return said


def fits_like(model, guises, rows, y):
    """Fits of each of the guises are that of `rows`, the same numbers as ordinary floats."""
    other = clone(model)
    fit(other, rows, y)
    for X in guises:
        fits(model, X, y)
        same(model, X, other, rows)
