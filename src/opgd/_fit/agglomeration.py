"""Model-based agglomeration: groups of samples are merged by the likelihood of Gaussians.

Each group is a Gaussian with its own covariance. Merging begins with many small groups, and merges
the pair whose union loses the least classification likelihood, as in Fraley (1998). Unlike Ward
linkage, groups may be elongated, each in its own direction. With prior scatter S and weight nu, a
group of n samples with scatter W contributes

    -1/2 (n + nu) log|(W + S) / (n + nu)|
"""

from dataclasses import dataclass

import numpy as np

from opgd.core.engines import RowBlock, RowEngine
from opgd.core.moments import group_moments
from opgd.core.types import FloatArray, IntArray

PRIOR_COUNT = 1.0
PRIOR_VARIANCE = 0.1
"""Variance of the prior, as a share of the variance of all samples."""


@dataclass(frozen=True)
class Merges:
    """Pairs of groups in the order in which they are merged; the first of each pair remains."""

    groups: IntArray  # (m,), group of each sample
    pairs: IntArray  # (n_groups - 1, 2)

    def cut(self, n_clusters: int) -> IntArray:
        """Return the groups (m,) that remain when there are `n_clusters` of them."""
        remaining = np.arange(len(self.pairs) + 1)
        for first, second in self.pairs[: len(self.pairs) + 1 - n_clusters]:
            remaining[remaining == second] = first
        return np.unique(remaining, return_inverse=True)[1][self.groups]


def agglomerate(rows: FloatArray, groups: IntArray) -> Merges:
    """Merge groups (m,) of sphered samples (m, q) until one is left."""
    n_groups = int(groups.max()) + 1
    merger = _Merger(rows, groups, n_groups)
    pairs = [merger.merge_best() for _ in range(n_groups - 1)]
    return Merges(groups, np.array(pairs, dtype=np.intp).reshape(-1, 2))


class _Merger:
    """Counts, means and scatters of groups, and the loss of likelihood of each union."""

    def __init__(self, rows: FloatArray, groups: IntArray, n_groups: int) -> None:
        moments = group_moments(RowEngine(rows, groups), n_groups, RowBlock.centered)
        self.counts, self.means = moments.counts.copy(), moments.means.copy()
        self.scatters = moments.covariances * self.counts[:, None, None]
        self.prior = PRIOR_COUNT * PRIOR_VARIANCE * np.eye(rows.shape[1])
        self.costs = self._compute_costs(self.counts, self.scatters)
        self.exists = np.ones(n_groups, dtype=bool)
        self.losses = np.full((n_groups, n_groups), np.inf)  # of i and j > i
        for i in range(n_groups - 1):
            others = np.arange(i + 1, n_groups)
            self.losses[i, others] = self._compute_losses(i, others)

    def _compute_costs(self, counts: FloatArray, scatters: FloatArray) -> FloatArray:
        totals = counts + PRIOR_COUNT
        logs = np.linalg.slogdet(scatters + self.prior)[1]
        costs: FloatArray = totals * (logs - scatters.shape[1] * np.log(totals))
        return costs

    def _unite(self, i: int, others: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return counts and scatters of the unions of group i with others."""
        counts, steps = self.counts[i] + self.counts[others], self.means[others] - self.means[i]
        shares = self.counts[i] * self.counts[others] / counts
        between = (shares[:, None] * steps)[:, :, None] * steps[:, None, :]
        return counts, self.scatters[i] + self.scatters[others] + between

    def _compute_losses(self, i: int, others: IntArray) -> FloatArray:
        return self._compute_costs(*self._unite(i, others)) - self.costs[i] - self.costs[others]

    def merge_best(self) -> tuple[int, int]:
        """Merge the pair with the smallest loss; return it."""
        i, j = divmod(int(np.argmin(self.losses)), len(self.losses))
        counts, scatters = self._unite(i, np.array([j]))
        share = self.counts[j] / counts[0]
        self.means[i] += share * (self.means[j] - self.means[i])
        self.counts[i], self.scatters[i] = counts[0], scatters[0]
        self.costs[i] = self._compute_costs(counts, scatters)[0]
        self.exists[j] = False
        self.losses[j], self.losses[:, j] = np.inf, np.inf
        others = np.flatnonzero(self.exists)
        others = others[others != i]
        losses = self._compute_losses(i, others)
        self.losses[np.minimum(i, others), np.maximum(i, others)] = losses
        return i, j
