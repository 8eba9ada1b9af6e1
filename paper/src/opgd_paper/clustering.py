"""The clustering experiment of Section 5: refinement of mixtures on fifteen data sets."""

from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from opgd import OPGDMixture
from opgd_paper.datasets import list_datasets, load_dataset

METHODS = ["identity", "identity, 99.9 % PCs"]
"""V'V = I on standardized features, or on their principal components."""
DATA = [info.name for info in list_datasets()]


@cache
def load_standardized(name: str) -> tuple[Any, Any]:
    """Return standardized features (divisor n) without constant ones, and the classes."""
    data = load_dataset(name)
    X = data.data[:, np.ptp(data.data, axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), data.target


def run_clustering(name: str, replication: int, method: str) -> dict[str, Any]:
    """Return the agreement of initial and final clusters with the classes, times 100.

    As in the paper, the initial mixture has full covariances without shrinkage or prior. It starts
    from k-means, where the paper uses mclust.
    """
    X, y = load_standardized(name)
    n_clusters, init = len(np.unique(y)), "kmeans"
    if method.endswith("PCs"):
        X = PCA(0.999, svd_solver="full").fit_transform(X)
        # k-means of the estimator would scale all components to the same variance first
        half_sphered = X / np.sqrt(X.std(axis=0))
        init = KMeans(n_clusters, n_init=1, random_state=replication).fit(half_sphered).labels_
    model = OPGDMixture(
        n_clusters,
        metric="identity",
        init=init,
        shrinkage=0.0,
        regularization=0.0,
        random_state=replication,
    )
    model.fit(X)
    values = {}
    for when, labels in [("start", model.initial_labels_), ("end", model.labels_)]:
        values[f"ari_{when}"] = 100 * adjusted_rand_score(y, labels)
        values[f"nmi_{when}"] = 100 * normalized_mutual_info_score(
            y, labels, average_method="geometric"
        )
    return values
