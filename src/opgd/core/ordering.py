"""Which component comes first: the paper's greedy rule (Section 3.3)."""

from collections.abc import Iterator

import numpy as np

from opgd.core.objective import AxisDensity, Objective, added
from opgd.core.types import FloatArray, IntArray

MOST_FULL = 16
"""Axes up to which full covariances are ordered by trying."""
TIE = 1e-9
"""Values closer than this are equal, and the axis that came first stays first."""


def order_components(objective: Objective, directions: FloatArray) -> tuple[IntArray, FloatArray]:
    """Order directions by what each adds to the likelihood of those before it.

    With full covariances a choice of axes has no sum over axes to take it from, so each is a model
    of its own; above `MOST_FULL` axes they stay in the order of the basis that they were turned to
    (the LDA axes, then the SAVE axes).

    Returns
    -------
    order : ndarray of shape (q,), indices into the rows of `directions`
    values : ndarray of shape (q,), mean objective with the first 1..q of them
    """
    spans_only = objective.form.spans_only
    if spans_only and len(directions) > MOST_FULL:
        return np.arange(len(directions)), values_of_first(objective, directions)
    values_with = values_with_each_full if spans_only else values_with_each
    chosen: list[int] = []
    values: list[float] = []
    while len(chosen) < len(directions):
        candidates = [j for j in range(len(directions)) if j not in chosen]
        found = values_with(objective, directions, chosen, candidates)
        best = int(np.argmax(found >= found.max() - TIE))
        chosen.append(candidates[best])
        values.append(float(found[best]))
    return np.array(chosen, dtype=np.intp), np.array(values)


def values_with_each_full(
    objective: Objective, directions: FloatArray, chosen: list[int], candidates: list[int]
) -> FloatArray:
    """Mean objective of the chosen directions with each candidate, for any covariances."""
    return np.array([objective.likelihood(directions[[*chosen, j]]) for j in candidates])


def values_of_first(objective: Objective, directions: FloatArray) -> FloatArray:
    """Mean objective of the first 1..q directions, (q,)."""

    def sums(density: AxisDensity) -> Iterator[FloatArray]:
        total = density(0).copy()
        yield total
        for j in range(1, len(directions)):
            total += density(j)
            yield total

    return objective.values(directions, sums)


def values_with_each(
    objective: Objective, directions: FloatArray, chosen: list[int], candidates: list[int]
) -> FloatArray:
    """Mean objective of the chosen directions with each candidate; for diagonal covariances."""

    def sums(density: AxisDensity) -> Iterator[FloatArray]:
        base = added(density, chosen) if chosen else 0.0
        for j in candidates:
            own = density(j)
            own += base
            yield own

    return objective.values(directions, sums)
