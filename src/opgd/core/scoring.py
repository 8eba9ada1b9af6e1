"""Scores, log joints and their sums by class for new samples, computed block by block."""

from collections.abc import Callable

import numpy as np

from opgd.core.engines import Engine, RowBlock, split_rows
from opgd.core.gaussians import Form, ProjectedGaussians
from opgd.core.kernels import block_scores
from opgd.core.products import rows_times
from opgd.core.types import AnyArray, FloatArray, IntArray

FARTHEST = 1e100
"""Standardized scores are clipped at this value, so that their squares stay finite."""
MAX_SCORE = 1e290
"""Scores that overflow are clipped at this value."""
DOWNSCALING = 1100
"""Negative exponent of the power of two by which samples are multiplied if their scores overflow.

It is so large that products of the largest numbers and their sums stay finite.
"""


def map_blocks(
    X: AnyArray, center: FloatArray, function: Callable[[FloatArray], FloatArray], n_columns: int
) -> FloatArray:
    """Apply a function to blocks of centered samples and collect the results, (n, n_columns).

    The function maps X - center of a block, (m, p) in float64, to an array (n_columns, m).
    """
    results = np.empty((len(X), n_columns))
    blocks = split_rows(*X.shape)
    buffer = np.empty((max((rows.stop - rows.start for rows in blocks), default=0), X.shape[1]))
    for rows in blocks:
        with np.errstate(over="ignore", invalid="ignore"):  # samples with huge values may overflow
            centered = np.subtract(X[rows], center, out=buffer[: rows.stop - rows.start])
        results[rows] = function(centered).T
    return results


def project(samples: FloatArray, components: FloatArray) -> FloatArray:
    """Return the scores of samples (n, p) on components (q, p), (q, n)."""
    by_sample, matrix = (
        np.empty((len(samples), len(components))),
        np.ascontiguousarray(components.T),
    )
    with np.errstate(over="ignore", invalid="ignore"):
        rows_times(samples, matrix, by_sample)
        overflowed = ~np.isfinite(by_sample).all(axis=1)
        if overflowed.any():  # infinite terms of opposite sign would give nan
            scaled = np.ldexp(samples[overflowed], -DOWNSCALING)
            by_sample[overflowed] = np.ldexp(scaled @ matrix, DOWNSCALING)
    return np.ascontiguousarray(by_sample.T)


def project_samples(X: AnyArray, components: FloatArray) -> FloatArray:
    """Return X V without centering, (n, q), in float64."""
    origin = np.zeros(X.shape[1])
    return map_blocks(X, origin, lambda samples: project(samples, components), len(components))


def score_engine(engine: Engine, components: FloatArray) -> Engine:
    """Return an engine whose samples are the scores of centered samples, (n, q)."""

    def scores(block: RowBlock) -> FloatArray:
        out: FloatArray = block.workspace.array("scores", len(components), block.n_rows)
        return block_scores(block, components, out)

    return engine.mapped(scores)


def log_density(
    j: int,
    scores: FloatArray,
    means: FloatArray,
    factors: FloatArray,
    form: Form,
    out: FloatArray,
) -> FloatArray:
    """Compute the log density of score j, log f_j - 1/2 y_j^2, for every Gaussian.

    `scores` (q, n) are those of centered samples, `factors` come from `form.factors`, and `out` has
    shape (C, n).
    """
    y, factor = out, form.standardize(j, scores, means, factors, out)
    np.clip(y, -FARTHEST, FARTHEST, out=y)
    y *= y
    y *= -0.5
    y += np.log(factor)[:, None]
    return y


def scores_log_joint(
    scores: FloatArray, gaussians: ProjectedGaussians, factors: FloatArray, form: Form
) -> FloatArray:
    """Compute log(pi_c phi_c), less the constant of the normal density, (C, n).

    `scores` (q, n) are those of centered samples, and `factors` come from `form.factors`.
    """
    joint = np.repeat(gaussians.log_priors[:, None], scores.shape[1], axis=1)
    buffer = np.empty_like(joint)
    if np.isinf(scores).any():
        scores = np.clip(scores, -MAX_SCORE, MAX_SCORE)
    with np.errstate(over="ignore"):  # clipped afterwards
        for j in range(len(scores)):
            joint += log_density(j, scores, gaussians.means, factors, form, buffer)
    return joint


def log_joint_at_means(gaussians: ProjectedGaussians, form: Form) -> FloatArray:
    """Return the log joint of each Gaussian at its mean, log pi_c + sum_j log f_j, (C,)."""
    n_gaussians, n_components = gaussians.means.shape
    factors, at_means = form.factors(gaussians), gaussians.log_priors.copy()
    origin, buffer = np.zeros((n_components, 1)), np.empty((n_gaussians, 1))
    for j in range(n_components):
        at_means += np.log(form.standardize(j, origin, gaussians.means, factors, buffer))
    return at_means


def normalize_log_joints(log_joints: FloatArray) -> FloatArray:
    """Convert log joints (n, K) to log posteriors in place."""
    # subtract the maximum first: the log of the sum would be lost in huge log joints
    log_joints -= np.max(log_joints, axis=1, keepdims=True)
    log_joints -= np.log(np.sum(np.exp(log_joints), axis=1, keepdims=True))
    return log_joints


def log_sum_by_group(log_joints: FloatArray, groups: IntArray) -> FloatArray:
    """Compute log-sum-exp over the rows of each group, (C, n) to (K, n).

    `groups` are the codes of the rows, ascending from 0 without gaps.
    """
    first = np.searchsorted(groups, np.arange(groups[-1] + 1))
    if len(first) == len(groups):
        return log_joints
    peaks = np.maximum.reduceat(log_joints, first, axis=0)
    sums = np.add.reduceat(np.exp(log_joints - peaks[groups]), first, axis=0)
    summed: FloatArray = np.log(sums) + peaks
    return summed
