"""Order of the components by the greedy rule of the paper (Section 3.3)."""

from collections.abc import Iterator

import numpy as np

from opgd.core.objective import AxisDensity, Objective, sum_densities
from opgd.core.types import FloatArray, IntArray

MOST_FULL = 16
"""Maximum number of components with full covariances that are ordered greedily."""
TIE = 1e-9
"""Difference up to which values are equal; ties keep the original order."""


def order_components(objective: Objective, directions: FloatArray) -> tuple[IntArray, FloatArray]:
    """Order directions by how much each adds to the objective of those before it.

    With full covariances the log density is not a sum over components, so every candidate must be
    evaluated separately. Above `MOST_FULL` components the order of the basis is kept instead (the
    LDA components, then the SAVE components).

    Returns
    -------
    order : ndarray of shape (q,), indices into the rows of `directions`
    values : ndarray of shape (q,), mean objective with the first 1..q of them
    """
    spans_only = objective.form.spans_only
    if spans_only and len(directions) > MOST_FULL:
        return np.arange(len(directions)), values_of_first(objective, directions)
    values_with = values_with_each_full if spans_only else values_with_each
    selected: list[int] = []
    values: list[float] = []
    while len(selected) < len(directions):
        candidates = [j for j in range(len(directions)) if j not in selected]
        candidate_values = values_with(objective, directions, selected, candidates)
        best = int(np.argmax(candidate_values >= candidate_values.max() - TIE))
        selected.append(candidates[best])
        values.append(float(candidate_values[best]))
    return np.array(selected, dtype=np.intp), np.array(values)


def values_with_each_full(
    objective: Objective, directions: FloatArray, selected: list[int], candidates: list[int]
) -> FloatArray:
    """Compute the mean objective with each candidate added, for any covariances."""
    return np.array([objective.likelihood(directions[[*selected, j]]) for j in candidates])


def values_of_first(objective: Objective, directions: FloatArray) -> FloatArray:
    """Compute the mean objective of the first 1..q directions, (q,)."""

    def sums(density: AxisDensity) -> Iterator[FloatArray]:
        total = density(0).copy()
        yield total
        for j in range(1, len(directions)):
            total += density(j)
            yield total

    return objective.values(directions, sums)


def values_with_each(
    objective: Objective, directions: FloatArray, selected: list[int], candidates: list[int]
) -> FloatArray:
    """Compute the mean objective with each candidate added, for diagonal covariances."""

    def sums(density: AxisDensity) -> Iterator[FloatArray]:
        base = sum_densities(density, selected) if selected else 0.0
        for j in candidates:
            log_densities = density(j)
            log_densities += base
            yield log_densities

    return objective.values(directions, sums)
