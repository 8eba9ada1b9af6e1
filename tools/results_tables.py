"""Tables of README.md and of pages in docs, from the raw results in results/.

    python tools/results_tables.py            print the tables
    python tools/results_tables.py --write    write them into the documents

A document has a table between the lines `<!-- begin NAME -->` and `<!-- end NAME -->`.
Tests compare the documents with the raw results.
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from opgd.datasets import list_datasets

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / name for name in ("README.md", "docs/index.md", "docs/how_to_choose.md")]
PLACE = re.compile(r"(?<=^<!-- begin )(\w+)( -->\n)(.*?)(?=^<!-- end \1 -->)", re.S | re.M)
PAPER = [info.name for info in list_datasets()]
N_SPLITS = 10
OURS = "opgd"
CLASSIFIERS = {
    OURS: "`OPGDClassifierCV()`",
    "svc": "RBF SVC, 5 x 5 grid",
    "forest": "random forest, 500 trees",
    "boosting": "histogram gradient boosting",
    "logistic": "logistic regression",
    "lda": "LDA",
    "qda": "QDA, shrinkage selected",
    "rda": "RDA, shrinkage selected",
    "knn": "k-nearest neighbors",
    "nca_knn": "NCA and k-nearest neighbors",
}
CLUSTERINGS = {
    OURS: "`OPGDMixture`",
    "GaussianMixture": "`GaussianMixture`, BIC",
    "Bayesian": "`BayesianGaussianMixture`",
    "HDBSCAN": "`HDBSCAN`",
    "k-means": "k-means, silhouette",
    "mclust": "mclust (R), BIC",
}

Splits = dict[str, dict[int, dict[str, Any]]]
"""Results of one method by data set and split."""


def read(name: str) -> list[dict[str, Any]]:
    """Return the lines of a file in results/."""
    text = (ROOT / "results" / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def read_selection() -> dict[str, Splits]:
    """Return the results of each classifier."""
    results: dict[str, Splits] = defaultdict(lambda: defaultdict(dict))
    for line in read("selection.jsonl"):
        results[line["method"]][line["table"]][line["seed"]] = line
    return results


def list_tables(results: dict[str, Splits]) -> list[list[str]]:
    """Return the names of the paper's tables, and of those on which nothing was tuned."""
    others = sorted(name for name in results[OURS] if name.startswith("more/"))
    return [PAPER, others]


def mean(splits: Splits, table: str, value: str) -> float | None:
    """Return the mean over the splits of a table, or None if there are too few results."""
    found = [line[value] for line in splits.get(table, {}).values() if value in line]
    return fmean(found) if len(found) >= N_SPLITS else None


def mean_over(splits: Splits, tables: list[str], value: str) -> float | None:
    """Return the mean over tables, or None if one of them has too few results."""
    means = [mean(splits, table, value) for table in tables]
    return fmean(m for m in means if m is not None) if None not in means else None


def write_number(number: float | None, best: float | None = None) -> str:
    """Return a number with three digits, in bold if it is the best one."""
    if number is None:
        return ""
    text = f"{number:.3f}"
    return f"**{text}**" if best is not None and text == f"{best:.3f}" else text


def write_table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table, with all columns except the first aligned to the right."""
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def tabulate_methods() -> str:
    """Mean errors and log-losses of the classifiers with results of all splits."""
    results = read_selection()
    columns = [(tables, value) for tables in list_tables(results) for value in ("error", "loss")]
    means = {
        method: [mean_over(results[method], *column) for column in columns]
        for method in CLASSIFIERS
        if method in results
    }
    means = {method: row for method, row in means.items() if row[0] is not None}
    order = sorted(means, key=lambda method: (method != OURS, means[method][0]))
    best = [
        min(value for value in column if value is not None)
        for column in zip(*means.values(), strict=True)
    ]
    n_paper, n_others = map(len, list_tables(results))
    head = [f"paper's {n_paper}: error", "log-loss", f"other {n_others}: error", "log-loss"]
    return write_table(
        ["mean of test sets", *head],
        [[CLASSIFIERS[method], *map(write_number, means[method], best)] for method in order],
    )


def tabulate_clusters() -> str:
    """Mean adjusted Rand indices, and how often the number of clusters was right."""
    lines = read("clusters.jsonl")

    def select(section: str, method: str) -> list[dict[str, Any]]:
        own = [line for line in lines if (line["section"], line["method"]) == (section, method)]
        return [line for line in own if section == "numbers" or line["table"] in PAPER]

    def mean_index(section: str, method: str) -> str:
        by_table = defaultdict(list)
        for line in select(section, method):
            by_table[line["table"]].append(line["ari"])
        complete = len(by_table) == len(PAPER)
        return f"{fmean(map(fmean, by_table.values())):.1f}" if complete else ""

    def share_right(method: str) -> str:
        cases = select("numbers", method)
        right = [
            line["n_clusters"] == int(re.match(r"K=(\d+)", line["table"])[1]) for line in cases
        ]
        return f"{fmean(right):.0%}" if right else ""

    head = ["", "simulated: right number", "selected number: index", "given number: index"]
    return write_table(
        head,
        [
            [
                name,
                share_right(method),
                mean_index("clusters", method),
                mean_index("given-clusters", method),
            ]
            for method, name in CLUSTERINGS.items()
        ],
    )


TABLES: dict[str, Callable[[], str]] = {
    "methods": tabulate_methods,
    "clusters": tabulate_clusters,
}


def fill(text: str) -> str:
    """Return a document with its tables computed again."""
    return PLACE.sub(lambda place: place[1] + place[2] + TABLES[place[1]](), text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the tables into the documents")
    if not parser.parse_args().write:
        print("".join(f"{name}\n{tabulate()}" for name, tabulate in TABLES.items()))
        return
    for path in DOCUMENTS:
        path.write_text(fill(path.read_text("utf-8")), "utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
