"""Weights, means and covariances of groups of samples, computed block by block and added."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from opgd.core.engines import Engine, RowBlock
from opgd.core.products import rows_times
from opgd.core.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class Moments:
    """Weights, means and covariances of groups (classes, subclasses or clusters).

    Covariances divide by the group's weight, as in the paper (Section 3.1). Adding two instances
    gives the moments of their samples together, by the update of Chan, Golub & LeVeque: sums of
    raw squares would lose digits where means are far from the origin.
    """

    weights: FloatArray  # (n_groups,)
    square_weights: FloatArray  # (n_groups,), sums of squared sample weights
    means: FloatArray  # (n_groups, n_features)
    covariances: FloatArray  # (n_groups, n_features, n_features)

    def __add__(self, other: "Moments") -> "Moments":
        weights = self.weights + other.weights
        shares = np.divide(other.weights, weights, out=np.zeros_like(weights), where=weights > 0)
        means = self.means + shares[:, None] * (other.means - self.means)
        covariances = self.covariances.copy()
        for group in np.flatnonzero(other.weights):
            share, step = shares[group], other.means[group] - self.means[group]
            covariances[group] *= 1 - share
            covariances[group] += share * other.covariances[group]
            covariances[group] += share * (1 - share) * np.outer(step, step)
        return Moments(weights, self.square_weights + other.square_weights, means, covariances)

    @property
    def n_groups(self) -> int:
        return len(self.weights)

    @property
    def counts(self) -> FloatArray:
        """Return the effective number of samples of each group, (n_groups,).

        It is the sum of weights, so that a sample of weight two counts as two samples, but at
        least Kish's effective sample size, so that weights may be scaled to any sum.
        """
        return np.maximum(self.weights, self.weights**2 / self.square_weights)

    @property
    def priors(self) -> FloatArray:
        """Return the share of each group in the total weight, (n_groups,)."""
        priors: FloatArray = self.weights / self.weights.sum()
        return priors

    @property
    def mean(self) -> FloatArray:
        """Return the mean of all samples, (n_features,)."""
        return self.priors @ self.means

    @property
    def within(self) -> FloatArray:
        """Return Sigma_W, the pooled covariance of samples about the means of their groups."""
        return np.tensordot(self.priors, self.covariances, axes=1)

    @property
    def between(self) -> FloatArray:
        """Return Sigma_B, the covariance of the means of the groups."""
        steps = np.sqrt(self.priors)[:, None] * (self.means - self.mean)
        return steps.T @ steps

    @property
    def total(self) -> FloatArray:
        """Return Sigma = Sigma_W + Sigma_B, the covariance of all samples."""
        return self.within + self.between

    def mapped(self, matrix: FloatArray) -> "Moments":
        """Return the moments of the samples x @ matrix; matrix has shape (n_features, n_new)."""
        covariances = matrix.T @ self.covariances @ matrix
        return Moments(self.weights, self.square_weights, self.means @ matrix, covariances)

    def select(self, groups: AnyArray) -> "Moments":
        """Return the moments of some groups, given by indices or a mask."""
        return Moments(
            self.weights[groups],
            self.square_weights[groups],
            self.means[groups],
            self.covariances[groups],
        )

    def merge(self, parents: IntArray, n_parents: int) -> "Moments":
        """Return the moments of unions of groups; group g belongs to union `parents[g]`."""
        member = parents == np.arange(n_parents)[:, None]  # (n_parents, n_groups)
        weights = member @ self.weights
        shares = member * self.weights / weights[:, None]
        means = shares @ self.means
        steps = self.means - means[parents]  # (n_groups, n_features)
        spread = self.covariances + steps[:, :, None] * steps[:, None, :]
        square_weights = member @ self.square_weights
        return Moments(weights, square_weights, means, np.tensordot(shares, spread, axes=1))


def scale_to_counts(weights: FloatArray) -> FloatArray:
    """Scale weights so that their sum is at least Kish's effective sample size."""
    return weights * max(1.0, weights.sum() / float(weights @ weights))


MIN_SIZE = 2.0**-1000
"""Minimum range of a feature that varies, so that its loadings, which divide by it, are finite."""

RowMap = Callable[[RowBlock], FloatArray]
"""Map a block to its rows in the coordinates of the moments, in a buffer of its workspace."""
Groups = Callable[[RowBlock], IntArray]
"""Map a block to the group codes of its rows, (n_rows,)."""
Memberships = Callable[[RowBlock], FloatArray]
"""Map a block to the membership of its rows in every group, (n_groups, n_rows)."""


def by_label(block: RowBlock) -> IntArray:
    """Return the labels of a block, so that groups are classes."""
    return block.labels


def one_group(block: RowBlock) -> IntArray:
    """Return zeros, so that all rows are in group 0."""
    return np.zeros(block.n_rows, dtype=np.intp)


def divide_rows_by(size: FloatArray) -> RowMap:
    """Return a function that divides the centered rows of a block by the sizes of the features."""

    def divide(block: RowBlock) -> FloatArray:
        rows = block.centered()
        rows /= size
        return rows

    return divide


def multiply_rows_by(matrix: FloatArray) -> RowMap:
    """Return a function that multiplies centered rows by a matrix (n_features, n_new)."""

    def multiply(block: RowBlock) -> FloatArray:
        rows: FloatArray = block.workspace.array("mapped", block.n_rows, matrix.shape[1])
        return rows_times(block.centered(), matrix, rows)

    return multiply


def block_moments(
    block: RowBlock, n_groups: int, mapping: RowMap, groups: Groups = by_label
) -> Moments:
    """Compute moments by group of one block, in the coordinates of `mapping`."""
    codes = groups(block)
    return moments_by_group(block, mapping(block), codes, n_groups)


def moments_by_group(block: RowBlock, rows: FloatArray, codes: IntArray, n_groups: int) -> Moments:
    """Compute moments of rows (n_rows, R) of a block by their groups (n_rows,)."""
    by_group = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[by_group], np.arange(n_groups + 1))
    members = [by_group[first:last] for first, last in pairwise(ends)]
    weights, buffer = block.row_weights, block.workspace.array("group", *rows.shape)

    def copy_rows(selection: IntArray) -> FloatArray:
        # mode="clip" avoids the copy of `out` that take makes to be able to raise IndexError
        return rows.take(selection, axis=0, out=buffer[: len(selection)], mode="clip")

    return stack_groups(
        summarize_group(copy_rows(selection), weights[selection], weights[selection] ** 2)
        for selection in members
    )


def block_soft_moments(block: RowBlock, memberships: FloatArray, mapping: RowMap) -> Moments:
    """Compute moments of one block whose rows belong to groups by shares.

    `memberships` has shape (n_groups, n_rows). Half a row counts as half a row in `square_weights`,
    not as one row of half the weight.
    """
    rows = mapping(block)
    buffer = block.workspace.array("group", *rows.shape)

    def copy_rows() -> FloatArray:
        buffer[...] = rows
        return buffer

    return stack_groups(
        summarize_group(copy_rows(), *share_weights(block, shares)) for shares in memberships
    )


def share_weights(block: RowBlock, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weights and their squares (n_rows,) of rows that belong to a group by shares."""
    weights = block.row_weights
    return shares * weights, shares * weights**2


def summarize_group(
    rows: FloatArray, weights: FloatArray, square_weights: FloatArray
) -> tuple[float, float, FloatArray, FloatArray]:
    """Return weight, sum of squared weights, mean and covariance; rows are overwritten."""
    weight, n_features = float(weights.sum()), rows.shape[1]
    if weight == 0:
        return 0.0, 0.0, np.zeros(n_features), np.zeros((n_features, n_features))
    mean = weights @ rows / weight
    rows -= mean
    rows *= np.sqrt(weights / weight)[:, None]
    return weight, float(square_weights.sum()), mean, np.dot(rows.T, rows)


def stack_groups(groups: Iterable[tuple[float, float, FloatArray, FloatArray]]) -> Moments:
    """Return the moments of all groups, from the results of `summarize_group`."""
    weights, square_weights, means, covariances = map(np.array, zip(*groups, strict=True))
    return Moments(weights, square_weights, means, covariances)


def group_moments(
    engine: Engine, n_groups: int, mapping: RowMap, groups: Groups = by_label
) -> Moments:
    """Compute moments by group of all samples, in the coordinates of `mapping`.

    Blocks hold at least as many cells as the covariances; with smaller blocks, adding covariances
    would take longer than computing them.
    """
    engine = engine.with_block_rows(2 * n_groups * engine.n_features)
    return engine.sum(lambda block: block_moments(block, n_groups, mapping, groups))


def soft_moments(
    engine: Engine, memberships: Memberships, mapping: RowMap, width: int = 0
) -> Moments:
    """Compute moments of groups to which samples belong by shares, in coordinates of `mapping`.

    `width` is the number of buffer cells per row that `memberships` needs, as in `Engine.sum`.
    """
    return engine.sum(lambda block: block_soft_moments(block, memberships(block), mapping), width)


@dataclass(frozen=True)
class ColumnSums:
    """Sums and ranges of the features, relative to the engine's center."""

    weight: float
    total: FloatArray  # (n_features,)
    lowest: FloatArray
    highest: FloatArray

    def __add__(self, other: "ColumnSums") -> "ColumnSums":
        with np.errstate(over="ignore", invalid="ignore"):
            total = self.total + other.total
        return ColumnSums(
            self.weight + other.weight,
            total,
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
        )


def locate_columns(engine: Engine) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the size of every feature, from which origin and unit are set.

    Sums are of differences to the first sample, so a constant feature has mean x[0] and size 0
    exactly, and a feature with values near 1e8 keeps its digits. Sizes are powers of two near the
    range: division by them is exact and prevents overflow of squares.
    """
    origin = np.asarray(engine.select_rows(np.zeros(1, dtype=np.intp)).X[0], dtype=np.float64)
    engine = engine.centered_at(origin, subtract=True)

    def block_sums(block: RowBlock) -> ColumnSums:
        weights = block.row_weights
        with np.errstate(over="ignore", invalid="ignore"):  # threads do not inherit the outer one
            total = weights @ block.X
        return ColumnSums(weights.sum(), total, block.X.min(axis=0), block.X.max(axis=0))

    with np.errstate(over="ignore", invalid="ignore"):  # the caller checks for overflow
        sums = engine.sum(block_sums)
        extent = sums.highest - sums.lowest
        size = np.where(extent > 0, np.ldexp(1.0, np.frexp(extent)[1]), 0.0)
    return origin + sums.total / sums.weight, size


def check_extents(center: FloatArray, extent: FloatArray) -> None:
    """Raise OverflowError or FloatingPointError if features vary too much or too little."""
    if not np.all(np.isfinite(center + extent)):
        raise OverflowError("differences between values of a feature overflow")
    vanishing = np.flatnonzero((extent > 0) & (extent < MIN_SIZE))
    if len(vanishing):
        place = vanishing[0]
        raise FloatingPointError(f"feature {place} has a range of {extent[place]:.2g}")
