"""Moments in the units of the features, for models that depend on these units."""

import numpy as np

from opgd.core.moments import Moments
from opgd.core.types import FloatArray

MIN_TOTAL_VARIANCE = 1e4 * np.finfo(np.float64).tiny
MAX_TOTAL_VARIANCE = 1e-4 * np.finfo(np.float64).max
"""Bounds of total variances, beyond which variances of groups would underflow or overflow."""


def map_to_features(moments: Moments, matrix: FloatArray) -> Moments:
    """Return moments of samples x @ matrix; raise ValueError if squares overflow or underflow."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        mapped = moments.mapped(matrix)
        totals = np.diag(mapped.total)
    if not np.all(totals < MAX_TOTAL_VARIANCE):  # or nan
        raise ValueError("X contains values whose squares overflow; rescale X.")
    if not np.all(totals > MIN_TOTAL_VARIANCE):
        raise ValueError("X contains values whose squares underflow; rescale X.")
    return mapped
