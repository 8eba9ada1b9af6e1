"""Columns that a sparse model uses, and what fewer or more of them would do."""

import math
from dataclasses import dataclass
from typing import Any

from opgd.inspection.estimators import get_column_names
from opgd.inspection.feature_selection import (
    FeaturePath,
    get_feature_path,
    has_selected_features,
    list_used_features,
)
from opgd.inspection.pipelines import Unwrapped
from opgd.report import words

MAX_LISTED = 40


@dataclass(frozen=True)
class UsedColumn:
    """A column, and the error of a model with it and the columns before it, if known."""

    name: str
    error: float | None


@dataclass(frozen=True)
class PathPoint:
    """Error with a number of columns; `position` is its place on a logarithmic scale, 0 to 1."""

    number: int
    position: float
    error: float
    standard_error: float
    selected: bool


@dataclass(frozen=True)
class UsedColumns:
    """Columns that a sparse model uses, in the order of their selection."""

    n_used: int
    n_columns: int
    encoded: bool  # whether columns are counted after encoding
    listed: list[UsedColumn]
    path: list[PathPoint]  # empty if numbers of columns were not compared
    sentences: list[str]


def describe_used_columns(unwrapped: Unwrapped) -> UsedColumns | None:
    """Return the columns that a sparse model uses, None if the model is not sparse."""
    model = unwrapped.estimator
    if not has_selected_features(model):
        return None
    names, used = get_column_names(model), list_used_features(model).tolist()
    path = get_feature_path(model)
    errors = {} if path is None else dict(zip(path.n_features.tolist(), path.errors, strict=True))
    listed = [
        UsedColumn(names[j], _to_float(errors.get(rank)))
        for rank, j in enumerate(used[:MAX_LISTED], start=1)
    ]
    sentences = [_describe_number(len(used), len(names))]
    if path is not None:
        sentences += _describe_choice(path)
    encoded = unwrapped.steps is not None
    return UsedColumns(len(used), len(names), encoded, listed, _list_points(path), sentences)


def _to_float(value: Any) -> float | None:
    return None if value is None else float(value)


def _describe_number(n_used: int, n_columns: int) -> str:
    if n_used == n_columns:
        return f"The model uses all {words.count(n_columns, 'column')}."
    return (
        f"The model uses {n_used:,} of {words.count(n_columns, 'column')}; predictions do not "
        "depend on the others."
    )


def _describe_choice(path: FeaturePath) -> list[str]:
    """Return what fewer columns cost, and how their number was selected."""
    if len(path.errors) == 1:
        return []
    selected, last = path.selected, len(path.errors) - 1
    sentences = []
    if selected != last and path.n_features[last] == path.n_available:
        sentences.append(
            f"With these, {path.errors[selected]:.1%} of the held-out rows are misclassified; with "
            f"all columns, {path.errors[last]:.1%}."
        )
    return [
        *sentences,
        "This is the smallest number of those compared whose predictions and probabilities, on "
        "average over neighboring numbers, are nearly as good as the best.",
    ]


def _list_points(path: FeaturePath | None) -> list[PathPoint]:
    if path is None or len(path.errors) == 1:
        return []
    logs = [math.log(number) for number in path.n_features]
    return [
        PathPoint(
            number=int(path.n_features[i]),
            position=(log - logs[0]) / (logs[-1] - logs[0]),
            error=float(path.errors[i]),
            standard_error=float(path.standard_errors[i]),
            selected=i == path.selected,
        )
        for i, log in enumerate(logs)
    ]
