"""The public benchmark: OPGD beside the usual classifiers, written into the documentation."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console

from benchmarks.data import BUNDLED, MORE, NAMES
from benchmarks.selection import METHODS, N_SPLITS, TEST_SHARE, Summary, record

OURS = "opgd"
DECIMALS = 12
"""Means that agree in these decimals are ties."""


@dataclass(frozen=True)
class Group:
    """Data sets that were used alike while the package was developed."""

    name: str
    title: str
    tables: list[str]


UNTUNED = Group("more", "Never used for tuning", MORE)
SHIPPED = Group("bundled", "scikit-learn's data sets", list(BUNDLED))
PAPER = Group("paper", "The paper's data sets", NAMES)
GROUPS = [UNTUNED, SHIPPED, PAPER]
ALL = Group("all", "All data sets", [table for group in GROUPS for table in group.tables])


def list_complete(raw: pd.DataFrame) -> list[str]:
    """Return the methods that have results of all splits of all data sets.

    Raise ValueError if OPGD is not among them.
    """
    counts = raw.pivot_table(index="table", columns="method", values="seed", aggfunc="nunique")
    complete = (counts.reindex(ALL.tables) == N_SPLITS).all()
    methods = [method for method in METHODS if complete.get(method, False)]
    if OURS not in methods:
        raise ValueError(
            "Results of OPGD are not complete; run python -m benchmarks public-benchmark."
        )
    return methods


@dataclass(frozen=True)
class Results:
    """Results of all methods on some data sets, a row of `raw` for each fit."""

    raw: pd.DataFrame

    @classmethod
    def select(cls, raw: pd.DataFrame, group: Group) -> "Results":
        """Select the results of complete methods on a group of data sets."""
        methods = list_complete(raw)
        return cls(raw[raw["table"].isin(group.tables) & raw["method"].isin(methods)])

    def means(self, value: str) -> pd.DataFrame:
        """Return means over splits, for the methods that have the value, (n_tables, n_methods)."""
        means = Summary(self.raw).mean(value).round(DECIMALS)
        return means[[method for method in METHODS if method in means]]

    @cached_property
    def errors(self) -> pd.DataFrame:
        """Mean test errors, (n_tables, n_methods)."""
        return self.means("error")

    @cached_property
    def losses(self) -> pd.DataFrame:
        """Mean log-losses, without the SVC, (n_tables, n_methods)."""
        return self.means("loss")

    @cached_property
    def seconds(self) -> pd.DataFrame:
        """Mean CPU seconds of a fit, selection of parameters included, (n_tables, n_methods)."""
        return self.means("cpu")

    def rank(self, value: str) -> pd.Series:
        """Return the mean ranks of the methods over data sets; 1 is the lowest mean."""
        return self.means(value).rank(axis=1).mean()

    def compare(self, value: str, method: str) -> pd.DataFrame:
        """Return OPGD minus a method by data set: mean `difference` and `standard_error`.

        Training sets overlap, so that the variance of a mean over splits is larger than that of
        independent ones: Nadeau & Bengio, "Inference for the Generalization Error", 2003.
        """
        wide = self.raw.pivot_table(index=["table", "seed"], columns="method", values=value)
        steps = (wide[OURS] - wide[method]).unstack("seed")
        factor = 1 / N_SPLITS + TEST_SHARE / (1 - TEST_SHARE)
        errors = np.sqrt(factor * steps.var(axis=1, ddof=1))
        return pd.DataFrame({"difference": steps.mean(axis=1), "standard_error": errors})

    def find_better(self, value: str) -> pd.DataFrame:
        """Return data sets on which another method has a lower mean, largest differences first.

        Columns are `ours`, the best `method`, `best` (its mean), `difference` and `standard_error`.
        """
        means = self.means(value)
        others = means.drop(columns=OURS)
        rows = pd.DataFrame(
            {"ours": means[OURS], "method": others.idxmin(axis=1), "best": others.min(axis=1)}
        )
        rows["difference"] = rows["ours"] - rows["best"]
        pairs = {method: self.compare(value, method) for method in others}
        rows["standard_error"] = [
            pairs[method].loc[table, "standard_error"] for table, method in rows["method"].items()
        ]
        return rows[rows["difference"] > 0].sort_values("difference", ascending=False)


LABELS = {
    "opgd": "OPGD",
    "lda": "LDA",
    "logistic": "logistic",
    "forest": "forest",
    "svc": "SVC",
    "boosting": "boosting",
    "qda": "QDA",
    "rda": "RDA",
    "knn": "k-NN",
    "nca_knn": "NCA + k-NN",
}
TEXT_COLUMNS = ["data set", "method", "OPGD beside", "lowest error"]


def write_comparison(results: Results) -> str:
    """Return a table with OPGD beside each method."""
    rows = []
    for method in results.errors.columns.drop(OURS):
        pairs = results.compare("error", method)
        low = pairs["difference"] < -2 * pairs["standard_error"]
        high = pairs["difference"] > 2 * pairs["standard_error"]
        ratios = results.seconds[OURS] / results.seconds[method]
        cells = [
            LABELS[method],
            f"{100 * pairs['difference'].mean():+.2f}",
            f"{(pairs['difference'] < 0).sum()} ({low.sum()})",
            f"{(pairs['difference'] > 0).sum()} ({high.sum()})",
        ]
        if method in results.losses:
            lower = results.losses[OURS] - results.losses[method]
            cells += [str((lower < 0).sum()), str((lower > 0).sum())]
        else:
            cells += ["", ""]
        rows.append([*cells, f"{float(f'{ratios.median():.2g}'):g}"])
    headings = ["OPGD beside", "error, points", "lower on", "higher on"]
    headings += ["log-loss lower on", "higher on", "seconds, ratio"]
    return write_table(headings, rows)


def write_means(group: Group, results: Results, value: str) -> str:
    """Return a table of means, with the lowest of each data set in bold, and a last row."""
    means = results.means(value)
    rows = []
    for table in group.tables:
        cells = [format_mean(value, mean) for mean in means.loc[table]]
        lowest = format_mean(value, means.loc[table].min())
        rows.append([short(table), *[f"**{cell}**" if cell == lowest else cell for cell in cells]])
    if value == "cpu":
        rows.append(["median", *[format_mean(value, median) for median in means.median()]])
    else:
        rows.append(["mean", *[format_mean(value, mean) for mean in means.mean()]])
        ranks = means.rank(axis=1).mean()
        rows.append(["mean rank", *[f"{rank:.2f}" for rank in ranks]])
    return write_table(["data set", *[LABELS[method] for method in means]], rows)


def write_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table in which columns of numbers are aligned to the right."""
    rules = ["---" if heading in TEXT_COLUMNS else "---:" for heading in headings]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [headings, rules, *rows])


def short(table: str) -> str:
    """Return the name of a data set without its folder."""
    return table.removeprefix("more/")


def enumerate_names(names: Sequence[str]) -> str:
    """Return names with commas and a final "and"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def format_mean(value: str, mean: float) -> str:
    """Return an error in percent, a log-loss, or seconds."""
    if value == "cpu":
        return format_seconds(mean)
    return f"{100 * mean:.2f}" if value == "error" else f"{mean:.3f}"


def format_seconds(seconds: float) -> str:
    """Return seconds with two or three significant digits."""
    digits = 0 if seconds >= 10 else 1 if seconds >= 1 else 2 if seconds >= 0.1 else 3
    return f"{seconds:.{digits}f}"


TREES = ["forest", "boosting"]
VALUES = {"error": "Test errors, %", "loss": "Log-losses", "cpu": "CPU seconds of a fit"}


def fill_page(page: str, raw: pd.DataFrame) -> str:
    """Return the page with every generated block written anew.

    Parameters
    ----------
    page : str
        Markdown, with blocks between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``.
    raw : DataFrame
        Results of single fits, as `selection.read_raw` returns them.
    """
    for name, text in write_blocks(raw).items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
        if (page.count(begin), page.count(end)) != (1, 1):
            raise ValueError(f"The page must have one block {name!r}, with a begin and an end.")
        before, after = page.split(begin)[0], page.split(end)[1]
        page = f"{before}{begin}\n{text}\n\n{end}{after}"
    return page


def write_blocks(raw: pd.DataFrame) -> dict[str, str]:
    """Return the generated Markdown by name of its block."""
    results = {group.name: Results.select(raw, group) for group in [*GROUPS, ALL]}
    blocks = {
        "summary": "\n".join(
            [
                f"{len(results['all'].errors.columns)} methods, {len(ALL.tables)} data sets:\n",
                *[f"- {describe_group(group, results[group.name])}" for group in GROUPS],
                f"- **Time**: {describe_seconds(results['all'])}",
            ]
        ),
        "losses": describe_losses(results["all"]),
    }
    for group in GROUPS:
        blocks[group.name] = write_group(group, results[group.name])
    ranks = {group.title: results[group.name].rank("error") for group in [*GROUPS, ALL]}
    blocks["all"] = write_table(
        ["method", *[title.lower() for title in ranks]],
        [
            [LABELS[str(method)], *[f"{of_group[method]:.2f}" for of_group in ranks.values()]]
            for method in ranks[ALL.title].sort_values().index
        ],
    )
    return blocks


def describe_group(group: Group, results: Results) -> str:
    """Return sentences on how OPGD compares with the others on a group of data sets."""
    n_tables = len(group.tables)
    return (
        f"**{group.title} ({n_tables} data sets)**: of {n_tables}, OPGD has the lowest mean error "
        f"on {count_lowest(results.errors)} and the lowest log-loss on "
        f"{count_lowest(results.losses)}. "
        f"{describe_rank('error', results.rank('error'))} "
        f"{describe_rank('log-loss', results.rank('loss'))}"
    )


def describe_seconds(results: Results) -> str:
    """Return a sentence on the CPU seconds of all methods."""
    seconds = results.seconds.median().sort_values()
    times = [f"{LABELS[str(key)]} {format_seconds(value)}" for key, value in seconds.items()]
    return (
        f"Median CPU seconds of a fit, over all data sets: {', '.join(times)} "
        "([on different processors](#methods))."
    )


def count_lowest(means: pd.DataFrame) -> int:
    """Return on how many data sets no method has a lower mean than OPGD."""
    return int((means[OURS] <= means.min(axis=1)).sum())


def describe_rank(value: str, ranks: pd.Series) -> str:
    """Return a sentence on the mean rank of OPGD and the best of the others."""
    ours, others = ranks[OURS], ranks.drop(OURS)
    best = f"{others.min():.1f} ({LABELS[str(others.idxmin())]})"
    return (
        f"By {value}, its mean rank is {ours:.2f} of {len(ranks)}; the best of the others "
        f"is {best}."
    )


def describe_losses(results: Results) -> str:
    """Return where and by how much another method is better, largest differences first."""
    n_tables = len(ALL.tables)
    better = results.find_better("error")
    clear = better[better["difference"] > 2 * better["standard_error"]]
    of_trees = clear[clear["method"].isin(TREES)]
    n_clear, n_trees = len(clear), len(of_trees)
    where = f"all {n_clear}" if n_trees == n_clear else f"{n_trees} of the {n_clear}"
    largest = better.iloc[0]
    loss = results.find_better("loss")
    worst = loss.iloc[0]
    sentences = [
        f"On {len(better)} of {n_tables} data sets another method has a lower mean error, on "
        f"{len(clear)} of them by more than two standard errors. Of the {len(MORE)} data "
        f"sets that were never used for tuning, these are {better.index.isin(MORE).sum()} "
        f"and {clear.index.isin(MORE).sum()}.",
        f"On {where} with such a difference, the lowest error is that of a forest or of boosting: "
        f"{enumerate_names([short(table) for table in of_trees.index])}."
        if len(of_trees)
        else "",
        f"The largest difference is that on {short(better.index[0])}: "
        f"{100 * largest['ours']:.1f} % against {100 * largest['best']:.1f} % of "
        f"{LABELS[largest['method']]}.",
        f"Another method has a lower log-loss on {len(loss)} of {n_tables}; the largest difference "
        f"is that on {short(loss.index[0])}: {worst['ours']:.2f} against {worst['best']:.2f} of "
        f"{LABELS[worst['method']]}.",
    ]
    rows = [
        [
            short(table),
            f"{100 * row['ours']:.2f}",
            LABELS[row["method"]],
            f"{100 * row['best']:.2f}",
            f"{100 * row['difference']:.2f}",
            f"{100 * row['standard_error']:.2f}",
        ]
        for table, row in better.iterrows()
    ]
    headings = ["data set", "OPGD, %", "lowest error", "%", "difference", "standard error"]
    table = write_table(headings, rows)
    return " ".join(filter(None, sentences)) + "\n\n" + table


def write_group(group: Group, results: Results) -> str:
    """Return comparison and all tables of a group of data sets."""
    parts = [write_comparison(results)]
    for value, title in VALUES.items():
        parts += [f"### {title}: {group.title[0].lower()}{group.title[1:]}"]
        parts += [write_means(group, results, value)]
    return "\n\n".join(parts)


PAGE = Path(__file__).parent.parent / "docs" / "public_benchmark.md"


def show_public_benchmark(console: Console) -> bool:
    """Measure what is missing, and write tables and sentences into the page."""
    raw = record(ALL.tables, list(METHODS), console)
    PAGE.write_text(fill_page(PAGE.read_text("utf-8"), raw), encoding="utf-8")
    console.print(f"Written: {PAGE.name}.")
    return True
