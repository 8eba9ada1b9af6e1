"""Class densities of the scores on one direction, and the likelihood ratio of projection pursuit.

All densities are univariate mixtures of Gaussians. They differ in the number of Gaussians and in
how these are estimated: one per sample (kernels), one per class, or a few per class.

With L(z) the log-likelihood of scores z under the density estimated from them (for kernels, each
score under the density of the others), the logarithm of Zhu & Hastie's ratio (eq. 4 of the paper)
is

    log LR = sum_k L(scores of class k) - L(all scores) .

Directions have length one in whitened coordinates, so the pooled variance of scores is about one.
Bounds in this module are in units of this variance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from opgd_paper.methods._base import FloatArray
from opgd_paper.methods.kernel import BLOCK_CELLS, reference_bandwidth

MIN_VARIANCE = 1e-6


@dataclass(frozen=True)
class LineMixture:
    """Univariate mixture of Gaussians."""

    weights: FloatArray  # (G,)
    means: FloatArray  # (G,)
    deviations: FloatArray  # (G,)

    def log_densities(self, scores: FloatArray) -> FloatArray:
        """Return log(weight * density) of each Gaussian, up to log sqrt(2 pi), (G, n)."""
        steps = (scores - self.means[:, None]) / self.deviations[:, None]
        return np.log(self.weights / self.deviations)[:, None] - 0.5 * steps**2

    def log_likelihood(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood of scores (n,), up to a constant, and its derivatives.

        The parameters of the mixture are constants, even if they were estimated from the scores.
        """
        logs = self.log_densities(scores)
        peaks = logs.max(axis=0)
        shares = np.exp(logs - peaks)
        sums = shares.sum(axis=0)
        pull = (self.means[:, None] - scores) / self.deviations[:, None] ** 2
        return float(np.sum(np.log(sums) + peaks)), np.sum(shares * pull, axis=0) / sums

    def normal_scores(self, scores: FloatArray) -> FloatArray:
        """Return scores transformed to standard normal, Phi^-1 F(z)."""
        n_blocks = 1 + len(scores) * len(self.means) // BLOCK_CELLS
        probabilities = [
            self.weights @ ndtr((block - self.means[:, None]) / self.deviations[:, None])
            for block in np.array_split(scores, n_blocks)
        ]
        tail = np.finfo(float).eps
        return ndtri(np.clip(np.concatenate(probabilities), tail, 1 - tail))


ClassScores = Sequence[FloatArray]
"""Scores of each class, (n_k,)."""


def variance_and_slope(scores: FloatArray, borrowed: float) -> tuple[float, FloatArray]:
    """Return the variance of scores, shrunk toward the pooled variance 1, and its derivatives.

    `borrowed` is the weight of the pooled variance.
    """
    steps = scores - scores.mean()
    variance = (1 - borrowed) * float(np.mean(steps**2)) + borrowed + MIN_VARIANCE
    return variance, 2 * (1 - borrowed) * steps / len(scores)


class AxisDensities:
    """Family of class densities, and the likelihood ratio of a direction."""

    def log_ratio(self, groups: ClassScores) -> tuple[float, list[FloatArray]]:
        """Return the log LR, and its derivatives with respect to the scores of each class."""
        parts = [self.log_likelihood(scores, k) for k, scores in enumerate(groups)]
        null, null_slopes = self.log_likelihood(np.concatenate(groups), None)
        by_class = np.split(null_slopes, np.cumsum([len(scores) for scores in groups])[:-1])
        value = sum(part for part, _ in parts) - null
        return value, [slopes - null for (_, slopes), null in zip(parts, by_class, strict=True)]

    def densities(self, groups: ClassScores) -> list[LineMixture]:
        """Return the density of each class."""
        raise NotImplementedError

    def log_likelihood(self, scores: FloatArray, k: int | None) -> tuple[float, FloatArray]:
        """Return L(z) of the scores of class k, or of all samples (None), and its derivatives."""
        raise NotImplementedError


@dataclass(frozen=True)
class KernelDensities(AxisDensities):
    """Gaussian kernel densities, with `bandwidth` times the normal reference bandwidth.

    The log LR has leave-one-out densities. In-sample ones contain the kernel of the sample itself,
    whose share is larger in the density of a class than in that of all samples.
    """

    borrowed: FloatArray  # (K,), weight of the pooled variance, for singular classes
    bandwidth: float = 1.0

    def densities(self, groups: ClassScores) -> list[LineMixture]:
        return [self._density(scores, k) for k, scores in enumerate(groups)]

    def _density(self, scores: FloatArray, k: int) -> LineMixture:
        deviation = np.sqrt(variance_and_slope(scores, self.borrowed[k])[0])
        width = self._width(len(scores)) * deviation
        ones = np.ones(len(scores))
        return LineMixture(ones / len(scores), scores, width * ones)

    def _width(self, n_samples: int) -> float:
        return self.bandwidth * reference_bandwidth(n_samples, 1)

    def log_likelihood(self, scores: FloatArray, k: int | None) -> tuple[float, FloatArray]:
        """Return L and its derivatives; kernels depend on the scores and on their variance s^2.

        With u = z / s and kernels of fixed width on u,  L = sum_i log f(u_i) - n log s.
        """
        borrowed = 0.0 if k is None else float(self.borrowed[k])
        variance, variance_slope = variance_and_slope(scores, borrowed)
        u, n = scores / np.sqrt(variance), len(scores)
        value, slopes = _kernel_likelihood(u, self._width(n))
        by_variance = -0.5 * (slopes @ u + n) / variance
        return value - 0.5 * n * np.log(variance), (
            slopes / np.sqrt(variance) + by_variance * variance_slope
        )


def _kernel_likelihood(u: FloatArray, width: float) -> tuple[float, FloatArray]:
    """Return the leave-one-out log-likelihood of u (n,), and its derivatives.

        sum_i log [1/((n - 1) width) sum_{j != i} exp(-(u_i - u_j)^2 / 2 width^2)]

    A single value keeps its kernel.
    """
    n = len(u)
    if n == 1:
        return -float(np.log(width)), np.zeros(1)
    value, slopes = -n * np.log((n - 1) * width), np.zeros(n)
    for rows in np.array_split(np.arange(n), 1 + n**2 // BLOCK_CELLS):
        steps = (u[rows, None] - u) / width
        halves = 0.5 * steps**2
        halves[np.arange(len(rows)), rows] = np.inf
        nearest = halves.min(axis=1)
        kernels = np.exp(nearest[:, None] - halves)
        sums = kernels.sum(axis=1)
        value += float(np.sum(np.log(sums) - nearest))
        kernels *= steps
        kernels /= sums[:, None] * width
        slopes[rows] -= kernels.sum(axis=1)  # u_i as the point of evaluation
        slopes += kernels.sum(axis=0)  # u_j as the center of a kernel
    return value, slopes


@dataclass(frozen=True)
class GaussianDensities(AxisDensities):
    """One Gaussian per class."""

    borrowed: FloatArray  # (K,)

    def densities(self, groups: ClassScores) -> list[LineMixture]:
        variances = [
            variance_and_slope(scores, float(share))[0]
            for scores, share in zip(groups, self.borrowed, strict=True)
        ]
        return [_gaussian(scores, v) for scores, v in zip(groups, variances, strict=True)]

    def log_likelihood(self, scores: FloatArray, k: int | None) -> tuple[float, FloatArray]:
        borrowed = 0.0 if k is None else float(self.borrowed[k])
        variance, variance_slope = variance_and_slope(scores, borrowed)
        steps, n = scores - scores.mean(), len(scores)
        squares = float(steps @ steps)
        value = -0.5 * (n * np.log(variance) + squares / variance)
        by_variance = 0.5 * (squares / variance - n) / variance
        return value, by_variance * variance_slope - steps / variance


def _gaussian(scores: FloatArray, variance: float) -> LineMixture:
    return LineMixture(np.ones(1), scores.mean(keepdims=True), np.full(1, np.sqrt(variance)))


@dataclass(frozen=True)
class CommonVariance(AxisDensities):
    """One Gaussian per class, with a common variance s_W that the null density has as well.

    In this special case of the paper, log LR = n s_B / (2 s_W), which LDA maximizes.
    """

    def log_ratio(self, groups: ClassScores) -> tuple[float, list[FloatArray]]:
        inside = [scores - scores.mean() for scores in groups]
        mean = np.concatenate(groups).mean()
        about = [scores - mean for scores in groups]
        within = sum(float(steps @ steps) for steps in inside)  # n s_W
        total = sum(float(steps @ steps) for steps in about)
        n = sum(map(len, groups))
        slopes = [n / within * (a - total / within * b) for a, b in zip(about, inside, strict=True)]
        return 0.5 * n * (total / within - 1.0), slopes

    def densities(self, groups: ClassScores) -> list[LineMixture]:
        squares = sum(len(scores) * float(np.var(scores)) for scores in groups)
        pooled = squares / sum(map(len, groups)) + MIN_VARIANCE
        return [_gaussian(scores, pooled) for scores in groups]
