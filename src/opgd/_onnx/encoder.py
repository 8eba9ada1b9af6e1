"""The graph of a table encoder: numbers are passed on, categories become indicators."""

import numpy as np

from opgd._onnx.graph import Graph
from opgd._onnx.prediction import check_text
from opgd._tables.cells import MISSING_WORDS
from opgd._tables.columns import BOOLEANS, CategoryColumn, Column, DateColumn, NumberColumn
from opgd._tables.reading import get_input_names
from opgd.table_encoder import TableEncoder


def check_encoder(encoder: TableEncoder, *, allow_missing: bool) -> None:
    """Raise ValueError, with the name of the column, for columns that no graph can encode."""
    for column in encoder.columns_:
        n_missing = 0 if allow_missing else encoder.summary_[column.name].n_missing
        reason = _find_obstacle(column, n_missing)
        if reason:
            raise ValueError(
                f"Column {column.name!r} cannot be converted to ONNX: {reason}, and fit again."
            )
        check_text("Column name", column.name)
        for word in column.words if isinstance(column, CategoryColumn) else ():
            check_text(f"Column {column.name!r}: category", word)


def _find_obstacle(column: Column, n_missing: int) -> str:
    """Return why a graph cannot encode a column and what to do, an empty string if it can."""
    if isinstance(column, DateColumn):
        return "it has dates; replace them by numbers"
    if isinstance(column, NumberColumn) and str(column.format):
        return f"its numbers are text ({column.format}); replace them by numbers"
    if n_missing:
        return f"{n_missing} of its cells are missing; fill or drop them"
    return ""


def has_one_input(encoder: TableEncoder) -> bool:
    """Return whether the input is one matrix of numbers, not one column each."""
    has_names = hasattr(encoder, "feature_names_in_")
    return not has_names and all(isinstance(column, NumberColumn) for column in encoder.columns_)


def add_features(graph: Graph, inputs: list[str], encoder: TableEncoder, output: str) -> None:
    """Add the encoded features, (n, n_features_out).

    The inputs are the columns that are used, (n, 1) each, or a matrix with all columns.
    """
    check_encoder(encoder, allow_missing=True)
    if len(inputs) == 1 and has_one_input(encoder):
        names = get_input_names(encoder)
        places = np.array([names.index(column.name) for column in encoder.columns_])
        features = graph.cast(inputs[0], graph.dtype)
        graph.add("Gather", features, places, output=output, axis=1)
        return
    if len(inputs) != len(encoder.columns_):
        names = [column.name for column in encoder.columns_]
        raise ValueError(
            f"The table encoder needs {len(names)} inputs of shape (n, 1), for the columns "
            f"{names}, got {len(inputs)}."
        )
    blocks = [
        _add_column(graph, name, column)
        for name, column in zip(inputs, encoder.columns_, strict=True)
    ]
    graph.add("Concat", *blocks, output=output, axis=1)


def _add_column(graph: Graph, cells: str, column: Column) -> str:
    if isinstance(column, NumberColumn):
        return graph.cast(cells, graph.dtype)
    assert isinstance(column, CategoryColumn)
    rows, unknown = _list_rows(column)
    places = graph.add(
        "LabelEncoder",
        graph.add("Reshape", cells, np.array([-1])),
        op_domain="ai.onnx.ml",
        op_version=2,
        keys_strings=[word.encode() for word in rows],
        values_int64s=list(rows.values()),
        default_int64=unknown,
    )
    return graph.add("Gather", column.indicators, places)


def _list_rows(column: CategoryColumn) -> tuple[dict[str, int], int]:
    """Return the row of `column.indicators` of each word, and that of all others.

    Words are written as in tables; words for missing cells and booleans also in other cases.
    """
    unknown, missing = column.other_rows
    rows = {
        form: missing for word in MISSING_WORDS for form in (word, word.upper(), word.capitalize())
    }
    rows |= {"NaN": missing, "NaT": missing}
    for word, row in column.word_rows.items():
        rows[word] = row
        if word in BOOLEANS:
            rows |= dict.fromkeys((word.lower(), word.upper()), row)
    return rows, unknown
