"""Experiments of Section 5: refinement of mixtures on fifteen data sets."""

from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from opgd.core.types import AnyArray, FloatArray
from opgd.datasets import list_datasets, load_dataset
from opgd.mixture import OPGDMixture

METHODS = ["identity", "identity, 99.9 % PCs"]
"""Methods of the paper: V'V = I on standardized features or on their principal components."""
OWN_METHODS = ["covariance", "covariance, auto"]
DATA = [info.name for info in list_datasets()]


@cache
def load_standardized(name: str) -> tuple[FloatArray, AnyArray]:
    """Return standardized features (divisor n) without constant ones, and the classes."""
    data = load_dataset(name)
    X = data.data[:, np.ptp(data.data, axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), data.target


def rows_for(name: str, method: str) -> tuple[FloatArray, AnyArray]:
    """Return the samples in the form that a method uses, and the classes."""
    X, y = load_standardized(name)
    if method.endswith("PCs"):
        X = PCA(0.999, svd_solver="full").fit_transform(X)
    return X, y


def make_mixture(method: str, X: FloatArray, n_clusters: int, seed: int) -> OPGDMixture:
    """Return the mixture for a method; it is initialized by k-means unless its name says auto."""
    metric = method.split(",")[0]
    init: Any = "auto" if method.endswith("auto") else "kmeans"
    if method.endswith("PCs"):
        # k-means of the estimator would scale all components to the same variance first
        half_sphered = X / np.sqrt(X.std(axis=0))
        init = KMeans(n_clusters, n_init=1, random_state=seed).fit(half_sphered).labels_
    # the paper refines a mixture with full covariances, without shrinkage or prior
    paper: dict[str, Any] = {"shrinkage": 0.0, "regularization": 0.0}
    settings = paper if metric == "identity" else {}
    return OPGDMixture(n_clusters, metric=metric, init=init, random_state=seed, **settings)


def run_clustering(name: str, replication: int, method: str) -> dict[str, Any]:
    """Return the agreement of initial and final clusters with the classes, times 100."""
    X, y = rows_for(name, method)
    model = make_mixture(method, X, len(np.unique(y)), replication).fit(X)
    values = {}
    for when, labels in [("start", model.initial_labels_), ("end", model.labels_)]:
        values[f"ari_{when}"] = 100 * adjusted_rand_score(y, labels)
        values[f"nmi_{when}"] = 100 * normalized_mutual_info_score(
            y, labels, average_method="geometric"
        )
    return values
