"""Number of clusters and agreement with classes, beside other methods that select a number."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.preprocessing import StandardScaler

from benchmarks.cluster_cases import CASES, JUDGING_SEEDS, Case, make_case
from benchmarks.clustering import standardized
from benchmarks.data import NAMES, load
from benchmarks.defaults import OTHERS
from benchmarks.harness import make_table, one_blas_thread, show, verdict
from opgd import OPGDMixture
from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_CLUSTERS = 12
MAX_ROWS = 8_000
"""Number of samples up to which a data set is used."""
MAX_SILHOUETTE_ROWS = 2_000
LEAST_RIGHT, MOST_FAR = 0.75, 0.10
"""Bounds on the share of cases with the right number, and with one off by more than one."""
LEAST_NOT_LOWER = 0.6
"""Bound on the share of data sets on which the agreement is not lower than that of the rival."""
TINY = 0.02
N_GIVEN_SEEDS = 10
LEAST_GIVEN = 57.0
"""Bound on the mean adjusted Rand index, times 100, for given numbers of clusters."""
COVARIANCE_TYPES = ["full", "tied", "diag", "spherical"]


@dataclass(frozen=True)
class Clustering:
    """Labels, the number of clusters, and what a warning said."""

    labels: IntArray
    n_clusters: int
    warning: str = ""

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


def fit_gaussian_mixture(X: FloatArray) -> Clustering:
    """Fit scikit-learn's mixtures to standardized features, selected by BIC."""
    X = StandardScaler().fit_transform(X)
    models = [
        GaussianMixture(k, covariance_type=kind, random_state=0).fit(X)
        for k in range(1, MAX_CLUSTERS + 1)
        for kind in COVARIANCE_TYPES
    ]
    best = min(models, key=lambda model: model.bic(X))
    return Clustering(best.predict(X), best.n_components)


def fit_bayesian_mixture(X: FloatArray) -> Clustering:
    """Fit a variational mixture, which leaves Gaussians empty that it does not need."""
    X = StandardScaler().fit_transform(X)
    labels = BayesianGaussianMixture(n_components=MAX_CLUSTERS, random_state=0).fit_predict(X)
    return Clustering(labels, len(np.unique(labels)))


def fit_hdbscan(X: FloatArray) -> Clustering:
    """Fit HDBSCAN with clusters of at least 2 % of the samples."""
    X = StandardScaler().fit_transform(X)
    labels = HDBSCAN(min_cluster_size=max(5, int(TINY * len(X)))).fit_predict(X)
    return Clustering(labels, int(labels.max()) + 1)


def fit_kmeans(X: FloatArray) -> Clustering:
    """Fit k-means with the number of the largest silhouette."""
    X = StandardScaler().fit_transform(X)
    models = [KMeans(k, n_init=3, random_state=0).fit(X) for k in range(2, MAX_CLUSTERS + 1)]
    size = min(len(X), MAX_SILHOUETTE_ROWS)

    def silhouette(model: KMeans) -> float:
        return float(silhouette_score(X, model.labels_, sample_size=size, random_state=0))

    best = max(models, key=silhouette)
    return Clustering(best.labels_, best.n_clusters)


RIVALS: dict[str, Callable[[FloatArray], Clustering]] = {
    "GaussianMixture": fit_gaussian_mixture,
    "Bayesian": fit_bayesian_mixture,
    "HDBSCAN": fit_hdbscan,
    "k-means": fit_kmeans,
}


def select_numbers(case: Case) -> AnyArray:
    """Return the numbers that OPGDMixture and GaussianMixture select, (n_seeds, 2)."""
    chosen = []
    for seed in JUDGING_SEEDS:
        X, _ = make_case(case, seed)
        own, other = fit_opgd(X, noise=case.outliers > 0), fit_gaussian_mixture(X)
        chosen.append([own.n_clusters, other.n_clusters])
    return np.array(chosen)


def show_numbers(console: Console, cases: list[Case] = CASES) -> bool:
    """Simulated cases with a known number of clusters; False if a bound is not kept."""
    table = make_table(["case"], ['"auto"', "GaussianMixture"])
    errors = []
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases:
            chosen = select_numbers(case)
            errors.append(np.abs(chosen - case.n_clusters))
            table.add_row(case.name, *[" ".join(map(str, column)) for column in chosen.T], "")
            console.print(f"{case.name}: {chosen[:, 0].tolist()}, {chosen[:, 1].tolist()}")
    right, far = (np.mean(np.concatenate(errors) == 0, 0), np.mean(np.concatenate(errors) > 1, 0))
    kept = bool(right[0] >= LEAST_RIGHT and far[0] <= MOST_FAR)
    table.add_section()
    table.add_row("right", *[f"{share:.0%}" for share in right], "")
    table.add_row("off by more than one", *[f"{share:.0%}" for share in far], verdict(kept))
    how = (
        f"Numbers of clusters selected on {len(JUDGING_SEEDS)} seeds, with noise=True where there "
        f"are outliers. Bounds: right {LEAST_RIGHT:.0%}, off by more than one {MOST_FAR:.0%}. "
        f"GaussianMixture: 1 to {MAX_CLUSTERS}, four covariance types, BIC, standardized."
    )
    show(console, "Number of clusters", table, how)
    return kept


def show_sets(console: Console) -> bool:
    """Data sets of the paper, number selected; False if a bound is not kept."""
    return _show_sets(console, NAMES)


def show_other_sets(console: Console) -> bool:
    """Data sets on which nothing was tuned, from the folder `more`."""
    names = [f"more/{name}" for name in OTHERS]
    return _show_sets(console, [name for name in names if len(load(name).y) <= MAX_ROWS])


def _show_sets(console: Console, names: list[str]) -> bool:
    table = make_table(["data set"], ["n,d,k", "OPGDMixture", *RIVALS])
    agreements, silent = [], []
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            rows = standardized(name)
            own = fit_opgd(rows.X, range(1, MAX_CLUSTERS + 1))
            clusterings = [own, *[fit(rows.X) for fit in RIVALS.values()]]
            values = [100 * adjusted_rand_score(rows.y, other.labels) for other in clusterings]
            agreements.append(values)
            degenerate = own.is_silently_degenerate(rows.X)
            silent += [name] * degenerate
            sizes = ",".join(map(str, (*rows.X.shape, rows.n_clusters)))
            entries = [
                f"{v:.1f} ({c.n_clusters})" for v, c in zip(values, clusterings, strict=True)
            ]
            table.add_row(name, sizes, *entries, verdict(False, "silent") if degenerate else "")
            console.print(f"{name}: {', '.join(entries)}; {own.warning[:100]}")
    array = np.array(agreements)
    not_lower = float(np.mean(array[:, 0] >= array[:, 1]))
    kept = bool(array[:, 0].mean() > array[:, 1].mean() and not_lower >= LEAST_NOT_LOWER)
    kept &= not silent
    table.add_section()
    table.add_row("mean", "", *[f"{mean:.1f}" for mean in array.mean(axis=0)], verdict(kept))
    how = (
        f"Adjusted Rand index times 100 (number of clusters), selected from 1 to {MAX_CLUSTERS}. "
        f"Not lower than GaussianMixture on {not_lower:.0%} of the data sets; bounds: mean above "
        f"it, {LEAST_NOT_LOWER:.0%}, no silent degenerate result."
    )
    show(console, "Clusters with a selected number", table, how)
    return kept


def show_given(console: Console) -> bool:
    """Data sets of the paper with the number of classes given; False if a bound is not kept."""
    table = make_table(["data set"], ["start", "final", "deviation over seeds"])
    finals, kept = [], True
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in NAMES:
            rows = standardized(name)
            values = np.array([_fit_given(rows.X, rows.y, seed) for seed in range(N_GIVEN_SEEDS)])
            finals.append(values[:, 1])
            start, final = values.mean(axis=0)
            judged = name == "seeds" and final < start
            kept &= not judged
            deviation = f"{values[:, 1].std(ddof=1):.1f}"
            remark = verdict(False, "below") if judged else ""
            table.add_row(name, f"{start:.1f}", f"{final:.1f}", deviation, remark)
            console.print(f"{name}: {start:.1f} {final:.1f} {deviation}")
    means = np.mean(finals, axis=0)
    kept &= bool(means.mean() >= LEAST_GIVEN)
    table.add_section()
    deviation = f"{means.std(ddof=1):.2f}"
    table.add_row("mean", "", f"{means.mean():.2f}", deviation, verdict(kept, "below"))
    how = (
        f"Adjusted Rand index times 100, {N_GIVEN_SEEDS} seeds. Bounds: mean {LEAST_GIVEN:g}, "
        "seeds not below its start."
    )
    show(console, "Clusters with a given number", table, how)
    return kept


def _fit_given(X: FloatArray, y: AnyArray, seed: int) -> list[float]:
    model = OPGDMixture(len(np.unique(y)), random_state=seed).fit(X)
    labels = model.initial_labels_, model.labels_
    return [100 * adjusted_rand_score(y, own) for own in labels]
