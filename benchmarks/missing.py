"""Missing values: estimators that handle them, against imputers in front of the same ones."""

import json
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.metrics import adjusted_rand_score, log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline

from benchmarks.data import DataSet, load
from benchmarks.harness import (
    make_console,
    make_table,
    one_blas_thread,
    show,
    verdict,
)
from opgd import OPGDClassifier, OPGDMixture
from opgd.core.types import AnyArray, FloatArray

NAMES = ["wine", "vowel", "image_seg", "satellite", "glass", "seeds", "dermatology", "forest"]
MOST_ROWS = 1500
"""Maximum number of rows of a data set; of more, a random sample is taken."""
N_SPLITS = 10
CLASSIFIER_METHODS: dict[str, Callable[[], Any]] = {
    "native": OPGDClassifier,
    "median": lambda: make_pipeline(SimpleImputer(strategy="median"), OPGDClassifier()),
    "iterative": lambda: make_pipeline(IterativeImputer(random_state=0), OPGDClassifier()),
    "knn": lambda: make_pipeline(KNNImputer(), OPGDClassifier()),
}
CPU_BOUNDS = {0.1: 5.0, 0.3: 15.0}
"""CPU time of a fit at most this many times that of a complete table, by the share missing."""
LEAST_WINS = 6
BOUNDED = ("median", "iterative")
"""Methods than which the native one may not be worse by more than one standard error."""
RAW = Path(__file__).parent.parent / "results" / "missing_clusters.jsonl"
CELL = ["data", "share", "seed", "method"]
N_REMOVALS = 3
LEAST_INDEX = 0.6
"""Adjusted Rand index at least this many times that of the complete table, on every data set."""


def sample_rows(data: DataSet) -> DataSet:
    """At most `MOST_ROWS` random rows."""
    rows = np.sort(np.random.default_rng(0).permutation(len(data.X))[:MOST_ROWS])
    return DataSet(data.X[rows], data.y[rows])


def remove_cells(X: FloatArray, share: float, seed: int) -> FloatArray:
    """A copy in which each cell is missing with this probability."""
    drawn = np.random.default_rng(seed).uniform(size=X.shape)
    return np.where(drawn < share, np.nan, X)


def fit_quietly(model: Any, *data: Any) -> tuple[Any, float]:
    """The fitted model, and the CPU seconds that it took."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model.fit(*data)
        return model, time.process_time() - start


def evaluate_classifiers(data: DataSet, share: float) -> dict[str, FloatArray]:
    """Error, log-loss and CPU seconds of each method, and of complete tables, (n_splits, 3)."""
    splits = StratifiedShuffleSplit(N_SPLITS, train_size=0.5, random_state=0)
    results: dict[str, list[list[float]]] = {}
    for seed, (train, test) in enumerate(splits.split(data.X, data.y)):
        missing = remove_cells(data.X, share, seed)
        tables = {name: (make, missing) for name, make in CLASSIFIER_METHODS.items()}
        for name, (make, X) in (tables | {"complete": (OPGDClassifier, data.X)}).items():
            model, seconds = fit_quietly(make(), X[train], data.y[train])
            posteriors = model.predict_proba(X[test])
            error = np.mean(model.classes_[posteriors.argmax(axis=1)] != data.y[test])
            loss = log_loss(data.y[test], posteriors, labels=model.classes_)
            results.setdefault(name, []).append([float(error), loss, seconds])
    return {name: np.array(rows) for name, rows in results.items()}


def show_missing(console: Console) -> bool:
    """Error and log-loss of OPGDClassifier with 10 % and 30 % of the cells removed."""
    all_kept = True
    with one_blas_thread():
        for share, bound in CPU_BOUNDS.items():
            results = {name: evaluate_classifiers(sample_rows(load(name)), share) for name in NAMES}
            for column, measure in enumerate(("error", "log-loss")):
                all_kept &= _show_measure(console, results, share, column, measure)
            all_kept &= _show_seconds(console, results, share, bound)
    return all_kept


def _show_measure(
    console: Console,
    results: dict[str, dict[str, FloatArray]],
    share: float,
    column: int,
    measure: str,
) -> bool:
    methods = [*CLASSIFIER_METHODS, "complete"]
    table = make_table(["data set"], methods, "native better than median")
    means = np.array([[results[n][m][:, column].mean() for m in methods] for n in results])
    for name, row in zip(results, means, strict=True):
        table.add_row(name, *[f"{mean:.4f}" for mean in row], "yes" if row[0] < row[1] else "no")
    table.add_row("mean", *[f"{mean:.4f}" for mean in means.mean(axis=0)])
    n_better = int(np.sum(means[:, 0] < means[:, 1]))
    kept = n_better >= LEAST_WINS
    lines = [f"better than median on {n_better} of {len(means)}"]
    for method in CLASSIFIER_METHODS:
        if method != "native":
            step, deviation = compare_methods(results, "native", method, column)
            lines.append(f"native - {method}: {step:+.4f} +- {deviation:.4f}")
            kept &= method not in BOUNDED or step <= deviation
    table.add_row("", *[""] * len(methods), verdict(kept))
    show(
        console,
        f"{measure} with {share:.0%} of the cells missing",
        table,
        "; ".join(lines) + f". Means of {N_SPLITS} random halves; differences with paired standard "
        f"errors. Bounds: not worse than {' and '.join(BOUNDED)} by more than one standard error, "
        f"better than median on {LEAST_WINS}.",
    )
    return kept


def compare_methods(
    results: dict[str, dict[str, FloatArray]], first: str, second: str, column: int
) -> tuple[float, float]:
    """Mean difference over the data sets, and its standard error from the paired splits."""
    steps = np.array([r[first][:, column] - r[second][:, column] for r in results.values()])
    variances = steps.var(axis=1, ddof=1) / steps.shape[1]
    return float(steps.mean()), float(np.sqrt(variances.sum()) / len(steps))


def _show_seconds(
    console: Console, results: dict[str, dict[str, FloatArray]], share: float, bound: float
) -> bool:
    methods = [*CLASSIFIER_METHODS, "complete"]
    table = make_table(["data set"], [*methods, "native / complete"])
    all_kept = True
    for name, rows in results.items():
        seconds = [float(np.median(rows[method][:, 2])) for method in methods]
        kept = seconds[0] <= bound * seconds[-1]
        all_kept &= kept
        numbers = [f"{spent:.3f}" for spent in seconds]
        table.add_row(name, *numbers, f"{seconds[0] / seconds[-1]:.1f}", verdict(kept))
    how = f"Median of {N_SPLITS} fits. Bound: {bound:g} times the CPU time of a complete fit."
    show(console, f"CPU seconds of a fit with {share:.0%} of the cells missing", table, how)
    return all_kept


def _cluster_complete(X: FloatArray, n_clusters: int) -> AnyArray:
    model = fit_quietly(OPGDMixture(n_clusters, random_state=0), X)[0]
    labels: AnyArray = model.labels_
    return labels


def _impute_and_cluster(make: Callable[[], Any], X: FloatArray, n_clusters: int) -> AnyArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _cluster_complete(make().fit_transform(X), n_clusters)


IMPUTERS: dict[str, Callable[[], Any]] = {
    "median": lambda: SimpleImputer(strategy="median"),
    "iterative": lambda: IterativeImputer(random_state=0),
    "knn": KNNImputer,
}


CLUSTER_METHODS = ["native", *IMPUTERS, "complete"]


def evaluate_mixture(data: DataSet, share: float, seed: int, method: str) -> float:
    """Adjusted Rand index of one method after one removal of cells."""
    n_clusters, X = len(np.unique(data.y)), data.X
    if method != "complete":
        X = remove_cells(X, share, seed)
    if method in IMPUTERS:
        labels = _impute_and_cluster(IMPUTERS[method], X, n_clusters)
    else:
        labels = _cluster_complete(X, n_clusters)
    return float(adjusted_rand_score(data.y, labels))


def read_clusters() -> pd.DataFrame:
    """Results so far: data set, share, seed, method and index."""
    lines = RAW.read_text(encoding="utf-8").splitlines() if RAW.exists() else []
    return pd.DataFrame(map(json.loads, lines), columns=[*CELL, "index"])


def record_clusters(console: Console) -> pd.DataFrame:
    """Measure what is missing, line by line, so that an interrupted run can be resumed."""
    known = set(read_clusters()[CELL].itertuples(index=False, name=None))
    for seed, share, name in product(range(N_REMOVALS), CPU_BOUNDS, NAMES):
        data = sample_rows(load(name))
        for method in CLUSTER_METHODS:
            cell = (name, 0.0, 0, method) if method == "complete" else (name, share, seed, method)
            if cell in known:
                continue
            index = evaluate_mixture(data, share, seed, method)
            line = dict(zip(CELL, cell, strict=True)) | {"index": index}
            with RAW.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            known.add(cell)
            console.print(f"{name} {share:.0%} {seed} {method} {100 * index:.1f}", style="dim")
    return read_clusters()


def show_missing_clusters(console: Console) -> bool:
    """Adjusted Rand index of OPGDMixture with 10 % and 30 % of the cells removed."""
    with one_blas_thread():
        raw = record_clusters(make_console())  # progress is not part of what is saved
    all_kept = True
    for share in CPU_BOUNDS:
        rows = {name: _select_cells(raw, name, share) for name in NAMES}
        all_kept &= _show_clusters(console, rows, share)
    return all_kept


def _select_cells(raw: pd.DataFrame, name: str, share: float) -> dict[str, FloatArray]:
    """Indices of each method, (n_removals, 1)."""
    of_set = raw[(raw["data"] == name) & raw["share"].isin([0.0, share])].sort_values("seed")
    indices = {m: of_set.loc[of_set["method"] == m, "index"].to_numpy() for m in CLUSTER_METHODS}
    return {m: np.resize(values, N_REMOVALS)[:, None] for m, values in indices.items()}


def _show_clusters(console: Console, rows: dict[str, dict[str, FloatArray]], share: float) -> bool:
    table = make_table(["data set"], CLUSTER_METHODS, "native / complete")
    means = 100 * np.array([[row[m].mean() for m in CLUSTER_METHODS] for row in rows.values()])
    kept = bool(np.all(means[:, 0] >= LEAST_INDEX * means[:, -1]))
    for name, row in zip(rows, means, strict=True):
        table.add_row(name, *[f"{mean:.1f}" for mean in row], f"{row[0] / row[-1]:.2f}")
    table.add_row("mean", *[f"{mean:.1f}" for mean in means.mean(axis=0)])
    lines = []
    for method in CLUSTER_METHODS[1:]:
        step, deviation = compare_methods(rows, "native", method, 0)
        lines.append(f"native - {method}: {100 * step:+.1f} +- {100 * deviation:.1f}")
        kept &= method not in BOUNDED or step >= -deviation
    table.add_row("", *[""] * len(CLUSTER_METHODS), verdict(kept))
    show(
        console,
        f"Adjusted Rand index x 100 of OPGDMixture with {share:.0%} of the cells missing",
        table,
        "; ".join(lines) + f". Means of {N_REMOVALS} removals; the number of clusters is that of "
        f"the classes. Bounds: not worse than {' and '.join(BOUNDED)} by more than one standard "
        f"error, on every data set at least {LEAST_INDEX:g} times the index of the complete table.",
    )
    return kept
