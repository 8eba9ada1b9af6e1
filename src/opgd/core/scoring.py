"""What fitted Gaussians say of rows: scores, log joints, distances; block by block."""

from collections.abc import Callable

import numpy as np

from opgd.core.engines import Engine, RowBlock, RowEngine
from opgd.core.gaussians import Form, ProjectedGaussians
from opgd.core.kernels import block_scores
from opgd.core.types import AnyArray, FloatArray, IntArray

FARTHEST = 1e100
"""Standardised scores beyond this are cut: their squares would overflow."""


def by_rows(
    X: AnyArray, center: FloatArray, function: Callable[[RowBlock], FloatArray], n_columns: int
) -> FloatArray:
    """Apply a function of blocks with answers (n_columns, n_rows) to all rows, (n, n_columns)."""
    labels = np.zeros(len(X), dtype=np.intp)
    engine = RowEngine(X, labels, center=center, subtract=True, double=True)
    answers = np.empty((len(X), n_columns))
    first = 0
    for block in engine.blocks():
        answers[first : first + block.n_rows] = function(block).T
        first += block.n_rows
    return answers


def project_rows(X: AnyArray, components: FloatArray) -> FloatArray:
    """Scores X V without centring, (n, q), in float64."""
    return by_rows(
        X, np.zeros(X.shape[1]), lambda block: _scores(block, components), len(components)
    )


def _scores(block: RowBlock, components: FloatArray) -> FloatArray:
    out: FloatArray = block.workspace.array("scores", len(components), block.n_rows)
    return block_scores(block, components, out)


def score_engine(engine: Engine, components: FloatArray) -> Engine:
    """An engine whose rows are the scores of another's centred rows, (n, q)."""
    return engine.mapped(lambda block: _scores(block, components))


def log_density(
    j: int,
    scores: FloatArray,
    means: FloatArray,
    factors: FloatArray,
    form: Form,
    out: FloatArray,
) -> FloatArray:
    """Log density of score j, log f_j - 1/2 y_j^2, for every Gaussian, into `out` (C, n).

    Scores are (q, n), of centred rows; `factors` are those of the form.
    """
    y, factor = out, form.standardise(j, scores, means, factors, out)
    np.clip(y, -FARTHEST, FARTHEST, out=y)
    y *= y
    y *= -0.5
    y += np.log(factor)[:, None]
    return y


def log_joint(
    X: AnyArray,
    center: FloatArray,
    components: FloatArray,
    gaussians: ProjectedGaussians,
    form: Form,
    groups: IntArray | None = None,
) -> FloatArray:
    """log(pi_c phi_c) of rows less the constant of the normal density, (n, C).

    `gaussians` describe the scores of centred rows. With `groups`, the classes of the Gaussians,
    it is summed by class, (n, K).
    """
    factors = form.factors(gaussians)
    groups = np.arange(len(gaussians.means)) if groups is None else groups

    def rows(block: RowBlock) -> FloatArray:
        joint = scores_log_joint(_scores(block, components), gaussians, factors, form)
        return log_sum_by_group(joint, groups)

    return by_rows(X, center, rows, int(groups[-1]) + 1)


def scores_log_joint(
    scores: FloatArray, gaussians: ProjectedGaussians, factors: FloatArray, form: Form
) -> FloatArray:
    """The same from scores of centred rows, (q, n) to (C, n)."""
    joint = np.repeat(gaussians.log_priors[:, None], scores.shape[1], axis=1)
    own = np.empty_like(joint)
    for j in range(len(scores)):
        joint += log_density(j, scores, gaussians.means, factors, form, own)
    return joint


def squared_distances(
    X: AnyArray,
    center: FloatArray,
    components: FloatArray,
    gaussians: ProjectedGaussians,
    form: Form,
) -> FloatArray:
    """Squared Mahalanobis distances to every Gaussian inside the projection, (n, C)."""
    factors = form.factors(gaussians)
    at_means = np.diag(scores_log_joint(gaussians.means.T, gaussians, factors, form))
    return np.maximum(2.0 * (at_means - log_joint(X, center, components, gaussians, form)), 0.0)


def log_sum_by_group(log_joints: FloatArray, groups: IntArray) -> FloatArray:
    """Log-sum-exp over the rows of each group, (C, n) to (K, n); groups ascend from 0."""
    first = np.searchsorted(groups, np.arange(groups[-1] + 1))
    if len(first) == len(groups):
        return log_joints
    peaks = np.maximum.reduceat(log_joints, first, axis=0)
    sums = np.add.reduceat(np.exp(log_joints - peaks[groups]), first, axis=0)
    summed: FloatArray = np.log(sums) + peaks
    return summed
