"""One Gaussian for all incomplete samples, fitted by EM, and samples that it completes.

The covariance of the E-step is shrunk by a diagonal matrix: toward uncorrelated features, which
also regularizes the classes of a classifier, or by the variances that the other features leave
unexplained. A regression on p features from n samples has an optimal ridge of about p / n times the
variance of its residuals, so that in the second case exact relations between features remain exact,
and so do missing entries that they determine. Clusters need this: otherwise completed samples
deviate from such a relation and observed ones do not, which is a difference between them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg

from opgd.core.engines import Engine, RowBlock
from opgd.core.gaps import Conditionals
from opgd.core.missing import (
    EM_TOLERANCE,
    MAX_EM_ITERATIONS,
    OFF_SPAN,
    PRIOR_ROWS,
    Expect,
    change_of_moments,
    expect_by_group,
)
from opgd.core.moments import Moments, check_extents, divide_rows_by, one_group
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


def fit_whole(engine: Engine, *, keep_relations: bool = False) -> WholeSamples:
    """Fit one Gaussian to incomplete samples by EM, and complete them by conditional means.

    With `keep_relations`, relations between features that are exact are kept.
    """
    if engine.n_features > MAX_FEATURES:
        raise ValueError(
            f"X has missing values and {engine.n_features} features; at most {MAX_FEATURES} are "
            "supported with missing values. Impute them, or select features."
        )
    center, size, empty = locate_observed(engine)
    units = np.where(size > 0, size, 1.0)
    engine, mapping = engine.centered_at(center, subtract=True), divide_rows_by(units)
    engine = engine.fill_gaps(partial(_fill_means, center))
    expect, shrinkage = expect_by_group(1, mapping, one_group), UNCORRELATED
    if keep_relations:
        shrinkage = RELATIONS
    moments, conditionals = _fit_one_group(engine, expect, size > 0, shrinkage)
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


@dataclass(frozen=True)
class Shrinkage:
    """Shrinkage of the Gaussian of an E-step, and the change of moments at which EM stops."""

    shrink: Callable[[Moments, AnyArray, Conditionals], Conditionals]
    measure_change: Callable[[Moments, Moments, Conditionals], float]
    tolerance: float
    max_iter: int


def _fit_one_group(
    engine: Engine, expect: Expect, varies: AnyArray, shrinkage: Shrinkage
) -> tuple[Moments, Conditionals]:
    """Run EM for all samples, on a subsample first if there are many.

    Return the moments, and the Gaussian of the next E-step.
    """
    sample = engine.sample(MANY_ROWS) if engine.n_samples > MANY_ROWS else engine
    identity = np.eye(engine.n_features)
    gaussian = Conditionals(identity, np.zeros((1, len(identity))), identity[None], identity[None])
    moments = expect(sample, gaussian)
    for _ in range(shrinkage.max_iter):
        gaussian = shrinkage.shrink(moments, varies, gaussian)
        last, moments = moments, expect(sample, gaussian)
        if shrinkage.measure_change(last, moments, gaussian) < shrinkage.tolerance:
            break
    if sample is not engine:
        for _ in range(FINAL_PASSES):
            moments = expect(engine, shrinkage.shrink(moments, varies, gaussian))
    return moments, shrinkage.shrink(moments, varies, gaussian)


def _shrink_correlations(moments: Moments, varies: AnyArray, _: Conditionals) -> Conditionals:
    """Return the Gaussian of all samples with correlations shrunk toward zero."""
    variances = np.where(varies, np.diag(moments.covariances[0]), 1.0)
    shrunk = _add_samples(moments, varies, variances)
    return _make_gaussian(moments, np.asarray(np.linalg.inv(shrunk), dtype=np.float64))


def _change_by_feature(last: Moments, moments: Moments, _: Conditionals) -> float:
    """Return the largest change of mean and covariance, in standard deviations of features."""
    variances = np.diag(moments.covariances[0])
    to_units = np.diag(1.0 / np.sqrt(np.where(variances > 0, variances, 1.0)))
    return change_of_moments(last.mapped(to_units), moments.mapped(to_units))


def _shrink_by_unexplained(moments: Moments, varies: AnyArray, last: Conditionals) -> Conditionals:
    """Return the Gaussian of all samples, shrunk by what the last one leaves unexplained."""
    variances = np.where(varies, np.diag(moments.covariances[0]), 1.0)
    unexplained = np.minimum(1.0 / np.diag(last.precisions[0]), variances)
    shrunk = _add_samples(moments, varies, unexplained) + OFF_SPAN * np.diag(variances)
    # nearly singular: with this factor, rounding errors do not make the precision indefinite
    factor = linalg.cholesky(shrunk, lower=True)
    root: FloatArray = linalg.solve_triangular(factor, np.eye(len(factor)), lower=True)
    return _make_gaussian(moments, root.T @ root)


def _change_by_direction(last: Moments, moments: Moments, gaussian: Conditionals) -> float:
    """Return the largest change of mean and covariance in any direction, relative to a Gaussian."""
    root = np.linalg.cholesky(gaussian.precisions[0])
    last, moments = last.mapped(root), moments.mapped(root)
    by_mean = np.linalg.norm(moments.means[0] - last.means[0])
    by_covariance = np.linalg.norm(moments.covariances[0] - last.covariances[0], 2)
    return float(max(by_mean, by_covariance))


def _add_samples(moments: Moments, varies: AnyArray, variances: FloatArray) -> FloatArray:
    """Return the covariance of the samples and of uncorrelated ones with these variances."""
    count, extra = moments.counts[0], PRIOR_ROWS * float(varies.sum())
    shrunk = (count * moments.covariances[0] + extra * np.diag(variances)) / (count + extra)
    shrunk[~varies] = shrunk[:, ~varies] = 0.0
    shrunk[~varies, ~varies] = 1.0
    return np.asarray(shrunk)


def _make_gaussian(moments: Moments, precision: FloatArray) -> Conditionals:
    identity = np.eye(len(precision))
    return Conditionals(identity, moments.means, precision[None], precision[None])


UNCORRELATED = Shrinkage(_shrink_correlations, _change_by_feature, EM_TOLERANCE, MAX_EM_ITERATIONS)
RELATIONS = Shrinkage(_shrink_by_unexplained, _change_by_direction, 1e-2, 60)


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
    features. A feature without values has mean and size 0. Raise the errors of `check_extents`.
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
    check_extents(center, extent)
    varies = extent > 8 * np.finfo(engine.dtype).eps * np.abs(center)
    size = np.where(varies, np.ldexp(1.0, np.frexp(extent)[1]), 0.0)
    return center, size, np.flatnonzero(empty)
