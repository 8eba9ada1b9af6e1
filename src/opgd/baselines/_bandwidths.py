"""Kernel densities of weighted rows, with a bandwidth chosen by likelihood."""

import numpy as np
from sklearn.neighbors import KernelDensity

from opgd.core.moments import row_counts
from opgd.core.types import FloatArray

FACTORS = np.geomspace(0.25, 2.0, 10)
"""Bandwidths to choose from, in units of the normal reference."""


def reference_bandwidth(n_rows: float, n_features: int, deviation: float = 1.0) -> float:
    """The best bandwidth (in mean integrated squared error) if the rows were Gaussian."""
    return deviation * float(4 / ((n_features + 2) * n_rows)) ** (1 / (n_features + 4))


def log_kernel_density(
    at: FloatArray, rows: FloatArray, weights: FloatArray, bandwidth: float
) -> FloatArray:
    """Log density at points (m, d), of Gaussian kernels on weighted rows (n, d)."""
    density = KernelDensity(bandwidth=bandwidth).fit(rows, sample_weight=weights)
    logs: FloatArray = density.score_samples(at)
    return logs


def left_out_likelihood(rows: FloatArray, weights: FloatArray, bandwidth: float) -> float:
    """Mean log density of rows, each under the kernels of the others.

        log f_-i(x_i) = log [ (W f(x_i) - w K_h(0)) / (W - w) ],    w = min(weight_i, 1)

    A row of weight two is two rows, so one of them stays when the other is left out.
    """
    counts = row_counts(weights)
    total, left = counts.sum(), np.minimum(counts, 1.0)
    n_features = rows.shape[1]
    log_peak = -0.5 * n_features * np.log(2 * np.pi) - n_features * np.log(bandwidth)
    with_own = log_kernel_density(rows, rows, counts, bandwidth) + np.log(total)
    own_share = np.exp(np.log(left) + log_peak - with_own)
    # where a row has no neighbor at all, what is left is rounding error
    others = np.log(np.maximum(1.0 - own_share, np.finfo(float).eps))
    return float(counts @ (with_own + others - np.log(total - left)) / total)


def likeliest_bandwidth(rows: FloatArray, weights: FloatArray, deviation: float) -> float:
    """The bandwidth under which rows (n, d) left out are likeliest; the widest of equals."""
    reference = reference_bandwidth(row_counts(weights).sum(), rows.shape[1], deviation)
    if not np.any(np.ptp(rows, axis=0) > 0):  # one point says nothing about a bandwidth
        return reference
    choices = reference * FACTORS[::-1]
    values = [left_out_likelihood(rows, weights, float(own)) for own in choices]
    return float(choices[int(np.argmax(values))])
