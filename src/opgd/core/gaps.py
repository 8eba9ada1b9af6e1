"""Missing entries of samples: where they are, and their conditional distribution.

With K the precision (inverse covariance) of a Gaussian with mean mu, the missing entries m of a
sample have, given the others, the conditional covariance and mean

    K_mm^-1    and    x_m - K_mm^-1 [K (x - mu)]_m

whatever values x_m are filled in at first. Each sample needs one system as large as its number of
missing entries, so samples with the same number are solved together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_SYSTEM_CELLS = 2**20
"""Maximum number of entries of the systems that are solved together."""
SEARCH_CELLS = 2**22
"""Number of entries of X that are searched for missing values together."""


@dataclass(frozen=True)
class Gaps:
    """Positions of missing entries, sample by sample, and values that replace them.

    The missing entries of sample i are ``columns[starts[i]:starts[i + 1]]``. Without values, the
    samples are complete already, and the positions tell which of their entries are estimates.
    """

    starts: IntArray  # (n + 1,)
    columns: IntArray  # (n_missing,)
    values: FloatArray | None = None  # (n_missing,)

    @property
    def counts(self) -> IntArray:
        """Return the number of missing entries of each sample, (n,)."""
        return np.diff(self.starts)

    @property
    def row_indices(self) -> IntArray:
        """Return the sample of each missing entry, (n_missing,)."""
        return np.repeat(np.arange(len(self.starts) - 1), self.counts)

    def slice_rows(self, rows: slice) -> "Gaps":
        """Return the gaps of consecutive samples."""
        first, last = self.starts[rows.start], self.starts[rows.stop]
        values = None if self.values is None else self.values[first:last]
        starts = self.starts[rows.start : rows.stop + 1] - first
        return Gaps(starts, self.columns[first:last], values)

    def select_rows(self, positions: IntArray) -> "Gaps":
        """Return the gaps of the samples at these positions."""
        counts = self.counts[positions]
        starts = np.concatenate([[0], np.cumsum(counts)])
        shifts = np.repeat(self.starts[positions] - starts[:-1], counts)
        cells = np.arange(starts[-1]) + shifts
        values = None if self.values is None else self.values[cells]
        return Gaps(starts, self.columns[cells], values)

    @staticmethod
    def concatenate(parts: "list[Gaps]") -> "Gaps":
        """Return the positions of the gaps of consecutive groups of samples."""
        counts = np.concatenate([[0], *[part.counts for part in parts]])
        return Gaps(np.cumsum(counts), np.concatenate([part.columns for part in parts]))

    def without_values(self) -> "Gaps":
        """Return the positions alone."""
        return Gaps(self.starts, self.columns)

    def fill(self, rows: AnyArray) -> AnyArray:
        """Replace the missing entries of rows (n, p), in place, and return the rows."""
        if self.values is not None:
            rows[self.row_indices, self.columns] = self.values
        return rows

    def batches(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield indices (m,) and missing columns (m, k) of samples with k missing entries each."""
        counts = self.counts
        by_count = np.argsort(counts, kind="stable")
        ends = np.searchsorted(counts[by_count], np.arange(counts.max(initial=0) + 2))
        for k, (first, last) in enumerate(pairwise(ends)):
            if k == 0 or first == last:
                continue
            step = max(1, MAX_SYSTEM_CELLS // k**2)
            for start in range(first, last, step):
                rows = by_count[start : min(start + step, last)]
                yield rows, self.columns[self.starts[rows][:, None] + np.arange(k)]


def find_gaps(X: AnyArray) -> Gaps:
    """Return the positions of the missing entries (nan) of X, searched in blocks."""
    n_samples, n_features = X.shape
    step = max(1, SEARCH_CELLS // max(n_features, 1))
    counts, columns = [np.zeros(1, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for start in range(0, n_samples, step):
        missing = np.isnan(X[start : start + step])
        counts.append(missing.sum(axis=1))
        columns.append(np.nonzero(missing)[1])
    return Gaps(np.cumsum(np.concatenate(counts)), np.concatenate(columns))


@dataclass(frozen=True)
class Batch:
    """Conditional distributions of the missing entries of samples with k missing entries each."""

    rows: IntArray  # (m,), indices of the samples
    columns: IntArray  # (m, k)
    systems: FloatArray  # (m, k, k), K_mm
    covariances: FloatArray  # (m, k, k), K_mm^-1
    steps: FloatArray  # (m, k), from the values filled in to the conditional means

    @property
    def size(self) -> int:
        """Return k, the number of missing entries of each sample."""
        return self.columns.shape[1]

    @property
    def log_determinants(self) -> FloatArray:
        """Return log|K_mm| of each sample, (m,)."""
        return np.asarray(np.linalg.slogdet(self.systems)[1])


def solve_gaps(
    gaps: Gaps, pulls: FloatArray, precisions: FloatArray, groups: IntArray
) -> Iterator[Batch]:
    """Yield the conditional distributions of all missing entries.

    `pulls` (n, p) are K (x - mu) for the completed samples x, `precisions` (G, p, p) the matrices
    K of the groups, and `groups` (n,) the groups of the samples.
    """
    for rows, columns in gaps.batches():
        systems = precisions[groups[rows][:, None, None], columns[:, :, None], columns[:, None, :]]
        inverses = 1.0 / systems if columns.shape[1] == 1 else np.linalg.inv(systems)
        covariances = np.asarray(inverses, dtype=np.float64)
        steps = -np.einsum("mkl,ml->mk", covariances, pulls[rows[:, None], columns])
        yield Batch(rows, columns, systems, covariances, steps)


@dataclass(frozen=True)
class Conditionals:
    """Gaussians of groups of samples, from which missing entries are estimated.

    Samples are given in coordinates, rows @ axes of standardized features. The precision in the
    space of these features is `feature_precisions`.
    """

    axes: FloatArray  # (p, R), change of the coordinates by one unit of a feature
    means: FloatArray  # (G, R)
    precisions: FloatArray  # (G, R, R)
    feature_precisions: FloatArray  # (G, p, p)

    def select(self, groups: IntArray) -> "Conditionals":
        """Return the Gaussians of these groups."""
        return Conditionals(
            self.axes, self.means[groups], self.precisions[groups], self.feature_precisions[groups]
        )

    def repeat(self, n_groups: int) -> "Conditionals":
        """Return the Gaussians of `n_groups` groups; a single one is repeated."""
        if len(self.means) == n_groups:
            return self
        return self.select(np.zeros(n_groups, dtype=np.intp))

    def complete(
        self, rows: FloatArray, gaps: Gaps | None, groups: IntArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Move the missing entries of rows (n, R) to their conditional means, in place.

        `groups` (n,) are the Gaussians of the rows.

        Returns
        -------
        spreads : ndarray of shape (G, p, p)
            Sums of weights times conditional covariances of the features.
        steps : ndarray of shape (n_missing,)
            Changes of the missing entries, in units of the standardized features.
        """
        assert gaps is not None
        pulls = self._slopes(rows, groups) @ self.axes.T  # (n, p), K (x - mu)
        p = len(self.axes)
        spreads = np.zeros(len(self.means) * p * p)
        steps = np.empty(len(gaps.columns))
        for batch in solve_gaps(gaps, pulls, self.feature_precisions, groups):
            group = groups[batch.rows]
            steps[gaps.starts[batch.rows][:, None] + np.arange(batch.size)] = batch.steps
            cells = (group[:, None] * p + batch.columns)[:, :, None] * p
            cells = cells + batch.columns[:, None, :]
            shares = batch.covariances * weights[batch.rows][:, None, None]
            spreads += np.bincount(cells.ravel(), shares.ravel(), len(spreads))
        changes = np.zeros_like(pulls)
        changes[gaps.row_indices, gaps.columns] = steps
        rows += changes @ self.axes
        return spreads.reshape(-1, p, p), steps

    def _slopes(self, rows: FloatArray, groups: IntArray) -> FloatArray:
        """Return K_g (row - mu_g) for the group of each row, (n, R)."""
        if len(self.means) == 1:
            return (rows - self.means[0]) @ self.precisions[0]
        slopes = np.empty_like(rows)
        for g in np.unique(groups):
            member = groups == g
            slopes[member] = (rows[member] - self.means[g]) @ self.precisions[g]
        return slopes

    def log_densities(self, rows: FloatArray, gaps: Gaps | None) -> FloatArray:
        """Return the log density of the observed entries of rows (n, R) by every group, (G, n).

        A term of each sample that is equal for all groups is left out.
        """
        assert gaps is not None
        densities = np.empty((len(self.means), len(rows)))
        one_group = np.zeros(len(rows), dtype=np.intp)
        for g, (mean, precision) in enumerate(zip(self.means, self.precisions, strict=True)):
            pulls = (rows - mean) @ precision
            squares = np.einsum("nr,nr->n", pulls, rows - mean)
            log_determinants = np.full(len(rows), -np.linalg.slogdet(precision)[1])
            for batch in solve_gaps(
                gaps, pulls @ self.axes.T, self.feature_precisions[[g]], one_group
            ):
                products = np.einsum("mkl,ml->mk", batch.systems, batch.steps)
                squares[batch.rows] -= np.sum(products * batch.steps, axis=1)
                log_determinants[batch.rows] += batch.log_determinants
            densities[g] = -0.5 * (squares + log_determinants)
        return densities
