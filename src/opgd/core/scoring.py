"""What fitted Gaussians say of rows: log joints, distances, scores; block by block."""

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

from opgd.core.engines import RowBlock, RowEngine
from opgd.core.gaussians import Form, ProjectedGaussians
from opgd.core.kernels import block_features, block_log_joint, block_scores
from opgd.core.types import AnyArray, FloatArray, IntArray


def by_rows(
    X: AnyArray, center: FloatArray, function: Callable[[RowBlock], FloatArray], n_columns: int
) -> FloatArray:
    """Apply a function of blocks with answers (n_columns, n_rows) to all rows, (n, n_columns)."""
    engine = RowEngine(X, np.zeros(len(X), dtype=np.intp), center=center, subtract=True)
    answers = np.empty((len(X), n_columns))
    first = 0
    for block in engine.blocks():
        answers[first : first + block.n_rows] = function(block).T
        first += block.n_rows
    return answers


def project_rows(X: AnyArray, components: FloatArray) -> FloatArray:
    """Scores X V without centring, (n, q), in float64."""

    def scores(block: RowBlock) -> FloatArray:
        out = block.workspace.array("scores", len(components), block.n_rows)
        return block_scores(block, components, out)

    return by_rows(X, np.zeros(X.shape[1]), scores, len(components))


def log_joint(
    X: AnyArray,
    center: FloatArray,
    components: FloatArray,
    gaussians: ProjectedGaussians,
    form: Form,
) -> FloatArray:
    """log(pi_c phi_c) of rows less the constant of the normal density, (n, C).

    `gaussians` describe the scores of centred rows.
    """
    theta = form.theta(gaussians)

    def rows(block: RowBlock) -> FloatArray:
        return block_log_joint(block, block_features(block, components, form), theta)

    return by_rows(X, center, rows, len(theta))


def squared_distances(
    X: AnyArray,
    center: FloatArray,
    components: FloatArray,
    gaussians: ProjectedGaussians,
    form: Form,
) -> FloatArray:
    """Squared Mahalanobis distances to every Gaussian inside the projection, (n, C)."""

    def rows(block: RowBlock) -> FloatArray:
        out = block.workspace.array("scores", len(components), block.n_rows)
        return form.squared_distances(block_scores(block, components, out), gaussians)

    return by_rows(X, center, rows, len(gaussians.means))


def sum_by_class(log_joints: FloatArray, gaussian_classes: IntArray, n_classes: int) -> FloatArray:
    """Log-sum-exp of a class's own Gaussians, (n, C) to (n, K)."""
    if len(gaussian_classes) == n_classes:
        return log_joints
    by_class = [logsumexp(log_joints[:, gaussian_classes == k], axis=1) for k in range(n_classes)]
    return np.column_stack(by_class)
