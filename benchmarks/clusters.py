"""Number of clusters and agreement with classes, beside other methods that select a number.

Results of single fits are kept in `RAW`, a line each, so that an interrupted run goes on where it
ended; delete lines to measure again.
"""

import json
import os
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from sklearn.metrics import adjusted_rand_score

from benchmarks.cluster_cases import CASES, JUDGING_SEEDS, OUTLIER, Case, make_case
from benchmarks.cluster_methods import (
    MAX_CLUSTERS,
    R_TABLES,
    Clustering,
    fit_mclust,
    fit_opgd,
    has_mclust,
    list_rivals,
    load_r_table,
)
from benchmarks.clustering import standardized
from benchmarks.data import NAMES, load
from benchmarks.defaults import OTHERS
from benchmarks.harness import make_table, one_blas_thread, show, verdict
from benchmarks.r import TooSlowError
from opgd import OPGDMixture
from opgd.core.types import AnyArray, FloatArray

RAW = Path(__file__).parent.parent / "results" / "clusters.jsonl"
MAX_ROWS = 8_000
"""Number of samples up to which a data set is used."""
LEAST_RIGHT, MOST_FAR = 0.75, 0.10
"""Bounds on the share of cases with the right number, and with one off by more than one."""
LEAST_NOT_LOWER = 0.6
"""Bound on the share of data sets on which the agreement is not lower than that of the rival."""
N_GIVEN_SEEDS = 10
LEAST_GIVEN, LEAST_CRABS = 57.0, 70.0
"""Bounds on the adjusted Rand index, times 100, for given numbers: mean of the sets, and crabs."""
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
    names = [f"more/{name}" for name in OTHERS]
    small = [name for name in names if len(load(name).y) <= MAX_ROWS]
    return _show_sets(console, "other-clusters", small)


def _measure_set(name: str, method: str) -> dict[str, Any]:
    rows = standardized(name)
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


def _load_given(name: str) -> tuple[FloatArray, AnyArray]:
    data = load_r_table(name) if name in R_TABLES else standardized(name)
    return data.X, data.y


def _measure_given(name: str, method: str, seed: int) -> dict[str, Any]:
    X, y = _load_given(name)
    number = len(np.unique(y))
    if method != OWN:
        # mclust's models depend on the units, and those of its tables are the same or meaningful
        clustering = (
            fit_mclust(X, [number], scale=name not in R_TABLES)
            if method == "mclust"
            else list_rivals()[method](X, [number])
        )
        return _describe(clustering, X, y)
    model = OPGDMixture(number, random_state=seed).fit(X)
    start, final = (
        100 * adjusted_rand_score(y, labels) for labels in (model.initial_labels_, model.labels_)
    )
    return {"start": round(start, 2), "ari": round(final, 2)}


def show_given(console: Console) -> bool:
    """Data sets with the number of classes given; False if a bound is not kept."""
    with_r = has_mclust()
    names = [*NAMES, *(R_TABLES if with_r else [])]
    rivals = ["GaussianMixture", "k-means", *(["mclust"] if with_r else [])]
    tasks = [
        (name, seed, OWN, partial(_measure_given, name, OWN, seed))
        for seed in range(N_GIVEN_SEEDS)
        for name in names
    ]
    tasks += [
        (name, 0, rival, partial(_measure_given, name, rival, 0))
        for rival in rivals
        for name in names
    ]
    raw = record("given-clusters", tasks)
    own = raw[raw["method"] == OWN].pivot_table(index="table", columns="seed", values="ari")
    starts = raw[raw["method"] == OWN].groupby("table")["start"].mean()
    others = raw[raw["method"] != OWN].pivot(index="table", columns="method", values="ari")
    failed = {
        name: own.loc[name].mean() < bound
        for name, bound in (("seeds", starts["seeds"]), ("crabs", LEAST_CRABS))
        if name in names
    }
    table = make_table(["data set"], ["start", "final", "deviation over seeds", *rivals])
    for name in names:
        entries = [
            starts[name],
            own.loc[name].mean(),
            own.loc[name].std(),
            *others.loc[name, rivals],
        ]
        remark = verdict(False, "below") if failed.get(name) else ""
        table.add_row(name, *[_format(entry, 1) for entry in entries], remark)
    means = own.loc[NAMES].mean()
    kept = bool(means.mean() >= LEAST_GIVEN) and not any(failed.values())
    table.add_section()
    entries = [starts[NAMES].mean(), means.mean(), means.std(), *others.loc[NAMES, rivals].mean()]
    formatted = [f"{entry:.2f}" for entry in entries]
    table.add_row("mean of the paper's", *formatted, verdict(kept, "below"))
    how = (
        f"Adjusted Rand index times 100, {N_GIVEN_SEEDS} seeds. Bounds: mean {LEAST_GIVEN:g}, "
        f"seeds not below its start, crabs {LEAST_CRABS:g}. Others: one seed, model by BIC."
        f"{_remark(raw)}"
    )
    show(console, "Clusters with a given number", table, how)
    return kept
