"""Bootstrap loadings, on axes matched with those of the original fit."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from opgd._utils.labels import to_label_array
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
    """Compute loadings of fits to resampled rows, with axes matched to those of the estimator."""
    model = getattr(estimator, "best_estimator_", estimator)
    labels = None if y is None else to_label_array(y)
    fits = []
    for _ in range(number):
        rows = draw_within_groups(groups, rng)
        with warnings.catch_warnings():
            # resampled rows repeat, so singular covariances are more frequent than in the data
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
    """Draw a stratified bootstrap sample: row indices, with replacement within each group."""
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
    """Compute the correlations between scores on two sets of axes, (q, r)."""
    rows = np.asarray(X, dtype=np.float64)
    rows = rows - rows.mean(axis=0)
    scores, other_scores = rows @ components.T, rows @ others.T
    lengths = np.linalg.norm(scores, axis=0)[:, None] * np.linalg.norm(other_scores, axis=0)
    return np.nan_to_num(scores.T @ other_scores / np.where(lengths > 0, lengths, 1.0))


def match_axes(correlation: FloatArray) -> tuple[IntArray, FloatArray]:
    """Match axes greedily by absolute correlation, (q, r).

    Returns for each axis the index of its match, -1 if there is none, and the sign of their
    correlation.
    """
    places = np.full(len(correlation), -1)
    signs = np.ones(len(correlation))
    remaining = np.abs(correlation)
    for _ in range(min(remaining.shape)):
        i, j = np.unravel_index(np.argmax(remaining), remaining.shape)
        places[i], signs[i] = j, -1.0 if correlation[i, j] < 0 else 1.0
        remaining[i] = remaining[:, j] = -1.0
    return places, signs


def _align(loadings: FloatArray, places: IntArray, signs: FloatArray) -> FloatArray:
    """Return loadings in the order and with the signs of the original axes, nan without match."""
    matched = signs[:, None] * loadings[places]
    matched[places < 0] = np.nan
    return matched
