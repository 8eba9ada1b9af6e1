"""Notes on a fitted mixture: empty clusters, a doubtful number, similar components."""

from typing import Any

import numpy as np

from opgd._fit.cluster_numbers import confusion_rates, doubt_selection, find_tiny
from opgd._fit.data_warnings import warn_about_data
from opgd._fit.mixture_selection import Outcome
from opgd._fit.numbering import Numbering
from opgd._fit.problem import Problem, limit_n_components
from opgd.core.coordinates import sphered_coordinates
from opgd.core.starts import normalize_rows
from opgd.core.types import FloatArray, IntArray

MAX_CORRELATION = 0.9
"""Correlation of the scores on two components above which a warning is issued."""


def warn_about_mixture(
    outcome: Outcome,
    numbering: Numbering,
    components: FloatArray,
    columns: list[str],
    *,
    n_components: int | None,
    metric: str,
    init: Any,
) -> None:
    """Issue one warning that lists all problems of the data and of the result."""
    refined = outcome.fit.refined
    problem, labels = refined.problem, numbering.labels
    notes = limit_n_components(n_components or len(components), len(components))[1]
    notes += outcome.notes + _doubt_outcome(outcome, labels)
    sizes = np.bincount(labels, refined.sizes).astype(np.intp)
    notes += _find_empty(sizes, is_fitted=hasattr(init, "fit"))
    if metric == "identity":
        notes += _check_correlation(problem, components)
    warn_about_data(
        problem,
        [str(label) for label in labels],
        columns,
        notes,
        what=("cluster", "clusters"),
        advice="set the parameter shrinkage to choose the amount",
    )


def _doubt_outcome(outcome: Outcome, labels: IntArray) -> list[str]:
    """Return notes on tiny clusters, and on the selected number if there was a choice."""
    refined = outcome.fit.refined
    sizes = np.bincount(labels, refined.sizes).astype(np.intp)
    if len(outcome.selection["n_clusters"]) == 1:
        return find_tiny(sizes, outcome.n_samples)
    rates = confusion_rates(refined, labels)
    return doubt_selection(outcome.selection, sizes, rates, outcome.n_samples)


def _find_empty(sizes: IntArray, *, is_fitted: bool) -> list[str]:
    """Return a note if clusters have no samples."""
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return []
    which = ", ".join(map(str, empty))
    advice = "reduce n_clusters"
    if is_fitted:
        advice = "check that init was fitted to data in the units of X"
    return [f"Of {len(sizes)} clusters, these have no samples: {which}; {advice}"]


def _check_correlation(problem: Problem, components: FloatArray) -> list[str]:
    """Return a note if two components are nearly the same (the paper's Section 5.2)."""
    directions = normalize_rows(sphered_coordinates(problem.frame).directions(components))
    correlations = np.abs(np.tril(directions @ directions.T, -1))
    j, i = np.unravel_index(np.argmax(correlations), correlations.shape)
    if correlations[j, i] < MAX_CORRELATION:
        return []
    return [
        f"Scores on components {i + 1} and {j + 1} have a correlation of "
        f"{correlations[j, i]:.2f}, which metric='identity' allows if features are collinear "
        "(see eigenvalues_); use metric='covariance'"
    ]
