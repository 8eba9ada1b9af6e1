"""Tables of raw results beside the numbers of the paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from opgd._utils.files import write_atomically
from opgd.experiments.classification import METHODS, OWN_METHODS
from opgd.experiments.paper import CLUSTERING, VOWEL

MEASURES = {"ari": "adjusted Rand index", "nmi": "normalized mutual information"}


def select_results(rows: list[dict[str, Any]], experiment: str) -> pd.DataFrame:
    """Return the results of one experiment, one row per cell."""
    return pd.DataFrame([row for row in rows if row["experiment"] == experiment])


def vowel_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return test errors, selected settings and objectives, beside those of the paper."""
    order = [method for method in [*METHODS, *OWN_METHODS] if method in set(results["method"])]
    rows = results.set_index("method").loc[order]
    return pd.DataFrame(
        {
            "method": order,
            "test error": [f"{error:.3f}" for error in rows["error"]],
            "chosen": [_chosen(parameters) for parameters in rows["chosen"]],
            "log-likelihood": [_format_number(value, ".2f") for value in rows["objective"]],
            "log-loss": [f"{loss:.3f}" for loss in rows["log_loss"]],
            "paper's error": [
                _format_number(VOWEL.get(method, (None,))[0], ".3f") for method in order
            ],
            "paper chose": [VOWEL.get(method, ("", ""))[1] for method in order],
        }
    )


def splits_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return quartiles of test errors by data set and method."""
    order = [method for method in [*METHODS, *OWN_METHODS] if method in set(results["method"])]
    lines = []
    for name, group in results.groupby("data", sort=False):
        medians = group.groupby("method")["error"].median()
        for method in [method for method in order if method in medians]:
            errors = group.loc[group["method"] == method, "error"]
            losses = group.loc[group["method"] == method, "log_loss"]
            lines.append(
                {
                    "data": name,
                    "method": method,
                    "median error": f"{errors.median():.4f}",
                    "quartiles": f"{errors.quantile(0.25):.4f} to {errors.quantile(0.75):.4f}",
                    "mean log-loss": f"{losses.mean():.3f}",
                    "splits": len(errors),
                }
            )
    return pd.DataFrame(lines)


def clustering_table(results: pd.DataFrame, method: str, measure: str) -> pd.DataFrame:
    """Return initial values and changes: average, best and worst, as in Table 2."""
    lines = []
    selected = results[results["method"] == method]
    for name in [name for name in CLUSTERING if name in set(selected["data"])]:
        rows = selected[selected["data"] == name].sort_values("replication")
        start, change = rows[f"{measure}_start"], rows[f"{measure}_end"] - rows[f"{measure}_start"]
        best, worst = change.idxmax(), change.idxmin()
        place = 0 if measure == "ari" else 2
        lines.append(
            {
                "data": name,
                "average": f"{start.mean():.1f}{change.mean():+.1f}",
                "best": f"{start[best]:.1f}{change[best]:+.1f}",
                "worst": f"{start[worst]:.1f}{change[worst]:+.1f}",
                "paper's average": "{:.1f}{:+.1f}".format(*CLUSTERING[name][place : place + 2]),
            }
        )
    return pd.DataFrame(lines)


def mean_change(results: pd.DataFrame, method: str) -> pd.Series:
    """Return the average change of the adjusted Rand index by data set."""
    rows = results[results["method"] == method]
    changes = (rows["ari_end"] - rows["ari_start"]).groupby(rows["data"]).mean()
    return changes.loc[[name for name in CLUSTERING if name in changes]]


def starts_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return objective and test error by initialization, with the range of random ones."""
    lines = []
    for name, group in results.groupby("data", sort=False):
        for method, rows in group.groupby("method", sort=False):
            several = len(rows) > 1
            lines.append(
                {
                    "data": name,
                    "axes": int(rows["n_components"].iloc[0]),
                    "start": f"{method} ({len(rows)})" if several else method,
                    "log-likelihood": _format_range(rows["objective"], ".1f"),
                    "test error": _format_range(rows["error"], ".4f"),
                    "evaluations": f"{rows['n_evaluations'].mean():.0f}",
                }
            )
    return pd.DataFrame(lines)


def _format_range(values: "pd.Series[float]", style: str) -> str:
    if len(values) == 1:
        return f"{values.iloc[0]:{style}}"
    low, middle, high = values.min(), values.median(), values.max()
    return f"{low:{style}} / {middle:{style}} / {high:{style}}"


def _chosen(parameters: dict[str, Any]) -> str:
    """Return the selected settings as text."""
    names = {"n_components": "axes", "n_subclasses": "subclasses"}
    shown = []
    for name, value in parameters.items():
        if name in ("init", "max_iter", "covariance_type") or (name, value) == ("n_subclasses", 1):
            continue
        if name in names:
            shown.append(f"{value} {names[name]}")
        elif value != 0:
            shown.append(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}")
    if "max_iter" in parameters:
        shown.append("LDA" if parameters["covariance_type"] == "diag" else "RDA")
    return ", ".join(shown)


def _format_number(value: Any, style: str) -> str:
    return "" if value is None or value != value else f"{value:{style}}"


def markdown(table: pd.DataFrame) -> str:
    """Return a table as aligned Markdown."""
    cells = [list(table.columns), *table.astype(str).to_numpy().tolist()]
    widths = [max(len(row[j]) for row in cells) for j in range(len(table.columns))]
    lines = [
        _format_line(cells[0], widths),
        _format_line(["-" * width for width in widths], widths),
    ]
    return "\n".join([*lines, *[_format_line(row, widths) for row in cells[1:]]])


def _format_line(cells: Sequence[str], widths: list[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    return "| " + " | ".join(padded) + " |"


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, atomically."""
    write_atomically(path, table.to_csv(index=False).encode("utf-8"), overwrite=True)
