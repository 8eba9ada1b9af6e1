"""Numbers of clusters, by which their labels are given."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from opgd._fit.refinement import RefinedMixture
from opgd._utils.labels import encode_groups
from opgd.core.engines import RowBlock
from opgd.core.gaussians import ProjectedGaussians
from opgd.core.types import FloatArray, IntArray


@dataclass(frozen=True)
class Numbering:
    """Order of the Gaussians, by cluster, and the cluster of each in this order."""

    order: IntArray  # (C,), Gaussians of the fit
    clusters: IntArray  # (C,), ascending from 0

    @property
    def labels(self) -> IntArray:
        """Return the cluster of each Gaussian of the fit, (C,)."""
        labels = np.empty_like(self.clusters)
        labels[self.order] = self.clusters
        return labels


def number_by_weight(gaussians: ProjectedGaussians, groups: IntArray | None = None) -> Numbering:
    """Number clusters by weight, the largest first; `groups` (C,) are those of merged Gaussians."""
    log_priors = gaussians.log_priors
    if groups is None:
        order = np.argsort(-log_priors, kind="stable")
        return Numbering(order, np.arange(len(order)))
    weights = np.bincount(groups, np.exp(log_priors))
    ranks = np.argsort(np.argsort(-weights, kind="stable"), kind="stable")
    order = np.lexsort((-log_priors, ranks[groups]))
    return Numbering(order, ranks[groups][order])


def number_like_groups(refined: RefinedMixture, init: Any) -> Numbering:
    """Number clusters like the groups of `init`, labels or responsibilities of the samples.

    Groups and clusters are matched one to one, so that as many samples as possible have the same
    number. Labels have the numbers of their sorted values.
    """
    n_clusters, posteriors = len(refined.problem.priors), refined.posteriors
    shares = np.asarray(init, dtype=np.float64) if np.ndim(init) == 2 else None
    if shares is None:
        shares = np.eye(n_clusters)[encode_groups(init, "init")[1]]  # (n, K)

    def count_block(block: RowBlock) -> FloatArray:
        assigned = np.eye(n_clusters)[np.argmax(posteriors(block), axis=0)]  # (n, K)
        return (shares[block.rows].T * block.row_weights) @ assigned

    counts = refined.problem.objective.engine.sum(count_block, refined.width)
    return Numbering(linear_sum_assignment(-counts)[1], np.arange(n_clusters))
