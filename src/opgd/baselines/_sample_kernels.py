"""Classification likelihood with a Gaussian kernel on every training sample in the projection.

With scores s_i of the samples on orthonormal directions and weights w_i,

    value = sum_i w_i log [ sum_{j != i, y_j = y_i} a_ij / sum_{j != i} a_ij ] / sum_i w_i
    a_ij  = w_j r_{y_j} exp(-|s_i - s_j|^2 / 2 v)

where r_k is the prior of class k over its frequency and v the variance of the kernels. Rows i are
processed in blocks, so that memory is linear in the number of samples.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opgd._fit.problem import Problem
from opgd.baselines._bandwidths import BLOCK_CELLS, reference_bandwidth
from opgd.baselines._span_likelihood import SpanLikelihood
from opgd.core.engines import RowBlock
from opgd.core.kernels import block_scores
from opgd.core.solvers import maximize
from opgd.core.types import FloatArray, IntArray

HELD_OUT_EVERY = 3
"""Every third sample of a class is held out for the selection of the variance."""
WIDTHS = (4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25)
"""Candidate widths, as multiples of the normal reference bandwidth, the widest first."""
REFERENCE = WIDTHS.index(1.0)
SELECTION_ITERATIONS = 30
"""Maximum number of iterations of each search in the selection of the variance."""


@dataclass(frozen=True)
class KernelSamples:
    """Whitened samples with classes, weights and prior ratios."""

    Z: FloatArray  # (n, R)
    codes: IntArray  # (n,), from 0 to K - 1
    weights: FloatArray  # (n,)
    log_ratios: FloatArray  # (K,), log of the priors over the class frequencies

    @property
    def log_weights(self) -> FloatArray:
        """Log weights of the kernels, (n,)."""
        return np.asarray(np.log(self.weights) + self.log_ratios[self.codes])

    def take(self, rows: IntArray) -> "KernelSamples":
        """Return some of the samples."""
        return replace(self, Z=self.Z[rows], codes=self.codes[rows], weights=self.weights[rows])

    def split(self) -> tuple["KernelSamples", "KernelSamples"]:
        """Return training and held-out samples; the first two of each class are not held out."""
        held_out = rank_in_class(self.codes) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
        return self.take(np.flatnonzero(~held_out)), self.take(np.flatnonzero(held_out))

    def batch(self, size: int) -> IntArray:
        """Return the indices of at most `size` samples, evenly spaced in all classes."""
        order = np.lexsort((rank_in_class(self.codes), self.codes))
        return np.sort(order[:: -(-len(order) // size)])


def rank_in_class(codes: IntArray) -> IntArray:
    """Return the number of earlier samples of the same class, (n,)."""
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], codes[order])
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(codes)) - first
    return ranks


@dataclass(frozen=True)
class KernelLikelihood:
    """Mean log posterior of samples under the kernels of the others, by directions (q, R)."""

    samples: KernelSamples
    rows: IntArray  # (m,), samples at which the likelihood is evaluated
    variance: float

    def value(self, directions: FloatArray) -> float:
        """Return the value at orthonormal directions."""
        return self.value_and_gradient(directions)[0]

    def value_and_gradient(self, directions: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its gradient (q, R) by directions of any length."""
        samples = self.samples
        scores = samples.Z @ directions.T
        slopes, value, total = np.zeros_like(scores), 0.0, 0.0
        for rows in np.array_split(self.rows, 1 + len(self.rows) * len(scores) // BLOCK_CELLS):
            logs = log_kernels(scores[rows], scores, samples.log_weights, self.variance)
            # of a sample of weight two, one half is omitted, as of two samples one
            with np.errstate(divide="ignore"):
                shares = np.log(np.maximum(1 - 1 / samples.weights[rows], 0))
            logs[np.arange(len(rows)), rows] += shares
            weights = samples.weights[rows]
            gains, matrix = _log_posteriors(logs, samples.codes[rows], samples.codes)
            used = np.isfinite(gains)  # the only sample of a class has no other kernel
            value += float(weights[used] @ gains[used])
            total += float(weights.sum())
            matrix *= np.where(used, weights, 0.0)[:, None]
            slopes[rows] += matrix @ scores
            slopes += matrix.T @ scores[rows] - matrix.sum(axis=0)[:, None] * scores
        slopes /= self.variance * total
        return value / total, slopes.T @ samples.Z


def log_kernels(
    at: FloatArray, centers: FloatArray, log_weights: FloatArray, variance: float
) -> FloatArray:
    """Return log weights plus log kernels, less the constant of the normal density, (m, n)."""
    logs = at @ centers.T
    logs -= 0.5 * np.sum(at**2, axis=1)[:, None]
    logs -= 0.5 * np.sum(centers**2, axis=1)
    logs /= variance
    logs += log_weights
    return np.asarray(logs)


def _log_posteriors(
    logs: FloatArray, row_codes: IntArray, codes: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return log posteriors of the classes of rows (m,), and their derivatives by `logs` (m, n)."""
    of_class = np.where(row_codes[:, None] == codes, logs, -np.inf)
    totals, shares = _normalize(logs)
    class_totals, class_shares = _normalize(of_class)
    class_shares -= shares
    return class_totals - totals, class_shares


def _normalize(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log-sum-exp of each row, (m,), and softmax, (m, n); zero if all are -inf."""
    peaks = logs.max(axis=1)
    shares = np.exp(logs - np.where(np.isfinite(peaks), peaks, 0.0)[:, None])
    sums = shares.sum(axis=1)
    with np.errstate(divide="ignore"):
        totals = peaks + np.log(sums)
    shares /= np.where(sums > 0, sums, 1.0)[:, None]
    return totals, shares


def held_out_value(
    training: KernelSamples, held_out: KernelSamples, directions: FloatArray, variance: float
) -> float:
    """Return the mean log posterior of held-out samples under the kernels of training samples."""
    centers, at, total = training.Z @ directions.T, held_out.Z @ directions.T, 0.0
    for rows in np.array_split(np.arange(len(at)), 1 + len(at) * len(centers) // BLOCK_CELLS):
        logs = log_kernels(at[rows], centers, training.log_weights, variance)
        gains, _ = _log_posteriors(logs, held_out.codes[rows], training.codes)
        total += float(held_out.weights[rows] @ gains)
    return total / float(held_out.weights.sum())


def candidate_variances(samples: KernelSamples, n_components: int) -> list[float]:
    """Return variances around that of the normal reference rule for classes, descending."""
    counts = np.bincount(samples.codes)
    size = float(np.exp(np.log(np.maximum(counts, 2)).mean()))
    reference = reference_bandwidth(size, n_components)
    return [(width * reference) ** 2 for width in WIDTHS]


def select_variance(
    samples: KernelSamples, start: FloatArray, *, batch_size: int, max_iter: int, tol: float
) -> tuple[float, FloatArray]:
    """Return the variance with the largest held-out likelihood, and the directions found for it.

    Searches on the training part start from the directions of the next wider kernels. Without
    held-out samples, the variance is that of the normal reference rule.
    """
    training, held_out = samples.split()
    variances = candidate_variances(training, len(start))
    if len(held_out.codes) == 0:
        return variances[REFERENCE], start
    best, directions = (-np.inf, 0.0, start), start
    rows, budget = training.batch(batch_size), min(max_iter, SELECTION_ITERATIONS)
    for variance in variances:
        likelihood = SpanLikelihood(KernelLikelihood(training, rows, variance))
        result = maximize(likelihood, directions, max_iter=budget, tol=tol)
        directions = likelihood.axes(result.directions)[0]
        value = held_out_value(training, held_out, directions, variance)
        if value <= best[0] and variance < best[1] / 2:
            break  # the second narrower width without a gain
        best = max(best, (value, variance, directions), key=lambda trial: trial[0])
    return best[1], best[2]


def collect_samples(problem: Problem, frequencies: FloatArray) -> KernelSamples:
    """Return the whitened samples of a problem, sorted by class."""
    rows: list[tuple[FloatArray, IntArray, FloatArray]] = []
    objective = problem.objective

    def collect(block: RowBlock) -> float:
        scores = np.empty((objective.whitener.shape[1], block.n_rows))
        block_scores(block, objective.whitener.T, scores)
        rows.append((scores.T, block.labels.copy(), block.row_weights.copy()))
        return 0.0

    objective.engine.sum(collect)
    Z, codes, weights = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    order = np.argsort(codes, kind="stable")
    log_ratios = np.log(problem.priors / frequencies)
    return KernelSamples(Z[order], codes[order], weights[order], log_ratios)


def describe_kernels(samples: KernelSamples, directions: FloatArray) -> dict[str, Any]:
    """Return the fitted attributes of the kernels; their weights sum to the priors."""
    return {
        "_kernel_scores": samples.Z @ directions.T,
        "_kernel_classes": samples.codes,
        "_kernel_log_weights": samples.log_weights - np.log(samples.weights.sum()),
    }
