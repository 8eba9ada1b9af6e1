"""One Gaussian for all incomplete samples, fitted by EM, and samples that it completes."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from opgd.core.engines import Engine, RowBlock
from opgd.core.gaps import Conditionals
from opgd.core.missing import (
    EM_TOLERANCE,
    MAX_EM_ITERATIONS,
    PRIOR_ROWS,
    Expect,
    change_of_moments,
    expect_by_group,
)
from opgd.core.moments import Moments, divide_rows_by, one_group
from opgd.core.types import AnyArray, FloatArray, IntArray

MANY_ROWS = 50_000
"""Number of samples from which EM for all samples starts on a subsample."""
FINAL_PASSES = 2
"""Number of iterations on all samples after those on a subsample."""
MAX_FEATURES = 3000
"""Maximum number of features of incomplete samples, whose covariance is a dense matrix."""


@dataclass(frozen=True)
class WholeSamples:
    """Mean and covariance of all samples, and an engine that fills in their missing entries."""

    engine: Engine
    center: FloatArray  # (p,)
    size: FloatArray  # (p,), units of the covariance; 0 for constant features
    total: FloatArray  # (p, p), covariance of the samples divided by their sizes
    empty: IntArray  # features without a single value


def fit_whole(engine: Engine) -> WholeSamples:
    """Fit one Gaussian to incomplete samples by EM, and complete them by conditional means."""
    if engine.n_features > MAX_FEATURES:
        raise ValueError(
            f"X has missing values and {engine.n_features} features; at most {MAX_FEATURES} are "
            "supported with missing values. Impute them, or select features."
        )
    center, size, empty = locate_observed(engine)
    units = np.where(size > 0, size, 1.0)
    engine, mapping = engine.centered_at(center, subtract=True), divide_rows_by(units)
    engine = engine.fill_gaps(partial(_fill_means, center))
    moments = _fit_one_group(engine, expect_by_group(1, mapping, one_group), size > 0)
    conditionals = _shrink_whole(moments, size > 0)
    filled = engine.fill_gaps(partial(_fill_conditional_means, center, units, conditionals))
    mean = center + units * moments.means[0]
    return WholeSamples(filled, mean, size, moments.covariances[0], empty)


def _fill_means(center: FloatArray, block: RowBlock) -> FloatArray:
    """Return the means of the features at the gaps of a block."""
    assert block.gaps is not None
    means: FloatArray = center[block.gaps.columns]
    return means


def _fill_conditional_means(
    center: FloatArray, units: FloatArray, conditionals: Conditionals, block: RowBlock
) -> FloatArray:
    """Return the conditional means at the gaps of a block, where the means are filled in."""
    assert block.gaps is not None
    rows, nothing = divide_rows_by(units)(block), np.zeros(block.n_rows)
    _, steps = conditionals.complete(rows, block.gaps, one_group(block), nothing)
    values: FloatArray = center[block.gaps.columns] + units[block.gaps.columns] * steps
    return values


def _fit_one_group(engine: Engine, expect: Expect, varies: AnyArray) -> Moments:
    """Run EM for all samples, on a subsample first if there are many."""
    sample = engine.sample(MANY_ROWS) if engine.n_samples > MANY_ROWS else engine
    identity = np.eye(engine.n_features)
    start = Conditionals(identity, np.zeros((1, len(identity))), identity[None], identity[None])
    moments = expect(sample, start)
    for _ in range(MAX_EM_ITERATIONS):
        last, moments = moments, expect(sample, _shrink_whole(moments, varies))
        scales = np.sqrt(np.where(varies, np.diag(moments.covariances[0]), 1.0))
        if change_of_moments(_rescale(last, scales), _rescale(moments, scales)) < EM_TOLERANCE:
            break
    if sample is not engine:
        for _ in range(FINAL_PASSES):
            moments = expect(engine, _shrink_whole(moments, varies))
    return moments


def _rescale(moments: Moments, scales: FloatArray) -> Moments:
    return moments.mapped(np.diag(1.0 / scales))


def _shrink_whole(moments: Moments, varies: AnyArray) -> Conditionals:
    """Return the Gaussian of all samples with correlations shrunk toward zero."""
    covariance, n_features = moments.covariances[0], moments.means.shape[1]
    variances = np.where(varies, np.diag(covariance), 1.0)
    extra = PRIOR_ROWS * float(varies.sum())
    shrunk = (moments.counts[0] * covariance + extra * np.diag(variances)) / (
        moments.counts[0] + extra
    )
    shrunk[~varies] = shrunk[:, ~varies] = 0.0
    shrunk[~varies, ~varies] = 1.0
    precision = np.linalg.inv(shrunk)
    return Conditionals(np.eye(n_features), moments.means, precision[None], precision[None])


@dataclass(frozen=True)
class _Ranges:
    """Smallest and largest observed values of the features, nan without any."""

    lowest: FloatArray
    highest: FloatArray

    def __add__(self, other: "_Ranges") -> "_Ranges":
        return _Ranges(np.fmin(self.lowest, other.lowest), np.fmax(self.highest, other.highest))


def locate_observed(engine: Engine) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return mean and size of the observed values of every feature, and features without any.

    Sizes are as in `opgd.core.moments.locate_columns`: powers of two near the range, 0 for constant
    features. A feature without values has mean and size 0. Raise OverflowError if differences of
    values overflow.
    """
    ranges = engine.sum(lambda block: _Ranges(np.fmin.reduce(block.X), np.fmax.reduce(block.X)))
    empty = np.isnan(ranges.lowest)
    origin = np.where(empty, 0.0, ranges.lowest).astype(np.float64)

    def block_sums(block: RowBlock) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            steps = block.X - origin
            observed, weights = ~np.isnan(steps), block.row_weights
            return np.stack([weights @ np.where(observed, steps, 0.0), weights @ observed])

    with np.errstate(over="ignore", invalid="ignore"):
        totals, weights = engine.sum(block_sums)
        center = origin + totals / np.where(weights > 0, weights, 1.0)
        extent = np.where(empty, 0.0, ranges.highest - origin)
    if not np.all(np.isfinite(center + extent)):
        raise OverflowError("differences between values of a feature overflow")
    varies = extent > 8 * np.finfo(engine.dtype).eps * np.abs(center)
    size = np.where(varies, np.ldexp(1.0, np.frexp(extent)[1]), 0.0)
    return center, size, np.flatnonzero(empty)
