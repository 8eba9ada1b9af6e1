"""What a model says of rows, as columns of a table."""

from typing import Any

import numpy as np
import polars as pl

from opgd.cli.errors import BadInput
from opgd.cli.labels import known_labels
from opgd.cli.models import Model, NewRows
from opgd.cli.text import quoted


def predictions(model: Model, X: Any, *, proba: bool) -> dict[str, Any]:
    """Prediction, its probability, and how usual the row is for the nearest Gaussian, if any."""
    estimator = model.estimator
    probabilities = estimator.predict_proba(X)
    is_classifier = hasattr(estimator, "classes_")
    columns: dict[str, Any] = {
        "prediction" if is_classifier else "cluster": estimator.predict(X),
        "probability": probabilities.max(axis=1),
    }
    if hasattr(estimator, "typicality"):  # densities of other kinds have no Gaussian to be near
        columns["typicality"] = estimator.typicality(X)
    if proba:
        groups = estimator.classes_.tolist() if is_classifier else range(probabilities.shape[1])
        columns |= {f"probability_{group}": probabilities[:, k] for k, group in enumerate(groups)}
    return columns


def scores(model: Model, X: Any) -> dict[str, Any]:
    """Rows on the axes."""
    if not hasattr(model.estimator, "transform"):
        raise BadInput(f"{type(model.estimator).__name__} has no axes to place rows on.")
    own = np.asarray(model.estimator.transform(X))
    return {f"axis_{j + 1}": own[:, j] for j in range(own.shape[1])}


def answer_table(rows: NewRows, columns: dict[str, Any], keep: list[str]) -> pl.DataFrame:
    """Row numbers, columns of the table that are to be kept, and the answers."""
    kept = {name: rows.table.column(name, "--keep") for name in dict.fromkeys(keep)}
    for name in kept:
        if name == "row" or name in columns:
            raise BadInput(f"--keep {quoted(name)}: the table has a column of that name already.")
    answers = {name: _series(name, own) for name, own in columns.items()}
    return pl.DataFrame({"row": rows.table.row_numbers, **kept, **answers})


def _series(name: str, values: Any) -> pl.Series:
    if values.dtype.kind in "UO":
        return pl.Series(name, [str(own) for own in values], dtype=pl.String)
    return pl.Series(name, values)


def summary(model: Model, rows: NewRows, columns: dict[str, Any]) -> dict[str, Any]:
    """Numbers of the rows of each class; the error, if the table has the labels."""
    facts: dict[str, Any] = {"rows": len(rows.X), "columns": list(columns)}
    for name in ("prediction", "cluster"):
        if name in columns:
            groups, counts = np.unique(columns[name], return_counts=True)
            facts["counts"] = dict(zip(groups.tolist(), counts.tolist(), strict=True))
    if "prediction" in columns and model.target in rows.table.frame.columns:
        try:
            labels, missing = known_labels(rows.table.frame[model.target], model.estimator.classes_)
        except BadInput:  # another column by the same name is not what was asked about
            return facts
        if not missing.all():
            wrong = columns["prediction"][~missing] != labels[~missing]
            facts["error"] = float(np.mean(wrong))
    return facts
