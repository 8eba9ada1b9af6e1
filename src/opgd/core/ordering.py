"""Which component comes first: the paper's greedy rule (Section 3.3)."""

import numpy as np

from opgd.core.objective import Objective
from opgd.core.types import FloatArray, IntArray


def order_components(objective: Objective, directions: FloatArray) -> tuple[IntArray, FloatArray]:
    """Order directions by what each adds to the likelihood of those before it.

    Returns
    -------
    order : ndarray of shape (q,), indices into the rows of `directions`
    values : ndarray of shape (q,), mean objective with the first 1..q of them
    """
    chosen: list[int] = []
    values: list[float] = []
    remaining = list(range(len(directions)))
    while remaining:
        candidates = objective.values_of_subsets(directions, [[*chosen, j] for j in remaining])
        best = int(np.argmax(candidates))
        values.append(float(candidates[best]))
        chosen.append(remaining.pop(best))
    return np.array(chosen, dtype=np.intp), np.array(values)
