"""Tables of the public benchmark in Markdown."""

from collections.abc import Sequence
from dataclasses import astuple

from benchmarks.public_data import GROUPS, OURS, SOURCES, Group, Results

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
TEXT_COLUMNS = ["data set", "OPGD beside", "lowest error", "source"]


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


def write_sources() -> str:
    """Return a table of all data sets."""
    rows = [
        [short(table), *map(str, astuple(SOURCES[table]))]
        for group in GROUPS
        for table in group.tables
    ]
    headings = ["data set", "samples", "features", "classes", "source"]
    return write_table(headings, rows)


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
