"""Profiles of clusters: sizes, means of the features, what distinguishes them, typical samples."""

from dataclasses import dataclass

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_DISTINGUISHING = 3
LEAST_DIFFERENCE = 0.8
"""Standardized difference from which a feature distinguishes a cluster (Cohen: large)."""
N_REPRESENTATIVES = 3


@dataclass(frozen=True)
class ClusterProfile:
    """Summary of one cluster in terms of the original features.

    Attributes
    ----------
    cluster : int
        Label of the cluster.
    size : int
        Number of samples.
    share : float
        Share of the samples that belong to any cluster.
    features : list of str
        Names of the features.
    means : ndarray of shape (n_features,)
        Means of the features, over the samples in which they are not missing.
    differences : ndarray of shape (n_features,)
        Differences between the mean and the mean of all other clusters, in standard deviations
        within the two groups; infinite if the feature is constant in both, with different values.
    distinguishing : list of str
        Features with the largest differences of at least 0.8, at most three.
    representatives : ndarray
        Indices of the samples with the highest density in the cluster.
    """

    cluster: int
    size: int
    share: float
    features: list[str]
    means: FloatArray
    differences: FloatArray
    distinguishing: list[str]
    representatives: IntArray

    def __str__(self) -> str:
        return f"cluster {self.cluster}: {self.describe('samples')}"

    def describe(self, unit: str) -> str:
        """Return a line of text; `unit` is the plural of what was clustered."""
        places = [self.features.index(name) for name in self.distinguishing]
        words = [f"{self.features[j]} {self.means[j]:.3g} ({self._compare(j)})" for j in places]
        about = ", ".join(words) if words else "no large differences from the other clusters"
        return f"{self.size} {unit} ({self.share:.0%}); {about}"

    def _compare(self, feature: int) -> str:
        """Return the difference of a feature in words; it is infinite without deviations."""
        difference = self.differences[feature]
        if np.isinf(difference):
            return "constant here, another constant in other clusters"
        return f"{difference:+.1f} sd"


def profile_clusters(
    X: AnyArray, labels: IntArray, log_joints: FloatArray, features: list[str]
) -> list[ClusterProfile]:
    """Summarize clusters 0, 1, ...; samples with a label of -1 belong to none.

    `log_joints` (n, K) are the log joint densities from which labels were predicted.
    """
    n_clustered = max(1, int(np.sum(labels >= 0)))
    profiles = []
    for cluster in range(log_joints.shape[1]):
        members, others = labels == cluster, (labels >= 0) & (labels != cluster)
        size = int(members.sum())
        differences = _standardize_differences(X[members], X[others])
        strongest = np.argsort(-np.abs(differences), kind="stable")[:MAX_DISTINGUISHING]
        rows = np.flatnonzero(members)
        order = np.argsort(-log_joints[rows, cluster], kind="stable")[:N_REPRESENTATIVES]
        profiles.append(
            ClusterProfile(
                cluster=cluster,
                size=size,
                share=size / n_clustered,
                features=features,
                means=_average(X[members]),
                differences=differences,
                distinguishing=[
                    features[j] for j in strongest if abs(differences[j]) >= LEAST_DIFFERENCE
                ],
                representatives=rows[order],
            )
        )
    return profiles


def _average(X: AnyArray) -> FloatArray:
    """Return the mean of the observed values of each feature, nan without any, (p,)."""
    counts = _count_observed(X)
    sums = np.nansum(X, axis=0, dtype=np.float64)
    return np.divide(sums, counts, out=np.full(X.shape[1], np.nan), where=counts > 0)


def _count_observed(X: AnyArray) -> IntArray:
    counts: IntArray = np.sum(~np.isnan(X), axis=0)
    return counts


def _standardize_differences(members: AnyArray, others: AnyArray) -> FloatArray:
    """Return (mean - mean of others) / pooled standard deviation, 0 where it is not defined."""
    size = np.fmax.reduce(np.abs(np.vstack([members, others])), axis=0)
    size = np.where(size > 0, size, 1.0)  # squares of original values may overflow
    members, others = members / size, others / size
    means = [_average(rows) for rows in (members, others)]
    steps = np.nan_to_num(means[0] - means[1])
    squares = [
        np.nansum((rows - mean) ** 2, axis=0, dtype=np.float64)
        for rows, mean in zip((members, others), means, strict=True)
    ]
    counts = _count_observed(members) + _count_observed(others)
    deviations = np.sqrt((squares[0] + squares[1]) / np.maximum(counts, 1))
    flat = np.where(steps == 0, 0.0, np.copysign(np.inf, steps))
    return np.divide(steps, deviations, out=flat, where=deviations > 0)
