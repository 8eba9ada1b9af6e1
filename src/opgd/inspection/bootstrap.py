"""Loadings of fits to resampled rows, on axes matched with those of the original fit."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from opgd._utils.labels import label_array
from opgd._utils.warnings import DataWarning
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.loadings import compute_loadings


def resample_loadings(
    estimator: Any,
    X: AnyArray,
    y: Any,
    groups: IntArray,
    number: int,
    rng: np.random.RandomState,
) -> list[dict[str, FloatArray]]:
    """Compute loadings of fits to resampled rows, on axes matched with those of the estimator."""
    model = getattr(estimator, "best_estimator_", estimator)
    labels = None if y is None else label_array(y)
    fits = []
    for _ in range(number):
        rows = draw_within_groups(groups, rng)
        with warnings.catch_warnings():
            # resampled rows repeat, so covariances are singular more often than the user's
            warnings.simplefilter("ignore", DataWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            drawn_labels = None if labels is None else labels[rows]
            refit = _refit(model, X[rows], drawn_labels, groups[rows])
        correlation = correlate_scores(X, estimator.components_, refit.components_)
        places, signs = match_axes(correlation)
        fits.append(
            {
                name: _align(loadings, places, signs)
                for name, loadings in compute_loadings(refit, X[rows]).items()
            }
        )
    return fits


def draw_within_groups(groups: IntArray, rng: np.random.RandomState) -> IntArray:
    """Draw as many rows as there are, with replacement within groups."""
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    return np.concatenate([rows[rng.randint(len(rows), size=len(rows))] for rows in members])


def _refit(model: Any, X: AnyArray, y: Any, groups: IntArray) -> Any:
    refit, settings = clone(model), model.get_params()
    if "components_init" in settings:
        refit.set_params(
            init=groups,
            n_clusters=len(np.unique(groups)),
            n_components=len(model.components_),
            components_init=model.components_,
        )
        return refit.fit(X)
    if "init" in settings:
        refit.set_params(init=model.components_, n_components=len(model.components_), n_init=1)
    return refit.fit(X, y)


def correlate_scores(X: AnyArray, components: FloatArray, others: FloatArray) -> FloatArray:
    """Compute correlations of the scores on two sets of axes, (q, r)."""
    rows = np.asarray(X, dtype=np.float64)
    rows = rows - rows.mean(axis=0)
    scores, other_scores = rows @ components.T, rows @ others.T
    lengths = np.linalg.norm(scores, axis=0)[:, None] * np.linalg.norm(other_scores, axis=0)
    return np.nan_to_num(scores.T @ other_scores / np.where(lengths > 0, lengths, 1.0))


def match_axes(correlation: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return for each axis its partner among the others (-1 for none) and the partner's sign."""
    places = np.full(len(correlation), -1)
    signs = np.ones(len(correlation))
    left = np.abs(correlation)
    for _ in range(min(left.shape)):
        i, j = np.unravel_index(np.argmax(left), left.shape)
        places[i], signs[i] = j, -1.0 if correlation[i, j] < 0 else 1.0
        left[i] = left[:, j] = -1.0
    return places, signs


def _align(loadings: FloatArray, places: IntArray, signs: FloatArray) -> FloatArray:
    """Put loadings of a fit in the order of the estimator's axes; nan where it has fewer axes."""
    aligned = signs[:, None] * loadings[places]
    aligned[places < 0] = np.nan
    return aligned
