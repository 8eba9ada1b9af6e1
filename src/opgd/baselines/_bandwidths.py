"""Kernel density estimates of weighted samples, with bandwidths selected by likelihood."""

import numpy as np
from sklearn.neighbors import KernelDensity

from opgd.core.moments import scale_to_counts
from opgd.core.types import FloatArray

FACTORS = np.geomspace(0.25, 2.0, 10)
"""Candidate bandwidths, as multiples of the normal reference bandwidth."""


def reference_bandwidth(n_samples: float, n_features: int, deviation: float = 1.0) -> float:
    """Return the bandwidth with minimal mean integrated squared error for Gaussian samples."""
    return deviation * float(4 / ((n_features + 2) * n_samples)) ** (1 / (n_features + 4))


def log_kernel_density(
    at: FloatArray, samples: FloatArray, weights: FloatArray, bandwidth: float
) -> FloatArray:
    """Return the log density at points (m, d), with Gaussian kernels on weighted samples (n, d)."""
    density = KernelDensity(bandwidth=bandwidth).fit(samples, sample_weight=weights)
    logs: FloatArray = density.score_samples(at)
    return logs


def leave_one_out_likelihood(samples: FloatArray, weights: FloatArray, bandwidth: float) -> float:
    """Return the mean log density of samples, each under the kernels of the others.

        log f_-i(x_i) = log [ (W f(x_i) - w K_h(0)) / (W - w) ],    w = min(weight_i, 1)

    A sample of weight two is equivalent to two samples, of which only one is removed.
    """
    counts = scale_to_counts(weights)
    total, removed = counts.sum(), np.minimum(counts, 1.0)
    n_features = samples.shape[1]
    log_peak = -0.5 * n_features * np.log(2 * np.pi) - n_features * np.log(bandwidth)
    log_sums = log_kernel_density(samples, samples, counts, bandwidth) + np.log(total)
    removed_shares = np.exp(np.log(removed) + log_peak - log_sums)
    # for a sample without neighbors the remainder is rounding error, so it is bounded below
    log_remainders = np.log(np.maximum(1.0 - removed_shares, np.finfo(float).eps))
    return float(counts @ (log_sums + log_remainders - np.log(total - removed)) / total)


def likeliest_bandwidth(samples: FloatArray, weights: FloatArray, deviation: float) -> float:
    """Return the bandwidth with the largest leave-one-out likelihood; of ties, the largest."""
    reference = reference_bandwidth(scale_to_counts(weights).sum(), samples.shape[1], deviation)
    if not np.any(np.ptp(samples, axis=0) > 0):  # identical samples
        return reference
    candidates = reference * FACTORS[::-1]
    values = [leave_one_out_likelihood(samples, weights, float(width)) for width in candidates]
    return float(candidates[int(np.argmax(values))])
