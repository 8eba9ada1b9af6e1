"""Densities of classes along one axis, and the likelihood ratio that a pursuit maximizes.

All of them are mixtures of Gaussians on a line. What differs is how many there are and how they
are found: one for each row (kernels), one for each class, or a few for each class.

With L(z) the log-likelihood of scores under the density that is made of them, the logarithm of
Zhu & Hastie's ratio (eq. 4 of the paper) is

    log LR = sum_k L(scores of class k) - L(all scores) .

Scores come from a direction of length one in whitened coordinates: their pooled variance is about
one, and that is the unit of all bounds here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from opgd.baselines._bandwidths import reference_bandwidth
from opgd.core.types import FloatArray

BLOCK_CELLS = 2**20
LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class LineMixture:
    """A mixture of Gaussians on a line."""

    weights: FloatArray  # (G,)
    means: FloatArray  # (G,)
    deviations: FloatArray  # (G,)

    def log_densities(self, scores: FloatArray) -> FloatArray:
        """Logs of weight times density of every Gaussian, (G, n); without log sqrt(2 pi)."""
        steps = (scores - self.means[:, None]) / self.deviations[:, None]
        return np.log(self.weights / self.deviations)[:, None] - 0.5 * steps**2

    def held_likelihood(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Log-likelihood of scores (n,), less its constant, and its slopes by these."""
        logs = self.log_densities(scores)
        peaks = logs.max(axis=0)
        shares = np.exp(logs - peaks)
        sums = shares.sum(axis=0)
        pull = (self.means[:, None] - scores) / self.deviations[:, None] ** 2
        return float(np.sum(np.log(sums) + peaks)), np.sum(shares * pull, axis=0) / sums

    def normal_scores(self, scores: FloatArray) -> FloatArray:
        """Scores made standard normal, Phi^-1 F(z)."""
        parts = [
            self.weights @ ndtr((own - self.means[:, None]) / self.deviations[:, None])
            for own in np.array_split(scores, 1 + len(scores) * len(self.means) // BLOCK_CELLS)
        ]
        tail = np.finfo(float).eps
        return ndtri(np.clip(np.concatenate(parts), tail, 1 - tail))


Groups = Sequence[FloatArray]


class AxisDensities(Protocol):
    """A kind of density: of classes on an axis, and what it says of a direction."""

    def log_ratio(self, groups: Groups) -> tuple[float, list[FloatArray]]:
        """Log LR of the scores of the classes, and its slopes by these."""
        ...

    def densities(self, groups: Groups) -> list[LineMixture]:
        """The densities of the classes."""
        ...


def variance_and_slope(scores: FloatArray, borrowed: float) -> tuple[float, FloatArray]:
    """Variance of scores, of which a share is borrowed from the pooled one, and its slope."""
    steps = scores - scores.mean()
    variance = (1 - borrowed) * float(np.mean(steps**2)) + borrowed + LEAST_VARIANCE
    return variance, 2 * (1 - borrowed) * steps / len(scores)


def ratio_of_likelihoods(own: "SampleLikelihood", groups: Groups) -> tuple[float, list[FloatArray]]:
    """The ratio as a difference of log-likelihoods of samples, each under its own density."""
    parts = [own.log_likelihood(scores, k) for k, scores in enumerate(groups)]
    null, null_slopes = own.log_likelihood(np.concatenate(groups), None)
    by_class = np.split(null_slopes, np.cumsum([len(scores) for scores in groups])[:-1])
    value = sum(part for part, _ in parts) - null
    return value, [slopes - null for (_, slopes), null in zip(parts, by_class, strict=True)]


class SampleLikelihood(Protocol):
    """L(z) of one class, or of all rows (None)."""

    def log_likelihood(self, scores: FloatArray, k: int | None) -> tuple[float, FloatArray]: ...


@dataclass(frozen=True)
class KernelDensities:
    """One Gaussian for each row, as wide as `bandwidth` times the normal reference."""

    borrowed: FloatArray  # (K,), what classes with a singular covariance borrow
    bandwidth: float = 1.0

    def log_ratio(self, groups: Groups) -> tuple[float, list[FloatArray]]:
        return ratio_of_likelihoods(self, groups)

    def densities(self, groups: Groups) -> list[LineMixture]:
        return [self._density(scores, k) for k, scores in enumerate(groups)]

    def _density(self, scores: FloatArray, k: int) -> LineMixture:
        deviation = np.sqrt(variance_and_slope(scores, self.borrowed[k])[0])
        width = self._width(len(scores)) * deviation
        one = np.ones(len(scores))
        return LineMixture(one / len(scores), scores, width * one)

    def _width(self, n_rows: int) -> float:
        return self.bandwidth * reference_bandwidth(n_rows, 1)

    def log_likelihood(self, scores: FloatArray, k: int | None) -> tuple[float, FloatArray]:
        """L and its slopes: kernels move with the rows, and widen with their variance.

        With u = z / s and a fixed width of kernels on u,  L = sum_i log f(u_i) - n log s.
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
    """sum_i log [1/(n width) sum_j exp(-(u_i - u_j)^2 / 2 width^2)], and its slopes."""
    value, slopes = -len(u) * np.log(len(u) * width), np.zeros(len(u))
    n_blocks = 1 + len(u) ** 2 // BLOCK_CELLS
    for rows in np.array_split(np.arange(len(u)), n_blocks):
        steps = (u[rows, None] - u) / width
        kernels = np.exp(-0.5 * steps**2)
        sums = kernels.sum(axis=1)
        value += float(np.log(sums).sum())
        kernels *= steps
        kernels /= sums[:, None] * width
        slopes[rows] -= kernels.sum(axis=1)  # as a point
        slopes += kernels.sum(axis=0)  # as a kernel
    return value, slopes


@dataclass(frozen=True)
class GaussianDensities:
    """One Gaussian for each class."""

    borrowed: FloatArray  # (K,)

    def log_ratio(self, groups: Groups) -> tuple[float, list[FloatArray]]:
        return ratio_of_likelihoods(self, groups)

    def densities(self, groups: Groups) -> list[LineMixture]:
        variances = [
            variance_and_slope(scores, float(share))[0]
            for scores, share in zip(groups, self.borrowed, strict=True)
        ]
        return [_gaussian(scores, own) for scores, own in zip(groups, variances, strict=True)]

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
class CommonVariance:
    """One Gaussian for each class, all of one variance s_W, which the null density has too.

    The paper's special case: log LR = n s_B / (2 s_W), so the axis is that of LDA.
    """

    def log_ratio(self, groups: Groups) -> tuple[float, list[FloatArray]]:
        inside = [scores - scores.mean() for scores in groups]
        mean = np.concatenate(groups).mean()
        about = [scores - mean for scores in groups]
        within = sum(float(own @ own) for own in inside)  # n s_W
        total = sum(float(own @ own) for own in about)
        n = sum(map(len, groups))
        slopes = [n / within * (a - total / within * b) for a, b in zip(about, inside, strict=True)]
        return 0.5 * n * (total / within - 1.0), slopes

    def densities(self, groups: Groups) -> list[LineMixture]:
        squares = sum(len(scores) * float(np.var(scores)) for scores in groups)
        pooled = squares / sum(map(len, groups)) + LEAST_VARIANCE
        return [_gaussian(scores, pooled) for scores in groups]
