"""Clusters made of several Gaussians (Baudry et al. 2010).

The Gaussians of a mixture are merged hierarchically: each step merges the two clusters whose union
decreases the entropy of the assignment most,

    entropy = -sum_i sum_k p_ik log p_ik

where p_ik is the probability of cluster k, the sum of those of its Gaussians. The density of the
samples does not change.
"""

import numpy as np
from scipy.special import xlogy

from opgd._fit.refinement import RefinedMixture
from opgd.core.engines import RowBlock
from opgd.core.types import FloatArray, IntArray


def merge_gaussians(refined: RefinedMixture, n_clusters: int) -> IntArray:
    """Return the cluster of each Gaussian, (C,), of at most `n_clusters` clusters."""
    groups = np.arange(len(refined.problem.priors))
    while groups.max() >= n_clusters:
        gains = compute_gains(refined, groups)
        first, second = np.unravel_index(np.argmax(gains), gains.shape)
        groups[groups == second] = first
        groups = np.unique(groups, return_inverse=True)[1]
    return groups


def compute_gains(refined: RefinedMixture, groups: IntArray) -> FloatArray:
    """Return the decrease of entropy if clusters j and k > j are merged, (K, K); else -inf."""
    n_clusters, posteriors = int(groups.max()) + 1, refined.posteriors
    first, second = np.triu_indices(n_clusters, 1)
    members = np.eye(n_clusters)[groups].T  # (K, C)

    def sum_block(block: RowBlock) -> FloatArray:
        shares = members @ posteriors(block)  # (K, n)
        weights = block.row_weights
        single = xlogy(shares, shares) @ weights  # (K,)
        pairs = np.empty(len(first))
        for place, (j, k) in enumerate(zip(first, second, strict=True)):
            union = shares[j] + shares[k]
            pairs[place] = xlogy(union, union) @ weights - single[j] - single[k]
        return pairs

    gains = np.full((n_clusters, n_clusters), -np.inf)
    gains[first, second] = refined.problem.objective.engine.sum(sum_block, refined.width)
    return gains
