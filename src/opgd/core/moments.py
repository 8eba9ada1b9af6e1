"""Weights, means and covariances of groups of rows, by blocks that can be added."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from opgd.core.engines import Engine, RowBlock
from opgd.core.products import rows_times
from opgd.core.types import FloatArray, IntArray


@dataclass(frozen=True)
class Moments:
    """What is kept of every group (class, subclass, cluster): sizes, centers and shapes.

    Covariances divide by the group's weight, as in the paper (Section 3.1). Two of these add up to
    the moments of the rows of both (Chan, Golub & LeVeque), so centers may be far apart without
    the loss of digits that sums of raw squares would suffer.
    """

    weights: FloatArray  # (n_groups,)
    square_weights: FloatArray  # (n_groups,), sums of squared weights of rows
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
        """How many rows a group is worth, (n_groups,).

        The sum of weights, so that a row of weight two is two rows; but no less than Kish's
        effective number, so that weights may also be scaled to any sum.
        """
        return np.maximum(self.weights, self.weights**2 / self.square_weights)

    @property
    def priors(self) -> FloatArray:
        """Share of each group in the weight, (n_groups,)."""
        priors: FloatArray = self.weights / self.weights.sum()
        return priors

    @property
    def mean(self) -> FloatArray:
        """Mean of all rows, (n_features,)."""
        return self.priors @ self.means

    @property
    def within(self) -> FloatArray:
        """Sigma_W, the pooled covariance of rows about their group's mean."""
        return np.tensordot(self.priors, self.covariances, axes=1)

    @property
    def between(self) -> FloatArray:
        """Sigma_B, the covariance of the groups' means."""
        steps = np.sqrt(self.priors)[:, None] * (self.means - self.mean)
        return steps.T @ steps

    @property
    def total(self) -> FloatArray:
        """Sigma = Sigma_W + Sigma_B, the covariance of all rows."""
        return self.within + self.between

    def mapped(self, matrix: FloatArray) -> "Moments":
        """Moments of the rows x @ matrix; matrix (n_features, n_new)."""
        covariances = matrix.T @ self.covariances @ matrix
        return Moments(self.weights, self.square_weights, self.means @ matrix, covariances)

    def merged(self, parents: IntArray, n_parents: int) -> "Moments":
        """Moments of unions of groups: group g belongs to union `parents[g]`."""
        member = parents == np.arange(n_parents)[:, None]  # (n_parents, n_groups)
        weights = member @ self.weights
        shares = member * self.weights / weights[:, None]
        means = shares @ self.means
        steps = self.means - means[parents]  # (n_groups, n_features)
        spread = self.covariances + steps[:, :, None] * steps[:, None, :]
        square_weights = member @ self.square_weights
        return Moments(weights, square_weights, means, np.tensordot(shares, spread, axes=1))


def row_counts(weights: FloatArray) -> FloatArray:
    """Weights as numbers of rows: their sum is at least Kish's effective number."""
    return weights * max(1.0, weights.sum() / float(weights @ weights))


Mapping = Callable[[RowBlock], FloatArray]
"""Rows of a block in the coordinates in which moments are taken, in a buffer of its workspace."""
Groups = Callable[[RowBlock], IntArray]
"""Codes of the groups of the rows of a block, (n_rows,)."""
Memberships = Callable[[RowBlock], FloatArray]
"""Shares of the groups in the rows of a block, (n_groups, n_rows)."""


def by_label(block: RowBlock) -> IntArray:
    """The usual groups."""
    return block.labels


def one_group(block: RowBlock) -> IntArray:
    """All rows in group 0."""
    return np.zeros(block.n_rows, dtype=np.intp)


def scaled_by(size: FloatArray) -> Mapping:
    """Centered rows divided by the sizes of their columns."""

    def scaled(block: RowBlock) -> FloatArray:
        rows = block.centered()
        rows /= size
        return rows

    return scaled


def multiplied_by(matrix: FloatArray) -> Mapping:
    """Centered rows times a matrix (n_features, n_new)."""

    def multiplied(block: RowBlock) -> FloatArray:
        rows: FloatArray = block.workspace.array("mapped", block.n_rows, matrix.shape[1])
        return rows_times(block.centered(), matrix, rows)

    return multiplied


def block_moments(
    block: RowBlock, n_groups: int, mapping: Mapping, groups: Groups = by_label
) -> Moments:
    """Moments by group of one block of rows, in the coordinates of the mapping."""
    codes = groups(block)
    rows = mapping(block)
    by_group = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[by_group], np.arange(n_groups + 1))
    members = [by_group[first:last] for first, last in pairwise(ends)]
    weights, buffer = block.row_weights, block.workspace.array("group", *rows.shape)

    def taken(some: IntArray) -> FloatArray:
        # "clip" because take would make a copy of `out` to be able to refuse indices
        return rows.take(some, axis=0, out=buffer[: len(some)], mode="clip")

    own = [_group(taken(some), weights[some], weights[some] ** 2) for some in members]
    return _stacked(own)


def block_soft_moments(block: RowBlock, memberships: FloatArray, mapping: Mapping) -> Moments:
    """The same where a row belongs to every group by a share, memberships (n_groups, n_rows).

    A share of a row counts as that share of a row, not as a whole one of less weight.
    """
    rows = mapping(block)
    weights, buffer = block.row_weights, block.workspace.array("group", *rows.shape)

    def copied() -> FloatArray:
        buffer[...] = rows
        return buffer

    return _stacked([_group(copied(), own * weights, own * weights**2) for own in memberships])


def _group(
    rows: FloatArray, weights: FloatArray, square_weights: FloatArray
) -> tuple[float, float, FloatArray, FloatArray]:
    """Weight, sum of squared weights, mean and covariance; the rows are used up."""
    weight, n_features = float(weights.sum()), rows.shape[1]
    if weight == 0:
        return 0.0, 0.0, np.zeros(n_features), np.zeros((n_features, n_features))
    mean = weights @ rows / weight
    rows -= mean
    rows *= np.sqrt(weights / weight)[:, None]
    return weight, float(square_weights.sum()), mean, np.dot(rows.T, rows)


def _stacked(groups: Iterable[tuple[float, float, FloatArray, FloatArray]]) -> Moments:
    weights, square_weights, means, covariances = map(np.array, zip(*groups, strict=True))
    return Moments(weights, square_weights, means, covariances)


def group_moments(
    engine: Engine, n_groups: int, mapping: Mapping, groups: Groups = by_label
) -> Moments:
    """Moments by group of all rows, in the coordinates of the mapping.

    Blocks hold at least as many cells as the covariances they add to, which would cost more than
    the rows otherwise.
    """
    engine = engine.with_block_rows(2 * n_groups * engine.n_features)
    return engine.sum(lambda block: block_moments(block, n_groups, mapping, groups))


def soft_moments(
    engine: Engine, memberships: Memberships, mapping: Mapping, width: int = 0
) -> Moments:
    """Moments of groups to which rows belong by shares, in the coordinates of the mapping.

    `width` is that of the buffers that the memberships need, as in `Engine.sum`.
    """
    return engine.sum(lambda block: block_soft_moments(block, memberships(block), mapping), width)


@dataclass(frozen=True)
class ColumnSums:
    """Where the columns lie, before anything is squared; relative to the engine's center."""

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
    """Mean and size of every column: where to put the origin and the unit.

    Sums are of differences to the first row, so a constant column has mean x[0] and size 0
    exactly, and a column at 1e8 keeps its digits. Sizes are powers of two near the range:
    dividing by them rounds nothing and keeps squares of any column within range.
    """
    origin = np.asarray(engine.chosen(np.zeros(1, dtype=np.intp)).X[0], dtype=np.float64)
    engine = engine.centered_at(origin, subtract=True)

    def block_sums(block: RowBlock) -> ColumnSums:
        own = block.row_weights
        with np.errstate(over="ignore", invalid="ignore"):  # here, since threads do not inherit it
            total = own @ block.X
        return ColumnSums(own.sum(), total, block.X.min(axis=0), block.X.max(axis=0))

    with np.errstate(over="ignore", invalid="ignore"):  # the caller looks for what is not finite
        sums = engine.sum(block_sums)
        extent = sums.highest - sums.lowest
        size = np.where(extent > 0, np.ldexp(1.0, np.frexp(extent)[1]), 0.0)
    return origin + sums.total / sums.weight, size
