"""loadings_table: coefficients and correlations as a table, with bootstrap intervals."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from opgd._base.gaussian import GaussianClassifier
from opgd._utils.labels import label_array
from opgd._utils.validation import check_integer, check_seed
from opgd._utils.warnings import DataWarning
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.plotting._fitted import (
    check_has_axes,
    checked_rows,
    class_codes,
    column_names,
    correlations,
    standardised_coefficients,
)

PERCENTILES = (2.5, 97.5)


def loadings_table(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    n_bootstrap: int = 0,
    random_state: Any = None,
) -> Any:
    """What columns contribute to the axes, as a table.

    Parameters
    ----------
    estimator : fitted estimator of opgd that has axes
    X : array-like of shape (n_samples, n_features), default=None
        Rows for the correlations, and for the intervals.
    y : array-like of shape (n_samples,), default=None
        Labels, for the intervals of a classifier.
    n_bootstrap : int, default=0
        Number of fits to resampled rows, from which intervals come; a few hundred are usual. Rows
        are drawn with replacement within classes (clusters); the settings stay, also those that
        cross-validation has chosen; a search starts from the fitted axes, so that intervals do
        not tell of other optima. Axes of a fit are matched with those of `estimator` by their
        scores on X, the pairs of greatest absolute correlation first, and get their signs. A
        cluster's mixture starts from the clusters of the fit.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    table : pandas.DataFrame
        A row for every axis and column: `axis` (index into `components_`), `column`,
        `coefficient`, `standardised` (the coefficient times the standard deviation of the column),
        with X `correlation` (of column and score), and with bootstrap, for each of the three, the
        percentiles 2.5 and 97.5 as `..._low` and `..._high`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import loadings_table
    >>> iris = load_iris(as_frame=True)
    >>> model = OPGDClassifier(n_components=2).fit(iris.data, iris.target)
    >>> table = loadings_table(model, iris.data)
    >>> list(table.columns)
    ['axis', 'column', 'coefficient', 'standardised', 'correlation']
    >>> len(table)
    8
    """
    try:
        import pandas
    except ImportError:
        raise ImportError("loadings_table needs pandas: install it, or opgd[data].") from None
    check_has_axes(estimator)
    check_integer("n_bootstrap", n_bootstrap)
    n_axes, n_features = estimator.components_.shape
    columns: dict[str, Any] = {
        "axis": np.repeat(np.arange(n_axes), n_features),
        "column": column_names(estimator) * n_axes,
    }
    rows = None if X is None else checked_rows(estimator, X, y)
    loadings = measured(estimator, rows)
    columns |= {name: own.ravel() for name, own in loadings.items()}
    if n_bootstrap:
        if rows is None or (y is None and isinstance(estimator, GaussianClassifier)):
            raise ValueError("Intervals need the rows X, and of a classifier the labels y.")
        if isinstance(estimator, GaussianClassifier):
            groups = class_codes(estimator, y)
        else:
            y, groups = None, estimator.predict(X)
        if not hasattr(estimator, "unlabeled") and np.any(groups < 0):
            raise ValueError("y has labels that are no classes of the estimator.")
        fits = resampled(estimator, rows, y, groups, n_bootstrap, check_seed(random_state))
        for name in loadings:
            ends = np.nanpercentile([own[name] for own in fits], PERCENTILES, axis=0)
            columns |= {f"{name}_low": ends[0].ravel(), f"{name}_high": ends[1].ravel()}
    return pandas.DataFrame(columns)


def measured(estimator: Any, X: AnyArray | None) -> dict[str, FloatArray]:
    """Loadings of a fitted model, (q, p) each."""
    found = {
        "coefficient": estimator.components_,
        "standardised": standardised_coefficients(estimator),
    }
    if X is not None:
        found["correlation"] = correlations(X, estimator.components_)
    return found


def resampled(
    estimator: Any,
    X: AnyArray,
    y: Any,
    groups: IntArray,
    number: int,
    rng: np.random.RandomState,
) -> list[dict[str, FloatArray]]:
    """Loadings of fits to resampled rows, on axes matched with those of the estimator."""
    model = getattr(estimator, "best_estimator_", estimator)
    labels = None if y is None else label_array(y)
    fits = []
    for _ in range(number):
        rows = draw_within(groups, rng)
        with warnings.catch_warnings():
            # resampled rows repeat, so covariances are singular more often than the user's
            warnings.simplefilter("ignore", DataWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            own = _refit(model, X[rows], None if labels is None else labels[rows], groups[rows])
        places, signs = matched_axes(correlated(X, estimator.components_, own.components_))
        fits.append(
            {
                name: _aligned(loadings, places, signs)
                for name, loadings in measured(own, X[rows]).items()
            }
        )
    return fits


def draw_within(groups: IntArray, rng: np.random.RandomState) -> IntArray:
    """As many rows as there are, drawn with replacement within groups."""
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    return np.concatenate([own[rng.randint(len(own), size=len(own))] for own in members])


def _refit(model: Any, X: AnyArray, y: Any, groups: IntArray) -> Any:
    again, settings = clone(model), model.get_params()
    if "components_init" in settings:
        again.set_params(
            init=groups,
            n_clusters=len(np.unique(groups)),
            n_components=len(model.components_),
            components_init=model.components_,
        )
        return again.fit(X)
    if "init" in settings:
        again.set_params(init=model.components_, n_components=len(model.components_), n_init=1)
    return again.fit(X, y)


def correlated(X: AnyArray, components: FloatArray, others: FloatArray) -> FloatArray:
    """Correlations of the scores on two sets of axes, (q, r)."""
    rows = np.asarray(X, dtype=np.float64)
    rows = rows - rows.mean(axis=0)
    scores, other_scores = rows @ components.T, rows @ others.T
    lengths = np.linalg.norm(scores, axis=0)[:, None] * np.linalg.norm(other_scores, axis=0)
    return np.nan_to_num(scores.T @ other_scores / np.where(lengths > 0, lengths, 1.0))


def matched_axes(correlation: FloatArray) -> tuple[IntArray, FloatArray]:
    """For each axis its partner among the others (-1 for none) and the partner's sign."""
    places = np.full(len(correlation), -1)
    signs = np.ones(len(correlation))
    left = np.abs(correlation)
    for _ in range(min(left.shape)):
        i, j = np.unravel_index(np.argmax(left), left.shape)
        places[i], signs[i] = j, -1.0 if correlation[i, j] < 0 else 1.0
        left[i] = left[:, j] = -1.0
    return places, signs


def _aligned(loadings: FloatArray, places: IntArray, signs: FloatArray) -> FloatArray:
    """Rows of a fit in the order of the estimator's axes; nan where it has found fewer."""
    own = signs[:, None] * loadings[places]
    own[places < 0] = np.nan
    return own
