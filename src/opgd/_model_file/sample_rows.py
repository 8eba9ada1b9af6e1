"""Rows that steps of a pipeline accept, to fit or check a rebuilt step with."""

from datetime import date
from typing import Any

import numpy as np

from opgd._tables.columns import CategoryColumn, DateColumn
from opgd.core.types import AnyArray


def make_row(step: Any) -> list[Any]:
    """Return values of one row that a fitted step can transform."""
    if hasattr(step, "steps"):
        return make_row(step.steps[0][1])
    if hasattr(step, "categories_"):
        return [_select_category(categories) for categories in step.categories_]
    if hasattr(step, "statistics_"):
        return [0.0 if value != value else value for value in step.statistics_.tolist()]
    if hasattr(step, "transformers_"):
        return _make_joint_row(step)
    if hasattr(step, "columns_"):
        return _make_table_row(step)
    center = getattr(step, "mean_", getattr(step, "center_", None))
    if hasattr(step, "data_min_"):
        center = step.data_min_
    if center is None:
        center = np.zeros(getattr(step, "n_features_in_", None) or 1)
    values: list[Any] = center.tolist()
    return values


def to_object_row(values: list[Any]) -> AnyArray:
    """Return a row as an array of objects, (1, p)."""
    row = np.empty((1, len(values)), dtype=object)
    row[0, :] = values
    return row


def _select_category(categories: AnyArray) -> Any:
    """Return a category that is not missing, if there is one."""
    values = categories.tolist()
    return next((value for value in values if value is not None and value == value), values[0])


def _make_joint_row(step: Any) -> list[Any]:
    """Return a row for a ColumnTransformer; its columns are positions."""
    row: list[Any] = [0.0] * step.n_features_in_
    for _, inner, places in step.transformers_:
        if not isinstance(inner, str):
            for place, value in zip(places, make_row(inner), strict=False):
                row[place] = value
    return row


def _make_table_row(encoder: Any) -> list[Any]:
    names = getattr(encoder, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(encoder.n_features_in_)]
    columns = {column.name: column for column in encoder.columns_}
    return [_make_cell(columns.get(str(name))) for name in names]


def _make_cell(column: Any) -> Any:
    if isinstance(column, CategoryColumn):
        return column.words[0]
    if isinstance(column, DateColumn):
        return date(2000, 1, 1)
    unit = getattr(column, "unit", "")
    return f"1{unit}" if unit else 1.0
