"""OPGDMixture: what refining a mixture changes (the paper's Table 2), and what it costs."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import Progress
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.mixture import GaussianMixture

from benchmarks.data import NAMES, load
from benchmarks.harness import fastest, make_table, one_blas_thread, show, verdict
from opgd import DataWarning, OPGDMixture
from opgd.core.types import AnyArray, FloatArray
from opgd.experiments.paper import CLUSTERING as PAPER_TABLE

N_SEEDS = 20
N_FEWER_SEEDS = 5
"""For each orthogonality."""
N_PROCESSES = 2
N_RUNS = 3
LEAST_MEAN_CHANGE = 1.5
LEAST_CHANGE = -1.5
"""Points of the adjusted Rand index (times 100): mean over the data sets, and of each of them."""
ORTHOGONALITIES = [0.1, 1.0, 10.0]
MOST_COST = {"satellite": 1.0, "opt_digits": 1.0, "texture": 1.0, "pen_digits": 1.3}
"""Seconds of the refinement for each second of fitting the mixture that is refined."""
MEASURES = ["adjusted Rand index", "normalized mutual information"]


@dataclass(frozen=True)
class Rows:
    """Standardized columns of a data set, and its classes."""

    X: FloatArray  # (n_samples, n_features)
    y: AnyArray  # (n_samples,)

    @property
    def n_clusters(self) -> int:
        """As many clusters as there are classes."""
        return len(np.unique(self.y))


def standardized(name: str) -> Rows:
    """Columns of mean zero and variance one (divisor n); constant ones are zero."""
    data = load(name)
    centered = data.X - data.X.mean(axis=0)
    spread = centered.std(axis=0)
    constant = np.ptp(data.X, axis=0) == 0
    return Rows(np.where(constant, 0.0, centered / np.where(constant, 1.0, spread)), data.y)


def agreement(y: AnyArray, labels: AnyArray) -> tuple[float, float]:
    """The measures, times 100."""
    information = normalized_mutual_info_score(y, labels, average_method="geometric")
    return 100 * adjusted_rand_score(y, labels), 100 * information


def refined(rows: Rows, seed: int, parameters: dict[str, Any]) -> FloatArray:
    """Agreement before and after the refinement, (2: before and after, 2 measures)."""
    model = OPGDMixture(rows.n_clusters, random_state=seed, **parameters)
    with one_blas_thread(), warnings.catch_warnings():  # here: other processes have their own
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DataWarning)
        model.fit(rows.X)
    return np.array([agreement(rows.y, own) for own in (model.initial_labels_, model.labels_)])


def refinements(
    console: Console, data: dict[str, Rows], n_seeds: int, **parameters: Any
) -> dict[str, FloatArray]:
    """Agreements of all replications, (n_seeds, 2: before and after, 2 measures) by data set."""
    jobs = [(name, seed) for name in data for seed in range(n_seeds)]
    calls = (delayed(refined)(data[name], seed, parameters) for name, seed in jobs)
    label = ", ".join(f"{key}={value}" for key, value in parameters.items())
    found: dict[str, list[FloatArray]] = {name: [] for name in data}
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(label, total=len(jobs))
        results = Parallel(n_jobs=N_PROCESSES, return_as="generator")(calls)
        for (name, _), result in zip(jobs, results, strict=True):
            found[name].append(result)
            progress.advance(task)
    return {name: np.array(own) for name, own in found.items()}


def sum_of(start: float, change: float) -> str:
    """An entry of the paper's table."""
    return f"{start:.1f}{change:+.1f}"


def entries(outcomes: FloatArray) -> list[str]:
    """Average, best and worst change of one measure; (n_seeds, 2: before, after)."""
    starts, changes = outcomes[:, 0], outcomes[:, 1] - outcomes[:, 0]
    best, worst = np.argmax(changes), np.argmin(changes)
    return [
        sum_of(starts.mean(), changes.mean()),
        sum_of(starts[best], changes[best]),
        sum_of(starts[worst], changes[worst]),
    ]


def final(found: Iterable[FloatArray]) -> FloatArray:
    """Final ARI, its mean over data sets, (n_seeds,)."""
    means: FloatArray = np.mean([own[:, 1, 0] for own in found], axis=0)
    return means


def show_changes(
    console: Console, data: dict[str, Rows], found: dict[str, FloatArray], metric: str, bound: bool
) -> bool:
    """The paper's Table 2; with `bound`, False if the refinement changes too much for the worse."""
    changes = {name: (own[:, 1, 0] - own[:, 0, 0]).mean() for name, own in found.items()}
    how = (
        f'Start + change: average, best and worst change of {_n_seeds(found)} seeds; init="kmeans".'
    )
    headings = ["n,d,k", "average", "best", "worst", "paper's average"]
    for column, measure in enumerate(MEASURES):
        table = make_table(["data set"], headings)
        for name, own in found.items():
            sizes = ",".join(map(str, (*data[name].X.shape, data[name].n_clusters)))
            paper = sum_of(*PAPER_TABLE[name][2 * column : 2 * column + 2])
            judged = bound and column == 0
            remark = verdict(changes[name] >= LEAST_CHANGE, "below") if judged else ""
            table.add_row(name, sizes, *entries(own[:, :, column]), paper, remark)
        show(console, f'Table 2, metric="{metric}": {measure}, times 100', table, how)
    mean, least = np.mean(list(changes.values())), min(changes, key=lambda name: changes[name])
    kept = bool(mean >= LEAST_MEAN_CHANGE and changes[least] >= LEAST_CHANGE)
    limits = f"Bounds {LEAST_MEAN_CHANGE:+} and {LEAST_CHANGE:+}:"
    judgement = [limits, verdict(kept, "below")] if bound else []
    paper_mean = np.mean([PAPER_TABLE[name][1] for name in found])
    console.print(
        f'\nmetric="{metric}": mean of the average changes of ARI {mean:+.2f} (the paper\'s '
        f"{paper_mean:+.2f}), the smallest {changes[least]:+.2f} on {least}.",
        *judgement,
    )
    return kept or not bound


def _n_seeds(found: dict[str, FloatArray]) -> int:
    return len(next(iter(found.values())))


def show_table(console: Console) -> bool:
    """Refinements with both metrics, and what "auto" adds; False if a bound is not kept."""
    data = {name: standardized(name) for name in NAMES}
    found, kept = {}, True
    for metric, bound in (("covariance", True), ("identity", False)):
        found[metric] = refinements(console, data, N_SEEDS, metric=metric, init="kmeans")
        kept &= show_changes(console, data, found[metric], metric, bound)
    return show_starts(console, data, final(found["covariance"].values())) and kept


def show_starts(console: Console, data: dict[str, Rows], kmeans: FloatArray) -> bool:
    """Beside the final ARI of "kmeans", (n_seeds,), that of "auto"; False if it is not higher."""
    found = refinements(console, data, len(kmeans), metric="covariance", init="auto")
    auto = final(found.values())
    difference = auto - kmeans
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    kept = bool(difference.mean() > 0)
    console.print(
        f'\nMean final ARI, metric="covariance", {len(kmeans)} seeds: init="auto" '
        f'{auto.mean():.2f}, init="kmeans" {kmeans.mean():.2f}; difference '
        f"{difference.mean():+.2f}, standard error over seeds {error:.2f}. Bound 0:",
        verdict(kept, "below"),
    )
    return kept


def show_orthogonality(console: Console) -> bool:
    """Final agreement under weak and strong penalties."""
    data = {name: standardized(name) for name in NAMES}
    found = [
        refinements(console, data, N_FEWER_SEEDS, init="kmeans", orthogonality=weight)
        for weight in ORTHOGONALITIES
    ]
    table = make_table(["data set"], [f"{weight:g}" for weight in ORTHOGONALITIES])
    for name in NAMES:
        table.add_row(name, *[f"{final([own[name]]).mean():.1f}" for own in found])
    table.add_section()
    table.add_row("mean", *[f"{final(own.values()).mean():.2f}" for own in found])
    how = f'Mean final ARI of {N_FEWER_SEEDS} seeds, metric="covariance", init="kmeans".'
    show(console, "Weight of the penalty, orthogonality", table, how)
    return True


def show_refinement(console: Console) -> bool:
    """Seconds of the refinement beside those of the mixture; False if above a bound."""
    headings = ["clusters", "mixture, s", "refinement, s", "ratio", "bound"]
    table = make_table(["data set"], headings)
    all_kept = True
    for name, bound in MOST_COST.items():
        rows = standardized(name)
        mixture = GaussianMixture(rows.n_clusters, random_state=0, max_iter=200)
        model = OPGDMixture(rows.n_clusters, init=mixture)
        seconds = fastest(  # the mixture first: the refinement starts from it as it is then
            {"mixture": partial(mixture.fit, rows.X), "refinement": partial(model.fit, rows.X)},
            N_RUNS,
        )
        ratio = seconds["refinement"] / seconds["mixture"]
        kept = ratio <= bound
        all_kept &= kept
        numbers = [f"{own:.2f}" for own in (*seconds.values(), ratio)]
        table.add_row(name, str(rows.n_clusters), *numbers, f"{bound:.1f}", verdict(kept))
    how = (
        f"Best of {N_RUNS} in turns: scikit-learn's GaussianMixture with full covariances from "
        "k-means, and OPGDMixture from that mixture; standardized columns, one thread."
    )
    show(console, "Cost of the refinement", table, how)
    return all_kept
