"""How certain clusters are, and how they agree with those of k-means."""

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from opgd.core.types import FloatArray, IntArray

CERTAIN = 0.9
"""Rows whose cluster has at least this probability are certain."""
MAX_VALUES = 2_000_000
"""In larger tables, clusters are not compared with k-means."""
MAX_STANDARDIZED = 1e6
"""Values are clipped, so that squares of extreme ones are finite."""


@dataclass(frozen=True)
class ClusterQuality:
    """How well clusters are separated."""

    n_rows: int  # in clusters
    certain: float  # share of the rows whose cluster has a probability of at least CERTAIN
    uncertainty: float  # mean of one minus the probability of the cluster
    k_means: float | None  # adjusted Rand index with k-means on standardized columns


def assess_clusters(
    probabilities: FloatArray, codes: IntArray, standardized: FloatArray, n_clusters: int
) -> ClusterQuality | None:
    """Return how certain clusters are, None without rows in clusters; `codes` are -1 for noise."""
    clustered = codes >= 0
    if not clustered.any():
        return None
    rows = np.flatnonzero(clustered)
    of_cluster = probabilities[rows, codes[rows]]
    return ClusterQuality(
        n_rows=len(rows),
        certain=float(np.mean(of_cluster >= CERTAIN)),
        uncertainty=float(np.mean(1 - of_cluster)),
        k_means=_compare_with_k_means(standardized[rows], codes[rows], n_clusters),
    )


def _compare_with_k_means(
    standardized: FloatArray, codes: IntArray, n_clusters: int
) -> float | None:
    if n_clusters < 2 or len(codes) <= n_clusters or standardized.size > MAX_VALUES:
        return None
    values = standardized.clip(-MAX_STANDARDIZED, MAX_STANDARDIZED)
    if len(np.unique(values, axis=0)) <= n_clusters:
        return None
    found = KMeans(n_clusters, n_init=5, random_state=0).fit_predict(values)
    return float(adjusted_rand_score(codes, found))
