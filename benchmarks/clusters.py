"""Number of clusters and agreement with classes, beside other methods that select a number.

Results of single fits are kept in `RAW`, a line each, so that an interrupted run goes on where it
ended; delete lines to measure again. mclust is called through Rscript if R has it. The simulated
cases were fixed before the selection was tuned: `JUDGING_SEEDS` are for the figures reported here.
"""

import json
import os
import resource
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from scipy import optimize, special
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.preprocessing import StandardScaler

from benchmarks.data import MORE, NAMES, load, load_standardized
from benchmarks.harness import make_table, one_blas_thread, show, verdict
from opgd import OPGDMixture
from opgd.core.types import AnyArray, FloatArray, IntArray

JUDGING_SEEDS = (100, 101, 102, 103)
N_ERROR_ROWS = 20_000
"""Number of samples from which the Bayes error is computed."""
N_LAYOUTS = 50
"""Number of random positions of the means, of which the most even is kept."""
OUTLIER = -1
"""Label of uniform outliers."""


@dataclass(frozen=True)
class Case:
    """One kind of table; a seed makes a table of it."""

    n_clusters: int
    n_samples: int
    n_informative: int  # dimensions in which clusters differ
    bayes_error: float
    n_noise: int = 0  # Gaussian features without clusters
    n_discrete: int = 0  # binary and count features without clusters
    covariances: str = "own"  # "spherical", "shared" or "own"
    unequal: bool = False  # whether cluster sizes decrease from 4 to 1
    correlated: bool = False  # whether continuous features are mixed by a linear map
    rounded: bool = False  # whether informative features are rounded to whole deviations
    outliers: float = 0.0  # share of uniform outliers

    @property
    def n_features(self) -> int:
        return self.n_informative + self.n_noise + self.n_discrete

    @property
    def name(self) -> str:
        flags = [
            "unequal" * self.unequal,
            "correlated" * self.correlated,
            f"{self.n_noise} noise" if self.n_noise else "",
            f"{self.n_discrete} discrete" if self.n_discrete else "",
            "rounded" * self.rounded,
            f"{self.outliers:.0%} outliers" if self.outliers else "",
        ]
        sizes = f"K={self.n_clusters} n={self.n_samples} p={self.n_features}"
        about = f"{sizes} {self.bayes_error:.0%} {self.covariances}"
        return ", ".join([about, *filter(None, flags)])


@dataclass(frozen=True)
class Mixture:
    """A mixture in the informative dimensions."""

    shares: FloatArray  # (K,)
    means: FloatArray  # (K, d)
    covariances: FloatArray  # (K, d, d)

    def draw(self, n_samples: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Draw samples with exact shares; return them and their clusters."""
        ends = np.round(n_samples * np.cumsum(self.shares)).astype(int)
        labels = np.searchsorted(ends, np.arange(n_samples), side="right")
        roots = np.linalg.cholesky(self.covariances)
        noise = rng.normal(size=(n_samples, self.means.shape[1]))
        return self.means[labels] + np.einsum("nij,nj->ni", roots[labels], noise), labels

    def bayes_error(self, seed: int = 0) -> float:
        """Return the mean probability that the most probable cluster is not the right one."""
        X, _ = self.draw(N_ERROR_ROWS, np.random.default_rng(seed))
        joint = np.empty((len(self.shares), len(X)))
        for k, covariance in enumerate(self.covariances):
            steps = np.linalg.solve(np.linalg.cholesky(covariance), (X - self.means[k]).T)
            joint[k] = np.log(self.shares[k]) - 0.5 * np.linalg.slogdet(covariance)[1]
            joint[k] -= 0.5 * np.sum(steps**2, axis=0)
        return float(np.mean(1 - np.exp(joint.max(axis=0) - special.logsumexp(joint, axis=0))))


def make_case(case: Case, seed: int) -> tuple[FloatArray, IntArray]:
    """Make a table; return samples (n, p) and clusters (n,), with `OUTLIER` for outliers."""
    rng = np.random.default_rng([CASES.index(case), seed])
    X, labels = _make_mixture(case, rng).draw(case.n_samples, rng)
    if case.rounded:
        X = np.round(X)
    X = np.hstack([X, rng.normal(size=(len(X), case.n_noise))])
    if case.correlated:
        X = X @ _mixing_map(X.shape[1], rng)
    if case.outliers:
        outlying = rng.choice(len(X), round(case.outliers * len(X)), replace=False)
        low, high = X.min(axis=0), X.max(axis=0)
        margin = 0.25 * (high - low)
        X[outlying] = rng.uniform(low - margin, high + margin, (len(outlying), X.shape[1]))
        labels[outlying] = OUTLIER
    X = np.hstack([X, _draw_discrete(case, rng)])
    order = rng.permutation(len(X))
    return X[order], labels[order]


def _make_mixture(case: Case, rng: np.random.Generator) -> Mixture:
    """Return a mixture whose means are so far apart that it has the Bayes error of the case."""
    K, d = case.n_clusters, case.n_informative
    sizes = np.linspace(4.0, 1.0, K) if case.unequal else np.ones(K)
    layouts = rng.normal(size=(N_LAYOUTS, K, d))
    directions = layouts[np.argmax([_evenness(means) for means in layouts])]
    covariances = np.stack([_make_covariance(d, case.covariances, rng) for _ in range(K)])
    if case.covariances == "shared":
        covariances[:] = covariances[0]

    def make(scale: float) -> Mixture:
        return Mixture(sizes / sizes.sum(), scale * directions, covariances)

    scale = optimize.brentq(lambda s: make(s).bayes_error() - case.bayes_error, 0.05, 60, xtol=1e-3)
    return make(float(scale))


def _evenness(means: FloatArray) -> float:
    """Return the smallest distance between means, as a fraction of the average one."""
    first, second = np.triu_indices(len(means), 1)
    distances = np.linalg.norm(means[first] - means[second], axis=1)
    return float(distances.min() / distances.mean())


def _make_covariance(d: int, kind: str, rng: np.random.Generator) -> FloatArray:
    if kind == "spherical":
        return np.eye(d)
    vectors = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (vectors * np.exp(rng.uniform(-1.0, 1.0, d))) @ vectors.T


def _mixing_map(p: int, rng: np.random.Generator) -> FloatArray:
    """Return an invertible map with a condition number of 30."""
    left, right = (np.linalg.qr(rng.normal(size=(p, p)))[0] for _ in range(2))
    return (left * np.geomspace(1.0, 30.0, p)) @ right


def _draw_discrete(case: Case, rng: np.random.Generator) -> FloatArray:
    """Draw features without clusters: binary ones and counts in turn."""
    columns = [
        rng.poisson(1.5, case.n_samples) if j % 2 else rng.uniform(size=case.n_samples) < 0.3
        for j in range(case.n_discrete)
    ]
    return np.array(columns, dtype=np.float64).reshape(case.n_discrete, case.n_samples).T


CASES = [
    Case(2, 300, 2, 0.01),
    Case(2, 400, 2, 0.05, covariances="spherical"),
    Case(3, 400, 2, 0.01, covariances="shared"),
    Case(3, 600, 2, 0.05),
    Case(4, 600, 3, 0.01, unequal=True),
    Case(5, 1000, 4, 0.05),
    Case(6, 900, 5, 0.01, covariances="spherical"),
    Case(8, 1600, 6, 0.05, covariances="shared"),
    Case(8, 1200, 4, 0.01, unequal=True),
    Case(2, 500, 3, 0.01, n_noise=7),
    Case(2, 500, 2, 0.05, n_noise=8, covariances="shared"),
    Case(3, 600, 3, 0.01, n_noise=12, correlated=True),
    Case(3, 900, 4, 0.05, n_noise=16, correlated=True, covariances="spherical"),
    Case(4, 800, 5, 0.01, n_noise=15, unequal=True),
    Case(5, 1500, 6, 0.05, n_noise=14, correlated=True),
    Case(6, 1500, 6, 0.01, n_noise=34, covariances="shared"),
    Case(4, 1200, 8, 0.01, n_noise=32, correlated=True),
    Case(8, 2000, 10, 0.01, n_noise=10, unequal=True),
    Case(3, 500, 5, 0.01, correlated=True, unequal=True),
    Case(5, 1000, 8, 0.01, correlated=True),
    Case(7, 1400, 6, 0.05, correlated=True, covariances="spherical"),
    Case(2, 400, 2, 0.01, n_discrete=2),
    Case(3, 600, 3, 0.01, n_discrete=3),
    Case(4, 1000, 4, 0.05, n_discrete=4, n_noise=2),
    Case(3, 600, 3, 0.01, rounded=True),
    Case(5, 1000, 4, 0.01, rounded=True, unequal=True),
    Case(2, 400, 3, 0.01, outliers=0.05),
    Case(3, 600, 3, 0.01, outliers=0.05, unequal=True),
    Case(4, 800, 4, 0.05, outliers=0.05, correlated=True),
    Case(5, 1000, 5, 0.01, outliers=0.05, n_noise=3),
]


class TooSlowError(Exception):
    """A call of R needed more processor time than it was allowed."""


def run_r(script: str, max_seconds: int | None = None) -> str:
    """Return what a script prints; raise `TooSlowError` after so much processor time."""
    command = shutil.which("Rscript")
    assert command is not None
    limit = None if max_seconds is None else partial(_limit_time, max_seconds)
    done = subprocess.run(
        [command, "-e", script],
        capture_output=True,
        check=False,
        text=True,
        preexec_fn=limit,
    )
    if max_seconds is not None and done.returncode < 0:
        raise TooSlowError(f"R needed more than {max_seconds} s.")
    if done.returncode != 0:
        raise RuntimeError(f"R failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _limit_time(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


@cache
def has_r_package(name: str) -> bool:
    """Return whether Rscript can load a package."""
    if shutil.which("Rscript") is None:
        return False
    return run_r(f'cat(requireNamespace("{name}", quietly = TRUE))') == "TRUE"


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


RAW = Path(__file__).parent.parent / "results" / "clusters.jsonl"
MAX_ROWS = 8_000
"""Number of samples up to which a data set is used."""
LEAST_RIGHT, MOST_FAR = 0.75, 0.10
"""Bounds on the share of cases with the right number, and with one off by more than one."""
LEAST_NOT_LOWER = 0.6
"""Bound on the share of data sets on which the agreement is not lower than that of the rival."""
OWN, RIVAL = "opgd", "GaussianMixture"
NUMBERS = range(1, MAX_CLUSTERS + 1)

Measure = Callable[[], dict[str, Any]]


def read_raw(section: str) -> pd.DataFrame:
    """Return the results of a section so far."""
    if not RAW.exists():
        return pd.DataFrame({"section": [], "table": [], "seed": [], "method": []})
    raw = pd.read_json(RAW, lines=True)
    return raw[raw["section"] == section]


def record(section: str, tasks: Sequence[tuple[str, int, str, Measure]]) -> pd.DataFrame:
    """Measure what is missing of (table, seed, method, measure); return the results of all."""
    progress = Console(stderr=True)
    raw = read_raw(section)
    done = set(zip(raw["table"], raw["seed"], raw["method"], strict=True))
    for table, seed, method, measure in tasks:
        if (table, seed, method) in done:
            continue
        begin = _processor_seconds()
        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = measure()
            except TooSlowError as error:
                result = {"failed": str(error)}
        result["cpu"] = round(_processor_seconds() - begin, 2)
        line = {"section": section, "table": table, "seed": seed, "method": method, **result}
        with RAW.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        progress.print(f"{table} {seed} {method} {result}", style="dim")
    raw = read_raw(section)
    keys = {task[:3] for task in tasks}
    return raw[[key in keys for key in zip(raw["table"], raw["seed"], raw["method"], strict=True)]]


def _processor_seconds() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def _describe(clustering: Clustering, X: FloatArray, y: AnyArray) -> dict[str, Any]:
    """Return the results of a clustering for a line of `RAW`; outliers do not count."""
    clustered = y != OUTLIER
    agreement = adjusted_rand_score(y[clustered], clustering.labels[clustered])
    described = {
        "n_clusters": int(clustering.n_clusters),
        "ari": round(100 * agreement, 2),
        "silent": clustering.is_silently_degenerate(X),
    }
    if clustering.n_fitted is not None and clustering.n_fitted < len(X):
        described["n_fitted"] = clustering.n_fitted
    return described


def _format(entry: float, n_digits: int = 0) -> str:
    return "-" if np.isnan(entry) else f"{entry:.{n_digits}f}"


def _remark(raw: pd.DataFrame) -> str:
    """Return sentences on results of parts of the samples, and on missing ones."""
    raw = raw.reindex(columns=[*raw.columns.union(["failed", "n_fitted"], sort=False)])
    parts, failed = raw[raw["n_fitted"].notna()], raw[raw["failed"].notna()]
    sentences = [
        f" {row.method} was fitted to {row.n_fitted:.0f} samples of {row.table}."
        for row in parts.itertuples()
    ]
    for (method, reason), of_method in failed.groupby(["method", "failed"]):
        tables = of_method["table"].tolist()
        where = f"{len(tables)} tables" if len(tables) > len(NAMES) else ", ".join(tables)
        sentences.append(f" No result of {method} for {where}: {reason}")
    return "".join(sentences)


def _measure_case(case: Case, seed: int, method: str) -> dict[str, Any]:
    X, y = make_case(case, seed)
    if method == OWN:
        return _describe(fit_opgd(X, noise=case.outliers > 0), X, y)
    return _describe(list_rivals()[method](X, NUMBERS), X, y)


def show_numbers(console: Console, cases: list[Case] = CASES) -> bool:
    """Simulated cases with a known number of clusters; False if a bound is not kept."""
    methods = [OWN, *list_rivals()]
    tasks = [
        (case.name, seed, method, partial(_measure_case, case, seed, method))
        for method in methods
        for case in cases
        for seed in (JUDGING_SEEDS[:1] if method == "mclust" else JUDGING_SEEDS)
    ]
    raw = record("numbers", tasks)
    table, right, far = make_table(["case"], methods), {}, {}
    for case in cases:
        of_case = raw[raw["table"] == case.name]
        chosen = [of_case[of_case["method"] == method]["n_clusters"] for method in methods]
        table.add_row(case.name, *[" ".join(map(_format, column)) for column in chosen], "")
    true = {case.name: case.n_clusters for case in cases}
    errors = (raw["n_clusters"] - raw["table"].map(true)).abs()
    for method in methods:
        of_method = errors[raw["method"] == method].dropna()
        right[method] = float((of_method == 0).mean())
        far[method] = float((of_method > 1).mean())
    kept = right[OWN] >= LEAST_RIGHT and far[OWN] <= MOST_FAR
    table.add_section()
    table.add_row("right", *[f"{share:.0%}" for share in right.values()], "")
    shares = [f"{share:.0%}" for share in far.values()]
    table.add_row("off by more than one", *shares, verdict(kept))
    means = raw.groupby("method")["ari"].mean()
    table.add_row("mean adjusted Rand index", *[f"{means[method]:.1f}" for method in methods], "")
    how = (
        f"Numbers of clusters selected on {len(JUDGING_SEEDS)} seeds (mclust: one), with "
        f"noise=True where there are outliers. Bounds: right {LEAST_RIGHT:.0%}, off by more than "
        f"one {MOST_FAR:.0%}. Others: 1 to {MAX_CLUSTERS}, standardized; GaussianMixture and "
        f"mclust by BIC.{_remark(raw)}"
    )
    show(console, "Number of clusters", table, how)
    return kept


def show_sets(console: Console) -> bool:
    """Data sets of the paper, number selected; False if a bound is not kept."""
    return _show_sets(console, "clusters", NAMES)


def show_other_sets(console: Console) -> bool:
    """Data sets on which nothing was tuned, from the folder `more`."""
    small = [name for name in MORE if len(load(name).y) <= MAX_ROWS]
    return _show_sets(console, "other-clusters", small)


def _measure_set(name: str, method: str) -> dict[str, Any]:
    rows = load_standardized(name)
    if method == OWN:
        return _describe(fit_opgd(rows.X, NUMBERS), rows.X, rows.y)
    return _describe(list_rivals()[method](rows.X, NUMBERS), rows.X, rows.y)


def _show_sets(console: Console, section: str, names: list[str]) -> bool:
    methods = [OWN, *list_rivals()]
    tasks = [
        (name, 0, method, partial(_measure_set, name, method))
        for method in methods
        for name in names
    ]
    raw = record(section, tasks)
    wide = raw.pivot(index="table", columns="method", values="ari").loc[names, methods]
    numbers = raw.pivot(index="table", columns="method", values="n_clusters")
    silent = raw[(raw["method"] == OWN) & (raw["silent"] == 1)]["table"].tolist()
    table = make_table(["data set"], methods)
    for name in names:
        entries = [
            f"{_format(wide.at[name, m], 1)} ({_format(numbers.at[name, m])})" for m in methods
        ]
        table.add_row(name, *entries, verdict(False, "silent") if name in silent else "")
    not_lower = float((wide[OWN] >= wide[RIVAL]).mean())
    kept = bool(wide[OWN].mean() > wide[RIVAL].mean() and not_lower >= LEAST_NOT_LOWER)
    kept &= not silent
    table.add_section()
    table.add_row("mean", *[f"{mean:.1f}" for mean in wide.mean()], verdict(kept))
    how = (
        f"Adjusted Rand index times 100 (number of clusters), selected from 1 to {MAX_CLUSTERS}. "
        f"Not lower than GaussianMixture on {not_lower:.0%} of the data sets; bounds: mean above "
        f"it, {LEAST_NOT_LOWER:.0%}, no silent degenerate result.{_remark(raw)}"
    )
    show(console, "Clusters with a selected number", table, how)
    return kept
