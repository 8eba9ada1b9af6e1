"""Value and gradient of the objective for one block of rows, as small sums that can be added.

Arrays with an entry per row are class-major buffers of the block's workspace, small enough for
the cache; reductions run along the first axis. No array of shape (rows, Gaussians, components) is
allocated.
"""

from dataclasses import dataclass

import numpy as np

from opgd.core.engines import RowBlock
from opgd.core.gaussians import Form
from opgd.core.products import rows_times, times_columns, times_rows
from opgd.core.targets import Targets
from opgd.core.types import AnyArray, FloatArray

LOWEST_LOG = -500.0
"""Log of the smallest posterior, relative to the largest one, that is distinguished from zero.

Smaller ones change no sum of the others in double precision, but numbers below 1e-308 have fewer
digits and take processors a hundred times as long.
"""


@dataclass(frozen=True)
class KernelSums:
    """Partial sums of one block for the value and the gradient."""

    value: float
    row_slopes: FloatArray  # G_Z' (X - center), (q, p)
    statistics: FloatArray  # W' features, (C, F); the last column is the sum of weights

    def __add__(self, other: "KernelSums") -> "KernelSums":
        return KernelSums(
            self.value + other.value,
            self.row_slopes + other.row_slopes,
            self.statistics + other.statistics,
        )


def block_scores(block: RowBlock, components: FloatArray, out: FloatArray) -> FloatArray:
    """Compute the scores V'(x - center) of a block into `out`, (q, n_rows)."""
    # BLAS is up to twice as fast when the long side comes first; transposing costs little
    shape = block.n_rows, len(components)
    by_row = block.workspace.array("by_row", *shape, dtype=block.X.dtype)
    rows_times(block.X, block.cast_to_block_dtype(np.ascontiguousarray(components.T)), by_row)
    np.subtract(by_row.T, (components @ block.rest)[:, None], out=out)
    return out


def block_features(block: RowBlock, components: FloatArray, form: Form) -> FloatArray:
    """Compute features(V'(x - center)) of a block, (F, n_rows)."""
    n_components = len(components)
    shape = form.n_functions(n_components), block.n_rows
    features: FloatArray = block.workspace.array("features", *shape)
    block_scores(block, components, features[-1 - n_components : -1])
    form.fill(features, n_components)
    return features


def block_log_joint(
    block: RowBlock, features: FloatArray, theta: FloatArray, n_padding: int
) -> FloatArray:
    """Compute log joints theta @ features, (C + n_padding, n_rows); padding rows are -inf."""
    n_gaussians = len(theta)
    buffer: FloatArray = block.workspace.array("joint", n_gaussians + n_padding, block.n_rows)
    times_columns(theta, features, buffer[:n_gaussians])
    buffer[n_gaussians:] = -np.inf
    return buffer


def log_ratios(
    block: RowBlock, joint: FloatArray, n_gaussians: int, targets: Targets
) -> tuple[FloatArray, AnyArray, FloatArray]:
    """Convert log joints to negative posteriors in place; return the log ratios and the targets.

    Returns
    -------
    log_ratio : (n_rows,), log of targeted over total density
    places : (n_allowed, n_rows), flat positions of the targeted Gaussians in `joint`
    shares : (n_allowed, n_rows), softmax of the log joint over the targeted Gaussians
    """
    n_rows = block.n_rows
    log_joint = joint[:n_gaussians]
    places = targets.allowed(block.labels, log_joint) * n_rows
    places += np.arange(n_rows)
    peak = log_joint.max(axis=0)
    log_joint -= peak
    shares = joint.ravel().take(places)
    if targets.n_allowed == 1:
        log_targeted = shares[0].copy()
        shares.fill(1.0)
    else:  # a second log-sum-exp: all targeted Gaussians may be far below the strongest one
        targeted_peak = shares.max(axis=0)
        shares -= targeted_peak
        limit_logs(shares)
        np.exp(shares, out=shares)
        targeted_total = shares.sum(axis=0)
        shares /= targeted_total
        log_targeted = np.log(targeted_total) + targeted_peak
    limit_logs(log_joint)
    np.exp(joint, out=joint)
    total = log_joint.sum(axis=0)
    log_joint /= -total
    log_targeted -= np.log(total)
    return log_targeted, places, shares


def limit_logs(logs: FloatArray) -> None:
    """Raise logs to `LOWEST_LOG` in place."""
    if logs.min() < LOWEST_LOG:  # takes half the time of np.maximum
        np.maximum(logs, LOWEST_LOG, out=logs)


def block_log_ratios(
    block: RowBlock, components: FloatArray, theta: FloatArray, form: Form, targets: Targets
) -> FloatArray:
    """Compute log(targeted density / total density) of each row, (n_rows,); see `block_sums`."""
    features = block_features(block, components, form)
    joint = block_log_joint(block, features, theta, int(targets.n_allowed > 1))
    return log_ratios(block, joint, len(theta), targets)[0]


def block_value(block: RowBlock, log_joint: FloatArray, targets: Targets) -> float:
    """Compute sum_i w_i log(targeted density / total density) over a block.

    The log joints, (C, n), are overwritten.
    """
    n_gaussians, n_rows = log_joint.shape
    allowed = targets.allowed(block.labels, log_joint)  # (n_allowed, n)
    targeted = log_joint[np.minimum(allowed, n_gaussians - 1), np.arange(n_rows)]
    targeted[allowed == n_gaussians] = -np.inf
    log_ratio = log_sum(targeted) - log_sum(log_joint)
    return float(log_ratio.sum() if block.weights is None else block.weights @ log_ratio)


def log_sum(values: FloatArray) -> FloatArray:
    """Compute log-sum-exp along the first axis; the values are overwritten."""
    peak = values.max(axis=0)
    values -= peak
    limit_logs(values)
    np.exp(values, out=values)
    return np.log(values.sum(axis=0)) + peak


def block_sums(
    block: RowBlock, components: FloatArray, theta: FloatArray, form: Form, targets: Targets
) -> KernelSums:
    """Compute the value of a block and the sums from which the gradient is computed.

    With posteriors p and targets t (one, or a softmax over the Gaussians of the class), the weights
    W = w_i (t - p) of rows and Gaussians give

        G_Z        = pullback of theta' W through the features    (derivatives by score)
        row_slopes = G_Z (X - center)
        statistics = W features'

    Parameters
    ----------
    components : ndarray of shape (q, p), V' for rows that are not centered
    theta : ndarray of shape (C, F), see `opgd.core.gaussians`
    """
    n_gaussians, n_rows, workspace = len(theta), block.n_rows, block.workspace
    features = block_features(block, components, form)
    scores = features[-1 - len(components) : -1]
    joint = block_log_joint(block, features, theta, int(targets.n_allowed > 1))
    log_ratio, places, shares = log_ratios(block, joint, n_gaussians, targets)

    joint.ravel()[places] += shares
    weights = joint[:n_gaussians]  # targets - posteriors
    if block.weights is None:
        value = float(log_ratio.sum())
    else:
        value = float(block.weights @ log_ratio)
        weights *= block.weights

    slopes = workspace.array("slopes", theta.shape[1], n_rows)
    times_columns(theta.T, weights, slopes)
    score_slopes = workspace.array("score_slopes", len(components), n_rows)
    form.pull_back(slopes, scores, score_slopes)
    row_slopes: FloatArray = times_rows(block.cast_to_block_dtype(score_slopes), block.X)
    row_slopes = row_slopes.astype(np.float64, copy=False)
    row_slopes -= score_slopes.sum(axis=1)[:, None] * block.rest
    return KernelSums(value, row_slopes, times_rows(weights, features.T))
