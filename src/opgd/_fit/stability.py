"""Agreement between clusters of halves of the samples."""

from collections.abc import Callable

import numpy as np
from sklearn.metrics import adjusted_rand_score

from opgd._fit.refinement import RefinedMixture
from opgd.core.engines import RowEngine
from opgd.core.types import AnyArray, FloatArray, IntArray

SAMPLES_PER_CLUSTER = 5
"""Minimum number of samples of a half per cluster."""

FitHalf = Callable[[AnyArray, int], RefinedMixture]
"""Fit a number of clusters to the samples of a mask, (n,)."""


def compare_halves(
    engine: RowEngine, fit_half: FitHalf, numbers: list[int], seed: int
) -> FloatArray:
    """Return the adjusted Rand index between the fits to two random halves, by number.

    Both fits assign all samples. The index is NaN if there are too few samples.
    """
    in_first = np.zeros(engine.n_samples, dtype=bool)
    order = np.random.RandomState(seed).permutation(engine.n_samples)
    in_first[order[: engine.n_samples // 2]] = True
    indices = np.full(len(numbers), np.nan)
    for place, number in enumerate(numbers):
        if SAMPLES_PER_CLUSTER * number <= engine.n_samples // 2:
            labels = [_assign(engine, fit_half(half, number)) for half in (in_first, ~in_first)]
            indices[place] = adjusted_rand_score(*labels)
    return indices


def _assign(engine: RowEngine, refined: RefinedMixture) -> IntArray:
    return np.argmax(refined.projection.log_joint(engine.X), axis=1)
