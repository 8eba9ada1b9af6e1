"""Kernel density estimates of weighted samples, with bandwidths selected by likelihood."""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import KernelDensity

from opgd.core.moments import scale_to_counts
from opgd.core.types import FloatArray

FACTORS = np.geomspace(0.125, 4.0, 16)
"""Candidate bandwidths, as multiples of the normal reference bandwidth."""
TIE = 1e-6
"""Distance of equal samples up to rounding, as a fraction of the smallest bandwidth."""
BLOCK_CELLS = 2**20


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


def leave_one_out_likelihoods(
    samples: FloatArray, weights: FloatArray, bandwidths: FloatArray
) -> FloatArray:
    """Return the mean log density of samples under the kernels of the others, (n_bandwidths,).

        log f_-i(x_i) = log [ sum_j w_j K_h(x_i - x_j) / sum_j w_j ],    over samples j != x_i

    up to a constant. Samples equal to x_i are left out as well: rounded values have ties, whose
    kernels would make the likelihood unbounded as h goes to zero. A sample of weight two is thus
    equivalent to two samples. Samples without any others have no part in the mean.
    """
    sums, total = np.zeros(len(bandwidths)), 0.0
    tie = (TIE * float(np.min(bandwidths))) ** 2
    for rows in np.array_split(np.arange(len(samples)), 1 + len(samples) ** 2 // BLOCK_CELLS):
        distances = cdist(samples[rows], samples, "sqeuclidean")
        distances[distances <= tie] = np.inf
        nearest = distances.min(axis=1)
        has_others = np.isfinite(nearest)
        distances, nearest = distances[has_others], nearest[has_others, None]
        row_weights = weights[rows][has_others]
        log_totals = np.log(np.isfinite(distances) @ weights)
        for number, bandwidth in enumerate(bandwidths):
            kernels = np.exp((nearest - distances) / (2 * bandwidth**2))
            logs = np.log(kernels @ weights) - log_totals - nearest[:, 0] / (2 * bandwidth**2)
            sums[number] += row_weights @ logs
        total += row_weights.sum()
    if total == 0:
        return np.zeros(len(bandwidths))
    return np.asarray(sums / total - samples.shape[1] * np.log(bandwidths))


def likeliest_bandwidth(samples: FloatArray, weights: FloatArray, deviation: float) -> float:
    """Return the bandwidth with the largest leave-one-out likelihood; of ties, the largest."""
    reference = reference_bandwidth(scale_to_counts(weights).sum(), samples.shape[1], deviation)
    if not np.any(np.ptp(samples, axis=0) > 0):  # identical samples
        return reference
    candidates = reference * FACTORS[::-1]
    values = leave_one_out_likelihoods(samples, weights, candidates)
    return float(candidates[int(np.argmax(values))])
