"""The generated parts of docs/public_benchmark.md: tables and sentences from raw results."""

from collections.abc import Sequence

import pandas as pd

from benchmarks.classifiers import MAX_ALPHAS, MAX_GRID_ROWS, MAX_NCA_ROWS, NEIGHBORS, SHRINKAGES
from benchmarks.public_data import ALL, GROUPS, MORE, OURS, RANKED, Group, Results, list_complete
from benchmarks.public_tables import (
    LABELS,
    enumerate_names,
    format_seconds,
    short,
    write_comparison,
    write_means,
    write_sources,
    write_table,
)
from benchmarks.ranks import Ranking

TREES = ["forest", "boosting"]
DESCRIPTIONS = {
    "opgd": "`OPGDClassifierCV()`, default arguments",
    "lda": "`LinearDiscriminantAnalysis()`",
    "logistic": "`LogisticRegression(max_iter=3000)` on standardized features",
    "forest": "`RandomForestClassifier(500)`",
    "svc": "`SVC` with RBF kernel on standardized features, `C` and `gamma` from a grid of 5 x 5 "
    f"by 5 folds, on a stratified sample of {MAX_GRID_ROWS} training samples if there are more; "
    "without probabilities, so that it has no log-loss",
    "boosting": "`HistGradientBoostingClassifier()`",
    "qda": '`QuadraticDiscriminantAnalysis(solver="eigen")` on standardized features, `shrinkage` '
    f"from {', '.join(f'{value:g}' for value in SHRINKAGES)} by 5 folds; values with which the "
    "covariance of a class is singular are left out",
    "rda": "`opgd.baselines.RegularizedDiscriminantAnalysis`, `alpha` by 5 folds from the grid of "
    f"`opgd.compare`: as many values from 0 to 1 as features, at most {MAX_ALPHAS}",
    "knn": "`KNeighborsClassifier` on standardized features, `n_neighbors` from "
    f"{', '.join(map(str, NEIGHBORS[::-1]))} by 5 folds",
    "nca_knn": "`NeighborhoodComponentsAnalysis()` on standardized features, then k-NN as above in "
    f"its space. Its time is quadratic in the samples: it is fitted to a stratified sample of "
    f"{MAX_NCA_ROWS} training samples if there are more, and once, before the folds; k-NN uses all",
}
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
        "methods": describe_methods(list_complete(raw)),
        "sources": write_sources(),
    }
    for group in GROUPS:
        blocks[group.name] = write_group(group, results[group.name])
    blocks["all"] = write_ranking(ALL, results["all"])
    return blocks


def describe_methods(shown: Sequence[str]) -> str:
    """Return a list of the methods, and a sentence on those without complete results."""
    items = [f"- **{LABELS[method]}**: {DESCRIPTIONS[method]}." for method in shown]
    others = [LABELS[method] for method in DESCRIPTIONS if method not in shown]
    if others:
        items.append(
            f"\nNot shown, because not all splits are recorded: {enumerate_names(others)}."
        )
    return "\n".join(items)


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


def describe_rank(value: str, ranking: Ranking) -> str:
    """Return a sentence on the mean rank of OPGD and the best of the others."""
    ours, others = ranking.ranks[OURS], ranking.ranks.drop(OURS)
    best = f"{others.min():.1f} ({LABELS[str(others.idxmin())]})"
    return (
        f"By {value}, its mean rank is {ours:.2f} of {len(ranking.ranks)}; the best of the others "
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
        f"{len(clear)} of them by more than two standard errors. Of the {len(MORE.tables)} data "
        f"sets that were never used for tuning, these are {better.index.isin(MORE.tables).sum()} "
        f"and {clear.index.isin(MORE.tables).sum()}.",
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
    """Return comparison, ranks and all tables of a group of data sets."""
    parts = [write_comparison(results)]
    if group in RANKED:
        parts.append(write_ranking(group, results))
    for value, title in VALUES.items():
        parts += [f"### {title}: {group.title[0].lower()}{group.title[1:]}"]
        parts += [write_means(group, results, value)]
    return "\n\n".join(parts)


def write_ranking(group: Group, results: Results) -> str:
    """Return the diagram of mean ranks with its words."""
    ranking = results.rank("error")
    ours, apart = ranking.ranks[OURS], ranking.critical_difference
    above = [LABELS[str(key)] for key, rank in ranking.ranks.items() if rank - ours > apart]
    below = [LABELS[str(key)] for key, rank in ranking.ranks.items() if ours - rank > apart]
    return (
        f"![{describe_ranking(group, ranking)}](images/{picture_name(group)})\n\n"
        f"Friedman's test of equal ranks: p = {ranking.p_value:.1g}. By Nemenyi's test at the .05 "
        f"level, the mean rank of OPGD is {say_separated('better', above)}, and "
        f"{say_separated('worse', below)}."
    )


def say_separated(how: str, methods: Sequence[str]) -> str:
    """Return than which methods OPGD is significantly better or worse."""
    if not methods:
        return f"not significantly {how} than that of any other"
    return f"significantly {how} than that of {enumerate_names(methods)}"


def describe_ranking(group: Group, ranking: Ranking) -> str:
    """Return the alternative text of a diagram."""
    ranks = ", ".join(f"{LABELS[str(key)]} {rank:.2f}" for key, rank in ranking.ranks.items())
    return (
        f"Critical-difference diagram of test errors, {len(group.tables)} data sets. Mean ranks: "
        f"{ranks}. Methods whose ranks differ by at most {ranking.critical_difference:.2f} are "
        "joined by a bar."
    )


def picture_name(group: Group) -> str:
    """Return the file name of the diagram of a group."""
    return f"ranks_{group.name}.svg"
