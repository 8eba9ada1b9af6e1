"""Sphinx extension: the directive ``selection-results``, a table made from recorded results."""

from pathlib import Path
from typing import Any

import pandas as pd
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from opgd.datasets import list_datasets

RAW = Path(__file__).resolve().parents[2] / "results" / "selection.jsonl"
LABELS = {
    "opgd": "**OPGD**, `OPGDClassifierCV()`",
    "svc": "SVC with RBF kernel, grid search",
    "forest": "random forest, 500 trees",
    "boosting": "histogram gradient boosting",
    "logistic": "logistic regression",
    "lda": "LDA",
    "qda": "QDA",
    "rda": "RDA, grid search",
    "knn": "k-NN, grid search",
    "nca": "NCA and k-NN",
    "nb": "naive Bayes",
}


def read_results() -> pd.DataFrame:
    """Return the recorded results on the paper's data sets, of methods that have all splits."""
    raw = pd.read_json(RAW, lines=True)
    raw = raw[raw["table"].isin([dataset.name for dataset in list_datasets()])]
    n_splits = raw[["table", "seed"]].drop_duplicates().shape[0]
    return raw[raw.groupby("method")["seed"].transform("size") == n_splits]


def summarize(raw: pd.DataFrame) -> pd.DataFrame:
    """Return means over data sets of means over splits by method, the smallest error first."""
    means = raw.pivot_table(index="table", columns="method", values=["error", "loss"])
    errors, losses = means["error"], means["loss"].reindex(columns=means["error"].columns)
    best = errors.le(errors.min(axis=1) + 1e-12, axis=0)
    table = pd.DataFrame({"error": errors.mean(), "loss": losses.mean(), "best": best.sum()})
    return table.sort_values("error")


def to_markdown(table: pd.DataFrame, n_tables: int) -> str:
    """Return the table in Markdown."""
    lines = [
        "| method | test error | log-loss | lowest error on |",
        "| --- | ---: | ---: | ---: |",
    ]
    for method, row in table.iterrows():
        loss = "\u2013" if pd.isna(row["loss"]) else f"{row['loss']:.3f}"
        label = LABELS.get(str(method), str(method))
        lines.append(f"| {label} | {row['error']:.4f} | {loss} | {row['best']:.0f} of {n_tables} |")
    return "\n".join(lines)


class SelectionResults(SphinxDirective):
    """A table of errors and log-losses, and what they are means of."""

    def run(self) -> list[nodes.Node]:
        """Return the table and a paragraph below it."""
        self.env.note_dependency(str(RAW))
        raw = read_results()
        n_tables, n_splits = raw["table"].nunique(), raw["seed"].nunique()
        text = (
            f"Means over the paper's {n_tables} data sets, each split {n_splits} times at random "
            "into 75 % training and 25 % test samples, the same for all methods. The raw results "
            "are in `results/selection.jsonl`, the code in `benchmarks/selection.py`."
        )
        more = "[Benchmarks](benchmarks.md) has the errors by data set."
        if "public_benchmark" in self.env.found_docs:
            more = (
                "[The public benchmark](public_benchmark.md) has all tables, and where OPGD loses."
            )
        return self.parse_text_to_nodes(f"{to_markdown(summarize(raw), n_tables)}\n\n{text} {more}")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_directive("selection-results", SelectionResults)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
