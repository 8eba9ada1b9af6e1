"""Kernel density estimates of weighted samples, with bandwidths selected by likelihood."""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import KernelDensity

from opgd.core.moments import scale_to_counts
from opgd.core.types import FloatArray

FACTORS = np.geomspace(0.125, 4.0, 16)
"""Candidate bandwidths, as multiples of the normal reference bandwidth."""
TIE = 1e-6
"""Distance below which samples count as equal, as a fraction of the distance they count with."""
TIE_SHARE = 0.5
"""Distance with which equal samples count in each dimension, in reference bandwidths."""
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
    samples: FloatArray, weights: FloatArray, bandwidths: FloatArray, tie_distance: float
) -> FloatArray:
    """Return the mean log density of samples under the kernels of the others, (n_bandwidths,).

        log f_-i(x_i) = log [ sum_{j != i} w_j K_h(|x_i - x_j|) / sum_{j != i} w_j ]

    up to a constant. Of a sample with a weight of two, one half is omitted, as of two samples one.
    Distances less than the rounding error of samples are replaced by `tie_distance`: with ties,
    which rounded values have, the likelihood would be unbounded as h goes to zero.
    """
    counts = scale_to_counts(weights)
    remaining = np.maximum(counts - 1.0, 0.0)
    totals = counts.sum() - counts + remaining
    used = totals > 0
    sums, tie = np.zeros(len(bandwidths)), (TIE * tie_distance) ** 2
    for rows in np.array_split(np.flatnonzero(used), 1 + len(samples) ** 2 // BLOCK_CELLS):
        distances = cdist(samples[rows], samples, "sqeuclidean")
        distances[distances <= tie] = tie_distance**2
        diagonal = np.arange(len(rows)), rows
        distances[diagonal] = np.where(remaining[rows] > 0, tie_distance**2, np.inf)
        nearest = distances.min(axis=1)
        for number, bandwidth in enumerate(bandwidths):
            kernels = np.exp((nearest[:, None] - distances) / (2 * bandwidth**2))
            masses = kernels @ counts - kernels[diagonal] * (counts - remaining)[rows]
            logs = np.log(masses / totals[rows]) - nearest / (2 * bandwidth**2)
            sums[number] += counts[rows] @ logs
    return np.asarray(sums / counts[used].sum() - samples.shape[1] * np.log(bandwidths))


def likeliest_bandwidth(samples: FloatArray, weights: FloatArray, deviation: float) -> float:
    """Return the bandwidth with the largest leave-one-out likelihood; of ties, the largest.

    Equal samples count as half a reference bandwidth apart in each dimension.
    """
    n_features = samples.shape[1]
    reference = reference_bandwidth(scale_to_counts(weights).sum(), n_features, deviation)
    if not np.any(np.ptp(samples, axis=0) > 0):  # identical samples
        return reference
    candidates = reference * FACTORS[::-1]
    tie_distance = TIE_SHARE * reference * np.sqrt(n_features)
    values = leave_one_out_likelihoods(samples, weights, candidates, tie_distance)
    return float(candidates[int(np.argmax(values))])
