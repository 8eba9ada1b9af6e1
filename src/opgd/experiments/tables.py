"""Tables made from raw results, beside the paper's numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from opgd._utils.files import write_whole
from opgd.experiments.classification import METHODS, OWN_METHODS
from opgd.experiments.paper import CLUSTERING, VOWEL

MEASURES = {"ari": "adjusted Rand index", "nmi": "normalized mutual information"}


def results_of(rows: list[dict[str, Any]], experiment: str) -> pd.DataFrame:
    """The results of one experiment, a row for each cell."""
    return pd.DataFrame([row for row in rows if row["experiment"] == experiment])


def vowel_table(results: pd.DataFrame) -> pd.DataFrame:
    """Test error, what was chosen, and the objective, beside the paper's error."""
    order = [method for method in [*METHODS, *OWN_METHODS] if method in set(results["method"])]
    rows = results.set_index("method").loc[order]
    return pd.DataFrame(
        {
            "method": order,
            "test error": [f"{error:.3f}" for error in rows["error"]],
            "chosen": [_chosen(own) for own in rows["chosen"]],
            "log-likelihood": [_number(own, ".2f") for own in rows["objective"]],
            "log-loss": [f"{own:.3f}" for own in rows["log_loss"]],
            "paper's error": [_number(VOWEL.get(own, (None,))[0], ".3f") for own in order],
            "paper chose": [VOWEL.get(own, ("", ""))[1] for own in order],
        }
    )


def splits_table(results: pd.DataFrame) -> pd.DataFrame:
    """Quartiles of test errors by data set and method."""
    order = [method for method in [*METHODS, *OWN_METHODS] if method in set(results["method"])]
    lines = []
    for name, own in results.groupby("data", sort=False):
        medians = own.groupby("method")["error"].median()
        for method in [method for method in order if method in medians]:
            errors = own.loc[own["method"] == method, "error"]
            losses = own.loc[own["method"] == method, "log_loss"]
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
    """Start and change: average, and where the change was best and worst, as in Table 2."""
    lines = []
    own = results[results["method"] == method]
    for name in [name for name in CLUSTERING if name in set(own["data"])]:
        rows = own[own["data"] == name].sort_values("replication")
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
    """Average change of the adjusted Rand index by data set."""
    own = results[results["method"] == method]
    changes = (own["ari_end"] - own["ari_start"]).groupby(own["data"]).mean()
    return changes.loc[[name for name in CLUSTERING if name in changes]]


def starts_table(results: pd.DataFrame) -> pd.DataFrame:
    """The objective and the error reached from each start; of random ones the range."""
    lines = []
    for name, own in results.groupby("data", sort=False):
        for method, rows in own.groupby("method", sort=False):
            several = len(rows) > 1
            lines.append(
                {
                    "data": name,
                    "axes": int(rows["n_components"].iloc[0]),
                    "start": f"{method} ({len(rows)})" if several else method,
                    "log-likelihood": _range(rows["objective"], ".1f"),
                    "test error": _range(rows["error"], ".4f"),
                    "evaluations": f"{rows['n_evaluations'].mean():.0f}",
                }
            )
    return pd.DataFrame(lines)


def _range(values: "pd.Series[float]", style: str) -> str:
    if len(values) == 1:
        return f"{values.iloc[0]:{style}}"
    low, middle, high = values.min(), values.median(), values.max()
    return f"{low:{style}} / {middle:{style}} / {high:{style}}"


def _chosen(parameters: dict[str, Any]) -> str:
    """What a method chose, in words."""
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


def _number(value: Any, style: str) -> str:
    return "" if value is None or value != value else f"{value:{style}}"


def markdown(table: pd.DataFrame) -> str:
    """A table of text, columns aligned."""
    cells = [list(table.columns), *table.astype(str).to_numpy().tolist()]
    widths = [max(len(row[j]) for row in cells) for j in range(len(table.columns))]
    lines = [_line(cells[0], widths), _line(["-" * width for width in widths], widths)]
    return "\n".join([*lines, *[_line(row, widths) for row in cells[1:]]])


def _line(cells: Sequence[str], widths: list[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    return "| " + " | ".join(padded) + " |"


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """A table as a file, whole or not at all."""
    write_whole(path, table.to_csv(index=False).encode("utf-8"), overwrite=True)
