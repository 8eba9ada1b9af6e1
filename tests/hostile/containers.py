"""The same column in every container: what X and y may contain, and what happens then.

A content is declared once, as a column of pyarrow or as Python objects; every container that can
hold it is made from that, and all containers must have the same outcome.
"""

import datetime as dt
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.hostile.outcomes import table
from tests.hostile.registry import ESTIMATORS, classifies, name_of

pl = pytest.importorskip("polars")  # not to be had for free-threaded Pythons

pa = pytest.importorskip("pyarrow", exc_type=ImportError)  # it may not support the oldest NumPy

try:
    import dask.array as da
    import dask.dataframe as dd
except ImportError:  # optional
    da = dd = None

NAMES = ["a", "b", "c", "d"]
MISSING = 3
"""The row without a value, in contents with a missing one."""
NO_VALUE = "missing"
"""Outcome of missing values, which some estimators accept."""


@dataclass(frozen=True)
class Content:
    """A column, and the outcome: "accepted", or the type of an error and words of its message."""

    name: str
    values: list[Any]
    type: Any  # of pyarrow, None for objects that it cannot have
    outcome: str
    words: str = ""


def _days():
    return [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(len(table()[1]))]


def _with_missing(values):
    return [None if i == MISSING else value for i, value in enumerate(values)]


def feature_contents() -> list[Content]:
    column = table()[0][:, 1].tolist()
    whole = [round(value) for value in column]
    days = _days()
    times = [dt.datetime(2020, 1, 1, 0, i % 60) for i in range(len(days))]
    refused, utc = "ValueError", dt.UTC
    rows = [
        ("floats", column, pa.float64(), "accepted"),
        ("integers", whole, pa.int64(), "accepted"),
        ("booleans", [value > 0 for value in column], pa.bool_(), "accepted"),
        ("decimals", [Decimal(value) for value in whole], pa.decimal128(10, 2), "accepted"),
        ("a missing float", _with_missing(column), pa.float64(), NO_VALUE, "NaN or infinity in"),
        ("a missing integer", _with_missing(whole), pa.int64(), NO_VALUE, "NaN or infinity in"),
        (
            "a missing boolean",
            _with_missing([value > 0 for value in column]),
            pa.bool_(),
            NO_VALUE,
            "NaN or infinity in",
        ),
        (
            "infinity",
            [np.inf if i == MISSING else value for i, value in enumerate(column)],
            pa.float64(),
            refused,
            "infinity in",
        ),
        ("text", ["low" if value > 0 else "high" for value in column], pa.string(), refused),
        ("numbers as text", [str(value) for value in whole], pa.string(), refused),
        ("categories", ["low" if v > 0 else "high" for v in column], "categories", refused),
        ("dates", days, pa.date32(), refused),
        ("dates and times", times, pa.timestamp("us"), refused),
        ("a missing date (NaT)", _with_missing(times), pa.timestamp("us"), refused),
        (
            "times with a time zone",
            [time.replace(tzinfo=utc) for time in times],
            pa.timestamp("us", "UTC"),
            refused,
        ),
        ("times of day", [time.time() for time in times], pa.time64("us"), refused),
        ("durations", [time - times[0] for time in times], pa.duration("us"), refused),
        ("lists", [[value] for value in column], pa.list_(pa.float64()), refused),
        ("complex numbers", [complex(value, 1) for value in column], None, refused, "Complex data"),
        (
            "an integer of 400 digits",
            [10**399 if i == MISSING else value for i, value in enumerate(whole)],
            None,
            refused,
            "too large for a float",
        ),
        (
            "text and numbers",
            ["low" if i == MISSING else value for i, value in enumerate(column)],
            None,
            refused,
        ),
        (
            "other objects",
            [{} if i == MISSING else value for i, value in enumerate(column)],
            None,
            "TypeError",
            "not 'dict'",
        ),
    ]
    return [Content(*row[:4], row[4] if len(row) > 4 else "not numeric") for row in rows]


def label_contents() -> list[Content]:
    y = table()[1]
    days = [dt.datetime(2020, 1, 1 + int(code)) for code in y]
    words = [["low", "middle", "up"][code] for code in y]
    missing, several = "missing labels, first at position 3", "labels of several types"
    rows = [
        ("integers", y.tolist(), pa.int64(), "accepted"),
        ("integers beyond 2^53", [2**53 + int(code) for code in y], pa.int64(), "accepted"),
        ("text", words, pa.string(), "accepted"),
        ("the string 'nan'", [["a", "b", "nan"][code] for code in y], pa.string(), "accepted"),
        ("categories", words, "categories", "accepted"),
        ("booleans", [bool(code) for code in y], pa.bool_(), "accepted"),
        ("dates", days, pa.timestamp("us"), "accepted"),
        ("integers beyond 2^64", [2**70 + int(code) for code in y], None, "accepted"),
        ("a missing integer", _with_missing(y.tolist()), pa.int64(), "ValueError", missing),
        (
            "a missing integer beyond 2^53",
            _with_missing([2**53 + int(code) for code in y]),
            pa.int64(),
            "ValueError",
            missing,
        ),
        ("missing text", _with_missing(words), pa.string(), "ValueError", missing),
        ("a missing category", _with_missing(words), "categories", "ValueError", missing),
        ("a missing date (NaT)", _with_missing(days), pa.timestamp("us"), "ValueError", missing),
        (
            "NaN among text",
            [float("nan") if i == MISSING else word for i, word in enumerate(words)],
            None,
            "ValueError",
            missing,
        ),
        (
            "text and integers",
            [i if i == MISSING else word for i, word in enumerate(words)],
            None,
            "ValueError",
            several,
        ),
        (
            "booleans and integers",
            [True if code else 7 for code in y.tolist()],
            None,
            "ValueError",
            several,
        ),
        (
            "continuous values",
            table()[0][:, 0].tolist(),
            pa.float64(),
            "ValueError",
            "Unknown label type",
        ),
        (
            "infinity",
            [np.inf if i == MISSING else float(code) for i, code in enumerate(y)],
            pa.float64(),
            "ValueError",
            "infinity",
        ),
    ]
    return [Content(*row) for row in rows]


# containers of one column


def _arrow(content):
    if content.type is None:
        return None
    if content.type == "categories":
        return pa.array(content.values).dictionary_encode()
    return pa.array(content.values, content.type)


def _objects(content):
    column = np.empty(len(content.values), dtype=object)
    column[:] = content.values
    return column


def _pandas(content):
    arrow = _arrow(content)
    if content.name == "a missing integer beyond 2^53":
        return None  # floats of pandas, which have lost the integers
    return pd.Series(_objects(content) if arrow is None else arrow.to_pandas(), name="b")


def _nullable(content):
    if content.type == pa.int64():
        return pd.Series(content.values, dtype="Int64", name="b")
    arrow = _arrow(content)
    return None if arrow is None else pd.Series(arrow.to_pandas(), name="b").convert_dtypes()


def _pyarrow_backed(content):
    arrow = _arrow(content)
    return None if arrow is None else pd.Series(arrow, dtype=pd.ArrowDtype(arrow.type), name="b")


def _polars(content):
    arrow = _arrow(content)
    return (
        pl.Series("b", content.values, dtype=pl.Object) if arrow is None else pl.Series("b", arrow)
    )


def _numpy(content):
    if content.type in (pa.float64(), pa.int64(), pa.bool_()) and None not in content.values:
        return np.array(content.values)
    if content.type == pa.timestamp("us"):
        return np.array(content.values, dtype="M8[us]")
    return _objects(content)


def _masked(content):
    """The missing value under a mask, with a valid one below it."""
    if content.type in (None, "categories"):
        return None
    first = content.values[0]
    values = np.array([first if value is None else value for value in content.values])
    if values.dtype.kind not in "biufU" or values.ndim > 1:
        return None
    return np.ma.masked_array(values, [value is None for value in content.values])


def _is_for_dask(content):
    """Whether Dask keeps these values; it makes text of columns of objects."""
    return da is not None and content.type is not None


# containers of X


def _frame(column):
    X = table()[0]
    return pd.DataFrame({"a": X[:, 0], "b": column, "c": X[:, 2], "d": X[:, 3]})


def _x_list(content):
    rows = table()[0].tolist()
    return [[*row[:1], value, *row[2:]] for row, value in zip(rows, content.values, strict=True)]


def _x_numpy(content):
    column = _numpy(content)
    if column is None:
        return None
    if column.dtype.kind in "biuf":
        X = table()[0].copy()
        X[:, 1] = column
        return X
    if column.dtype.kind == "M":  # arrays have one type
        return np.tile(column[:, None], 4)
    X = table()[0].astype(object)
    X[:, 1] = column
    return X


def _x_masked(content):
    column = _masked(content)
    if column is None or column.dtype.kind == "U":
        return None
    X = np.ma.masked_array(table()[0].copy())
    X[:, 1] = column
    return X


def _x_frame(make: Callable[[Content], Any]):
    def build(content):
        column = make(content)
        return None if column is None else _frame(column)

    return build


def _x_polars(content):
    return pl.DataFrame(
        [pl.Series(NAMES[0], table()[0][:, 0]), _polars(content)]
        + [pl.Series(NAMES[j], table()[0][:, j]) for j in (2, 3)]
    )


def _x_arrow(content):
    arrow = _arrow(content)
    if arrow is None:
        return None
    X = table()[0]
    return pa.table({"a": X[:, 0], "b": arrow, "c": X[:, 2], "d": X[:, 3]})


def _x_dask_array(content):
    X = _x_numpy(content) if _is_for_dask(content) else None
    return None if X is None else da.from_array(X, chunks=(20, 4))


def _x_dask_frame(content):
    if not _is_for_dask(content):
        return None
    column = _nullable(content)
    column = _pyarrow_backed(content) if column.dtype == object else column
    return dd.from_pandas(_frame(column), npartitions=2)


FEATURE_CONTAINERS = {
    "list": _x_list,
    "NumPy": _x_numpy,
    "masked array": _x_masked,
    "pandas": _x_frame(_pandas),
    "pandas (nullable)": _x_frame(_nullable),
    "pandas (pyarrow)": _x_frame(_pyarrow_backed),
    "polars": _x_polars,
    "pyarrow": _x_arrow,
    "Dask array": _x_dask_array,
    "Dask data frame": _x_dask_frame,
}
LABEL_CONTAINERS = {
    "list": lambda content: content.values,
    "NumPy": _numpy,
    "masked array": _masked,
    "pandas": _pandas,
    "pandas (nullable)": _nullable,
    "pandas (pyarrow)": _pyarrow_backed,
    "polars": _polars,
    "pyarrow": _arrow,
}
NAMED = {name: model for name, model in ESTIMATORS.items() if name == name_of(model)}
"""Estimators without their variants, which validate input in the same way."""
LABELED = {name: model for name, model in NAMED.items() if classifies(model)}


def cases(contents, containers):
    """All contents in all containers that can have them, with what a user passes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of conversions in the containers
        for content in contents:
            for container, make in containers.items():
                given = make(content)
                if given is not None:
                    yield content, container, given


FEATURE_CASES = list(cases(feature_contents(), FEATURE_CONTAINERS))
LABEL_CASES = list(cases(label_contents(), LABEL_CONTAINERS))


def n_combinations() -> int:
    with_encoder = len(NAMED) + 1
    return len(FEATURE_CASES) * with_encoder + len(LABEL_CASES) * len(LABELED)


WORDS = {"accepted": "yes", NO_VALUE: "some"}


def _matrix(title, contents, containers, found) -> list[str]:
    held = {(content.name, container) for content, container, _ in found}
    lines = [f"| {' | '.join([title, *containers])} |", "| --- " * (1 + len(containers)) + "|"]
    for content in contents:
        word = WORDS.get(content.outcome, f"`{content.outcome}`")
        cells = [word if (content.name, name) in held else "" for name in containers]
        lines.append(f"| {' | '.join([content.name, *cells])} |")
    return [*lines, ""]


def markdown() -> str:
    """The tables of containers and contents in the guide."""
    return "\n".join(
        [
            "## Containers and types",
            "",
            'All containers follow the same rules: values are accepted ("yes"), or rejected with '
            "an error that names the column of X, or the problem in y.",
            "A cell is empty if the container cannot hold such values or the combination is not "
            "tested. `OPGDSemiSupervised` treats missing labels as unlabeled.",
            '"some": missing values of X are accepted by some estimators (see below), and rejected '
            "with `ValueError` by the others.",
            f"{n_combinations()} combinations of container, content and estimator are tested "
            "(`tests/hostile/test_containers.py`).",
            "",
            *_matrix("column of X", feature_contents(), FEATURE_CONTAINERS, FEATURE_CASES),
            *_matrix("y", label_contents(), LABEL_CONTAINERS, LABEL_CASES),
        ]
    )
