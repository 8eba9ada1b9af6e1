"""Conversion of one column of any container to numbers, by rules for its type."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from numbers import Complex, Real
from typing import Any

import numpy as np

from opgd._utils.text import list_names
from opgd.core.types import AnyArray

KINDS = {
    "numbers": r"bool|u?int\d|float|double|halffloat|longdouble|decimal",
    "objects": r"object|null|sparse",
    "nested values": r"list|large_list|fixed_size_list|array|struct|map|void|record",
    "text": r"str|large_str|utf8|byte|binary|large_binary|fixed_size_binary",
    "dates or times": r"date|time|duration|period|month",
    "categories": r"categor|enum|dictionary|interval",
    "complex numbers": r"complex|clongdouble",
}
"""Prefixes of the names of dtypes in NumPy, pandas, polars and pyarrow, in lower case.

Columns of objects are classified by their values.
"""
ADVICE = {
    "text": "Encode {them} (for example with opgd.TableEncoder) or drop {them}.",
    "categories": "Encode {them} (for example with opgd.TableEncoder) or drop {them}.",
    "dates or times": (
        "Convert {them} to numbers (for example with opgd.TableEncoder) or drop {them}."
    ),
    "nested values": "Expand {them} into columns of numbers or drop {them}.",
}


TYPES: dict[str, tuple[type, ...]] = {  # the first that applies; np.timedelta64 is an integer
    "dates or times": (date, time, timedelta, np.datetime64, np.timedelta64),
    "text": (str, bytes),
    "numbers": (Real, Decimal, np.bool_),
    "categories": (Enum,),
    "complex numbers": (Complex,),
    "nested values": (list, tuple, set, frozenset, np.ndarray),
}
"""Types of objects in columns."""
USABLE = ("numbers", "missing")


@dataclass(frozen=True)
class Fault:
    """The reason why a column cannot be converted to numbers."""

    kind: str
    detail: str = ""


def classify_dtype(dtype: Any) -> str:
    """Return the kind of a dtype, one of `KINDS`; unknown dtypes are treated as objects."""
    name = (dtype.name if isinstance(dtype, np.dtype) else str(dtype)).lower()
    return next((kind for kind, start in KINDS.items() if re.match(start, name)), "objects")


def is_plain(dtype: Any) -> bool:
    """Return whether a dtype is a boolean, integer or float type of NumPy."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def convert_column(column: Any, dtype: Any) -> AnyArray | Fault:
    """Return a column as numbers, nan where missing, or the reason why that is impossible."""
    kind = classify_dtype(dtype)
    if kind == "text":
        return Fault("text", _describe_text(np.asarray(column, dtype=object)))
    if kind not in ("numbers", "objects"):
        return Fault(kind)
    if kind == "numbers" and hasattr(column, "iloc") and not isinstance(dtype, np.dtype):
        single = str(dtype).lower().startswith(("float32", "float["))
        precision = np.float32 if single else np.float64
        numbers: AnyArray = column.to_numpy(dtype=precision, na_value=np.nan)
        return numbers
    if str(dtype).endswith("Int128"):  # polars has larger integers than NumPy
        return convert_objects(np.array(column.to_list(), dtype=object))
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return values
    return convert_objects(np.asarray(column, dtype=object))


def convert_objects(values: AnyArray) -> AnyArray | Fault:
    """Return objects, (n,), as numbers, or the reason why that is impossible."""
    types = {type(value) for value in values}
    kinds = {kind: found for found in types if (kind := classify_type(found)) not in USABLE}
    if "text" in kinds:
        return Fault("text", _describe_text(values))
    if kinds:
        kind, found = next(iter(kinds.items()))
        reason = f"float() argument must be a string or a real number, not {found.__name__!r}"
        return Fault(kind, reason if kind == "other objects" else "")
    if any(classify_type(found) == "missing" for found in types):
        values = np.array(
            [np.nan if classify_type(type(value)) == "missing" else value for value in values],
            dtype=object,
        )
    try:
        return values.astype(np.float64)
    except OverflowError:
        return Fault("too large", str(next(i for i, value in enumerate(values) if _is_huge(value))))


def classify_type(found: type) -> str:
    """Return the kind of the values of a Python type."""
    if is_missing_type(found):
        return "missing"
    for kind, types in TYPES.items():
        if issubclass(found, types):
            return kind
    return "other objects"


def compute_lazy(values: Any) -> Any:
    """Return Dask collections as values in memory."""
    return values.compute() if hasattr(values, "__dask_graph__") else values


def fill_masked(values: Any) -> AnyArray:
    """Return a masked array as an array, of objects with None for masked values if there are any.

    The values under a mask are not used.
    """
    if not np.ma.is_masked(values):
        return np.asarray(values)
    filled = np.array(values.data, dtype=object)
    filled[np.ma.getmaskarray(values)] = None
    return filled


def is_missing_type(found: type) -> bool:
    """Return whether all values of a type are missing: None, pandas' NA, NumPy's masked."""
    return found is type(None) or found.__name__ in ("NAType", "MaskedConstant")


def _is_huge(value: Any) -> bool:
    try:
        float(value)
    except OverflowError:
        return True
    return False


def _describe_text(values: Iterable[Any]) -> str:
    """Return the reason why the first text among values is not a number."""
    for value in values:
        if isinstance(value, str | bytes):
            try:
                float(value)
            except ValueError as error:
                return str(error)
            return f"text such as {value!r}"
    return ""


def raise_faults(faults: dict[str, Fault]) -> None:
    """Raise an error that names the columns with faults; TypeError for unknown objects only."""
    kinds = list(dict.fromkeys(fault.kind for fault in faults.values()))
    names = list(faults)
    subject = "Column" if len(names) == 1 else "Columns"
    listed = f"{subject} {list_names(names)}"
    pronoun = "it" if len(names) == 1 else "them"
    first = faults[names[0]]
    if len(kinds) > 1:
        raise ValueError(
            f"{listed} are not numeric ({', '.join(kinds)}). Convert them to numbers or drop them; "
            "TableEncoder does so as the first step of a Pipeline."
        )
    if first.kind == "complex numbers":
        raise ValueError(
            f"Complex data not supported. {listed} {'contains' if len(names) == 1 else 'contain'} "
            "complex numbers; use their real and imaginary parts as separate columns."
        )
    if first.kind == "too large":
        verb = "has a value" if len(names) == 1 else "have values"
        raise ValueError(
            f"{listed} {verb} too large for a float, first in row {first.detail}. "
            f"Rescale {pronoun} or drop {pronoun}."
        )
    verb = "is" if len(names) == 1 else "are"
    error = TypeError if first.kind == "other objects" else ValueError
    is_detailed = first.detail and (len(names) == 1 or error is TypeError)
    reason = first.detail if is_detailed else first.kind
    advice = ADVICE.get(first.kind, "Convert {them} to numbers or drop {them}.")
    raise error(f"{listed} {verb} not numeric ({reason}). {advice.format(them=pronoun)}")
