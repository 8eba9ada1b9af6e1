"""Moments of incomplete samples by EM, under the assumption that values are missing at random.

The E-step replaces missing entries by their conditional means and adds their conditional
covariances to the second moments; the M-step takes the moments. Both are sums over blocks. First,
one Gaussian is fitted to all samples, whatever their groups (`opgd.core.whole`). Its conditional
means complete the samples in which a projection is searched for. Moments of groups of samples
(`estimate_moments`) have an E-step with one Gaussian per group, which starts from that of all
samples. Covariances of the E-step are shrunk, those of a group toward the pooled one and the pooled
one toward that of all samples, so that groups with few observed values have estimates as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from opgd.core.engines import Engine, RowBlock
from opgd.core.gaps import Conditionals
from opgd.core.moments import (
    Groups,
    Memberships,
    Moments,
    RowMap,
    moments_by_group,
    share_weights,
    stack_groups,
    summarize_group,
)
from opgd.core.types import FloatArray

PRIOR_ROWS = 1.0
"""Number of samples, per dimension, that the target of the shrinkage in an E-step is worth."""
MAX_EM_ITERATIONS = 30
EM_TOLERANCE = 2e-3
"""Change of moments, in standard deviations, below which EM stops."""
OFF_SPAN = 1e-9
"""Variance of standardized features in directions in which samples do not vary."""


@dataclass(frozen=True)
class ExpectedMoments:
    """Moments of completed samples, and sums of the conditional covariances of their features."""

    moments: Moments  # in coordinates, (G, R[, R])
    spreads: FloatArray  # (G, p, p)

    def __add__(self, other: "ExpectedMoments") -> "ExpectedMoments":
        return ExpectedMoments(self.moments + other.moments, self.spreads + other.spreads)

    def expect(self, axes: FloatArray) -> Moments:
        """Return expected moments; `axes` (p, R) as in `Conditionals`."""
        weights = np.where(self.moments.weights > 0, self.moments.weights, 1.0)[:, None, None]
        added = axes.T @ self.spreads @ axes / weights
        return replace(self.moments, covariances=self.moments.covariances + added)


Expect = Callable[[Engine, Conditionals], Moments]
"""One iteration of EM: expected moments of the samples of an engine, by group.

The conditionals are those of the groups, or one Gaussian for all of them.
"""

Constrain = Callable[[Moments], Moments]
"""Map moments of groups to those with constrained covariances, as an M-step with a prior does."""


def expect_by_group(n_groups: int, mapping: RowMap, groups: Groups) -> Expect:
    """Return an iteration of EM for groups of samples; codes below 0 are in no group."""

    def expect(engine: Engine, conditionals: Conditionals) -> Moments:
        conditionals = conditionals.repeat(n_groups)

        def block_sums(block: RowBlock) -> ExpectedMoments:
            codes = groups(block)
            rows = mapping(block)
            weights = np.where(codes >= 0, block.row_weights, 0.0)
            spreads, _ = conditionals.complete(rows, block.gaps, np.maximum(codes, 0), weights)
            return ExpectedMoments(moments_by_group(block, rows, codes, n_groups), spreads)

        engine = engine.with_block_rows(2 * n_groups * engine.n_features)
        return engine.sum(block_sums).expect(conditionals.axes)

    return expect


def expect_by_share(mapping: RowMap, memberships: Memberships, width: int = 0) -> Expect:
    """Return an iteration of EM for groups to which samples belong by shares."""

    def expect(engine: Engine, conditionals: Conditionals) -> Moments:
        def block_sums(block: RowBlock) -> ExpectedMoments:
            return _sum_by_share(block, memberships(block), mapping, conditionals)

        return engine.sum(block_sums, width).expect(conditionals.axes)

    return expect


def _sum_by_share(
    block: RowBlock, memberships: FloatArray, mapping: RowMap, conditionals: Conditionals
) -> ExpectedMoments:
    """Compute expected moments of one block; `memberships` has shape (G, n_rows)."""
    memberships = memberships.copy()  # the buffer may be that of the mapping
    conditionals = conditionals.repeat(len(memberships))
    summaries, spreads = [], np.zeros_like(conditionals.feature_precisions)
    for g, shares in enumerate(memberships):
        rows, weights = mapping(block), share_weights(block, shares)
        group = conditionals.select(np.array([g]))
        code = np.zeros(block.n_rows, dtype=np.intp)
        spreads[g] = group.complete(rows, block.gaps, code, weights[0])[0][0]
        summaries.append(summarize_group(rows, *weights))
    return ExpectedMoments(stack_groups(summaries), spreads)


@dataclass(frozen=True)
class Span:
    """Coordinates of standardized features in which samples vary, of total covariance I."""

    axes: FloatArray  # (p, R), rows @ axes of standardized features are the coordinates
    basis: FloatArray  # (p, R), orthonormal columns with the span of the samples

    def make_conditionals(self, means: FloatArray, covariances: FloatArray) -> Conditionals:
        """Return the Gaussians with these means (G, R) and covariances (G, R, R)."""
        precisions = np.linalg.inv(covariances)
        precisions = 0.5 * (precisions + precisions.transpose(0, 2, 1))
        features = self.axes @ precisions @ self.axes.T
        features += off_span_precision(self.basis)  # completed samples stay in the span
        return Conditionals(self.axes, means, precisions, features)

    @property
    def whole(self) -> Conditionals:
        """Return the Gaussian of all samples."""
        rank = self.axes.shape[1]
        return self.make_conditionals(np.zeros((1, rank)), np.eye(rank)[None])

    def make_gaussians(self, moments: Moments, *, constrained: bool) -> Conditionals:
        """Return the Gaussians of the E-step; those with constrained covariances need no more."""
        if constrained:
            return self.make_conditionals(moments.means, moments.covariances)
        return self.shrink(moments)

    def shrink(self, moments: Moments) -> Conditionals:
        """Return the Gaussians of the E-step: those of the groups, shrunk toward the others."""
        rank = self.axes.shape[1]
        extra = PRIOR_ROWS * rank
        counts = count_rows(moments)[:, None, None]
        count = counts.sum()
        pooled = (count * moments.within + extra * np.eye(rank)) / (count + extra)
        covariances = (counts * moments.covariances + extra * pooled) / (counts + extra)
        return self.make_conditionals(moments.means, covariances)


def off_span_precision(basis: FloatArray) -> FloatArray:
    """Return the precision of standardized features orthogonal to a basis (p, R), (p, p).

    Constant features, whose rows of the basis are 0, have precision 1.
    """
    varies = basis.any(axis=1)
    axes = basis[varies]
    complement = np.eye(len(axes)) - axes @ axes.T
    complement -= axes @ (axes.T @ complement)  # rounding errors in the span are divided too
    precision = np.diag(np.where(varies, 0.0, 1.0))
    precision[np.ix_(varies, varies)] = 0.5 * (complement + complement.T) / OFF_SPAN
    return precision


def count_rows(moments: Moments) -> FloatArray:
    """Return the effective number of samples of each group, 0 for empty groups, (G,)."""
    squares = np.where(moments.square_weights > 0, moments.square_weights, 1.0)
    return np.maximum(moments.weights, moments.weights**2 / squares)


def estimate_moments(engine: Engine, span: Span, expect: Expect) -> Moments:
    """Estimate moments of groups of samples in the coordinates of `span` by EM."""
    moments = expect(engine, span.whole)
    for _ in range(MAX_EM_ITERATIONS):
        last, moments = moments, expect(engine, span.shrink(moments))
        if change_of_moments(last, moments) < EM_TOLERANCE:
            break
    return moments


def fit_mixture(
    engine: Engine,
    span: Span,
    mapping: RowMap,
    moments: Moments,
    max_iter: int,
    constrain: Constrain | None = None,
) -> Moments:
    """Run EM for a mixture of Gaussians of whole samples, from moments in coordinates of `span`.

    Without `constrain`, covariances are shrunk in the E-step. A Gaussian with less than one sample
    ends the iterations.
    """
    for _ in range(max_iter):
        gaussians = span.make_gaussians(moments, constrained=constrain is not None)
        memberships = partial(_memberships, mapping, gaussians, np.log(moments.priors))
        expect = expect_by_share(mapping, memberships)
        last, moments = moments, expect(engine, gaussians)
        if np.any(count_rows(moments) < 1):
            break
        moments = moments if constrain is None else constrain(moments)
        if change_of_moments(last, moments) < EM_TOLERANCE:
            break
    return moments


def _memberships(
    mapping: RowMap, gaussians: Conditionals, log_priors: FloatArray, block: RowBlock
) -> FloatArray:
    """Return the probabilities of the Gaussians given the observed entries, (G, n_rows)."""
    joint = gaussians.log_densities(mapping(block), block.gaps) + log_priors[:, None]
    joint -= joint.max(axis=0)
    np.exp(joint, out=joint)
    return joint / joint.sum(axis=0)


def change_of_moments(last: Moments, moments: Moments) -> float:
    """Return the largest change of means and covariances, averaged over the groups."""
    by_mean = np.abs(moments.means - last.means).max(axis=1)
    by_covariance = np.abs(moments.covariances - last.covariances).max(axis=(1, 2))
    return float(moments.priors @ np.maximum(by_mean, by_covariance))
