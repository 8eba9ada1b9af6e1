"""Encoding of TableEncoder as plain data, and its verification."""

from dataclasses import asdict, dataclass
from typing import Any

from opgd._model_file.encoding import InvalidContent
from opgd._model_file.fields import (
    Choice,
    Count,
    Either,
    Field,
    Flag,
    ListOf,
    Number,
    Sizes,
    Text,
)
from opgd._model_file.step_schema import check_fields
from opgd._tables.columns import (
    CHOICES,
    CYCLES,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
)
from opgd._tables.inference import KINDS
from opgd._tables.summary import ColumnSummary, TableSummary
from opgd._tables.text_numbers import is_currency_code

MAX_ORIGIN = 1e7
"""Bound of dates, in days; dates of NumPy and Python are within it."""
TOLERANCE = 1e-6


@dataclass(frozen=True)
class CurrencyCode:
    """Code of a currency, such as EUR."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        return type(value) is str and is_currency_code(value)

    def __str__(self) -> str:
        return "the code of a currency"


COLUMNS: dict[str, tuple[type[Any], dict[str, Field]]] = {
    "number": (
        NumberColumn,
        {
            "name": Text(),
            "style": Choice(CHOICES["style"]),
            "unit": Either((Choice(CHOICES["unit"]), CurrencyCode())),
        },
    ),
    "category": (
        CategoryColumn,
        {
            "name": Text(),
            "levels": ListOf(Text()),
            "shares": ListOf(Number(0.0, 1.0)),
            "words": ListOf(Text()),
            "places": ListOf(Count(-1)),
            "reference": Count(),
            "other": Count(-1),
            "missing": Count(-1),
            "numeric": Flag(),
        },
    ),
    "date": (
        DateColumn,
        {
            "name": Text(),
            "format": Choice(CHOICES["format"]),
            "origin": Number(-MAX_ORIGIN, MAX_ORIGIN),
            "cycles": ListOf(Choice(tuple(CYCLES))),
        },
    ),
}
SUMMARY: dict[str, Field] = {
    "column": Text(),
    "kind": Text(),
    "action": Text(),
    "n_missing": Count(),
    "outputs": ListOf(Text()),
}
KIND_OF = {column_type: kind for kind, (column_type, _) in COLUMNS.items()}


def describe_encoder(encoder: Any) -> dict[str, Any]:
    """Return columns, summary and requested kinds of an encoder as plain data."""
    return {
        "columns": [{"kind": KIND_OF[type(c)], **asdict(c)} for c in encoder.columns_],
        "summary": [asdict(entry) for entry in encoder.summary_],
        "n_rows": encoder.summary_.n_rows,
        "kinds": encoder.kinds,
    }


def restore_encoder(encoder: Any, description: dict[str, Any]) -> None:
    """Set columns, summary and requested kinds of an encoder that has its other attributes."""
    columns = [_restore_column(fields) for fields in _check_dicts(description["columns"])]
    names = [column.name for column in columns]
    n_outputs = sum(len(column.outputs) for column in columns)
    if not columns or len(set(names)) < len(names):
        raise InvalidContent("its encoder has no columns, or two with the same name")
    known = getattr(encoder, "feature_names_in_", None)
    places = {f"x{j}" for j in range(encoder.n_features_in_)} if known is None else set(known)
    if not set(names) <= places:
        raise InvalidContent("its encoder has columns that are not among its features")
    if encoder.fill_values_ is not None and len(encoder.fill_values_) != n_outputs:
        raise InvalidContent("its fill_values_ (TableEncoder) do not match the columns")
    entries = []
    for fields in _check_dicts(description["summary"]):
        _check_keys(fields, SUMMARY)
        entries.append(ColumnSummary(**fields))
    if not Count(1).accepts(description["n_rows"], {}):
        raise InvalidContent("its encoder has an invalid number of rows")
    encoder.columns_ = columns
    encoder.summary_ = TableSummary(description["n_rows"], entries)
    encoder.kinds = _check_kinds(description["kinds"])


def _restore_column(fields: dict[str, Any]) -> Column:
    kind = fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in COLUMNS:
        raise InvalidContent("its encoder has a column of an unknown kind")
    column_type, declared = COLUMNS[kind]
    _check_keys(fields, declared)
    column: Column = column_type(**fields)
    if isinstance(column, CategoryColumn) and not _is_consistent(column):
        raise InvalidContent("the categories of its encoder are inconsistent")
    if isinstance(column, DateColumn) and len(set(column.cycles)) < len(column.cycles):
        raise InvalidContent("its encoder has a cycle of dates twice")
    return column


def _is_consistent(column: CategoryColumn) -> bool:
    n_levels = len(column.levels)
    indices = [column.reference, column.other, column.missing, *column.places]
    return (
        n_levels == len(set(column.levels)) == len(column.shares) >= 2
        and len(column.words) == len(set(column.words)) == len(column.places) >= 1
        and max(indices) < n_levels
        and abs(sum(column.shares) - 1.0) <= TOLERANCE
    )


def _check_keys(fields: dict[str, Any], declared: dict[str, Field]) -> None:
    if set(fields) != set(declared):
        raise InvalidContent("its encoder has a column with other fields than expected")
    check_fields("TableEncoder", fields, declared)


def _check_dicts(values: Any) -> list[dict[str, Any]]:
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise InvalidContent("the columns of its encoder are not a list of dicts")
    return [dict(value) for value in values]


def _check_kinds(kinds: Any) -> dict[str, str] | None:
    if kinds is None:
        return None
    valid = isinstance(kinds, dict) and all(
        type(name) is str and type(kind) is str and kind in KINDS for name, kind in kinds.items()
    )
    if not valid:
        raise InvalidContent("the requested kinds of its encoder are invalid")
    return dict(kinds)
