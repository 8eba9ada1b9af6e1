"""OPGDMixture and other methods of clustering, with a given or a selected number of clusters.

Other methods see standardized features. mclust is called through Rscript if R has it.
"""

import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import silhouette_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.preprocessing import StandardScaler

from benchmarks.data import DataSet
from benchmarks.r import TooSlowError, has_r_package, run_r
from opgd import OPGDMixture
from opgd.core.types import FloatArray, IntArray

MAX_CLUSTERS = 12
MAX_SILHOUETTE_ROWS = 2_000
TINY = 0.02
COVARIANCE_TYPES = ["full", "tied", "diag", "spherical"]
MAX_LINKAGE_ROWS = 2_000
"""Maximum number of samples for the agglomerative start of mclust."""
MAX_R_SECONDS = 600
"""Processor time that mclust may use for one table with a given number of clusters."""
MAX_SELECTION_SECONDS = 120
"""Processor time that mclust may use to select a number of clusters."""
MCLUST = """
suppressMessages(library(mclust)); set.seed(0)
X <- read.csv("{path}", header = FALSE); n <- nrow(X)
fitted <- if (n > {n_fitted}) sample(n, {n_fitted}) else 1:n
start <- if (length(fitted) > {n_linked}) list(subset = sample(length(fitted), {n_linked}))
m <- Mclust(X[fitted, ], G = {fewest}:{most}, initialization = start, verbose = FALSE)
if (is.null(m)) stop("no model could be fitted")
cat(if (length(fitted) < n) predict(m, X)$classification else m$classification)
"""
R_TABLES = {
    "crabs": "d <- MASS::crabs; d <- cbind(d[, 4:8], target = as.integer(d$sp:d$sex))",
    "thyroid": 'data(thyroid, package = "mclust"); '
    "d <- cbind(thyroid[, -1], target = as.integer(thyroid$Diagnosis))",
}


@dataclass(frozen=True)
class Clustering:
    """Labels, the number of clusters, what a warning said, and the samples fitted if not all."""

    labels: IntArray
    n_clusters: int
    warning: str = ""
    n_fitted: int | None = None

    def is_silently_degenerate(self, X: FloatArray) -> bool:
        """Return whether a tiny cluster of one value or the largest number was not warned of."""
        if self.warning:
            return False
        sizes = {k: np.sum(self.labels == k) for k in np.unique(self.labels) if k >= 0}
        flat = [
            np.any(np.ptp(X[self.labels == k], axis=0)[np.ptp(X, axis=0) > 0] == 0)
            for k, size in sizes.items()
            if size < TINY * len(X)
        ]
        return any(flat) or self.n_clusters == MAX_CLUSTERS


def fit_opgd(X: FloatArray, numbers: object = "auto", *, noise: bool = False) -> Clustering:
    """Fit OPGDMixture with a number selected from `numbers`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = OPGDMixture(numbers, noise=noise, random_state=0).fit(X)
    said = " ".join(str(warning.message) for warning in caught)
    return Clustering(model.labels_, model.n_clusters_, said)


def fit_gaussian_mixture(X: FloatArray, numbers: Sequence[int]) -> Clustering:
    """Fit scikit-learn's mixtures with four covariance types, selected by BIC."""
    X = StandardScaler().fit_transform(X)
    models = [
        GaussianMixture(k, covariance_type=kind, random_state=0).fit(X)
        for k in numbers
        for kind in COVARIANCE_TYPES
    ]
    best = min(models, key=lambda model: model.bic(X))
    return Clustering(best.predict(X), best.n_components)


def fit_bayesian_mixture(X: FloatArray, numbers: Sequence[int]) -> Clustering:
    """Fit a variational mixture, which leaves Gaussians empty that it does not need."""
    X = StandardScaler().fit_transform(X)
    labels = BayesianGaussianMixture(n_components=max(numbers), random_state=0).fit_predict(X)
    return Clustering(labels, len(np.unique(labels)))


def fit_hdbscan(X: FloatArray, numbers: Sequence[int]) -> Clustering:  # noqa: ARG001
    """Fit HDBSCAN with clusters of at least 2 % of the samples."""
    X = StandardScaler().fit_transform(X)
    labels = HDBSCAN(min_cluster_size=max(5, int(TINY * len(X))), copy=True).fit_predict(X)
    return Clustering(labels, int(labels.max()) + 1)


def fit_kmeans(X: FloatArray, numbers: Sequence[int]) -> Clustering:
    """Fit k-means with the number of the largest silhouette."""
    X = StandardScaler().fit_transform(X)
    models = [KMeans(k, n_init=3, random_state=0).fit(X) for k in numbers if k > 1]
    size = min(len(X), MAX_SILHOUETTE_ROWS)

    def silhouette(model: KMeans) -> float:
        return float(silhouette_score(X, model.labels_, sample_size=size, random_state=0))

    best = models[0] if len(models) == 1 else max(models, key=silhouette)
    return Clustering(best.labels_, best.n_clusters)


def fit_mclust(
    X: FloatArray, numbers: Sequence[int], *, scale: bool = True, max_seconds: int = MAX_R_SECONDS
) -> Clustering:
    """Fit mclust's fourteen models, selected by BIC, to samples without constant features.

    If `max_seconds` are not enough, the models are fitted to `MAX_LINKAGE_ROWS` samples; if this
    takes too long as well, `TooSlowError` is raised.
    """
    X = X[:, np.ptp(X, axis=0) > 0]
    X = StandardScaler().fit_transform(X) if scale else X
    sizes = [len(X), MAX_LINKAGE_ROWS] if len(X) > MAX_LINKAGE_ROWS else [len(X)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.csv"
        np.savetxt(path, X, delimiter=",")
        for n_fitted in sizes:
            script = MCLUST.format(
                path=path,
                fewest=min(numbers),
                most=max(numbers),
                n_fitted=n_fitted,
                n_linked=MAX_LINKAGE_ROWS,
            )
            try:
                labels = np.array(run_r(script, max_seconds).split(), dtype=np.intp) - 1
            except TooSlowError:
                continue
            return Clustering(labels, len(np.unique(labels)), n_fitted=n_fitted)
    raise TooSlowError(f"mclust needed more than {max_seconds} s.")


def has_mclust() -> bool:
    """Return whether Rscript can load mclust."""
    return has_r_package("mclust")


def load_r_table(name: str) -> DataSet:
    """Return a data set that comes with an R package."""
    lines = run_r(f"{R_TABLES[name]}; write.csv(d, row.names = FALSE)").splitlines()[1:]
    table = np.array([line.split(",") for line in lines], dtype=np.float64)
    return DataSet(table[:, :-1], table[:, -1].astype(np.intp))


def list_rivals() -> dict[str, Callable[[FloatArray, Sequence[int]], Clustering]]:
    """Return the other methods, from samples and numbers of clusters to a clustering."""
    rivals: dict[str, Callable[[FloatArray, Sequence[int]], Clustering]] = {
        "GaussianMixture": fit_gaussian_mixture,
        "Bayesian": fit_bayesian_mixture,
        "HDBSCAN": fit_hdbscan,
        "k-means": fit_kmeans,
    }
    if has_mclust():
        rivals["mclust"] = partial(fit_mclust, max_seconds=MAX_SELECTION_SECONDS)
    return rivals
