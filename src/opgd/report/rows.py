"""The rows that a report draws, as small typed arrays in base64."""

import base64
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray

EXACT_BYTES = 2**22
"""Columns are float32 up to here; beyond it 16-bit steps of their range."""
COLUMN_BYTES = 3_200_000
"""Columns that do not fit, even in 16 bits, are left out: those with the least loadings."""
NAME_BYTES = 1_500_000
LONGEST_NAME = 400


def packed(values: AnyArray, dtype: str) -> dict[str, Any]:
    """An array for the page: little-endian bytes in base64, and their type."""
    data = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"type": dtype, "data": base64.b64encode(data.tobytes()).decode("ascii")}


def packed_codes(codes: IntArray) -> dict[str, Any]:
    """Class codes, -1 for none."""
    return packed(codes, "int16" if codes.max(initial=0) < 2**15 else "int32")


def packed_centred(values: FloatArray, offset: float = 0.0) -> dict[str, Any]:
    """Numbers plus an offset, as float32 differences from their middle: offsets cost no digits."""
    middle = float(values.min()) / 2 + float(values.max()) / 2
    return packed(values - middle, "float32") | {"offset": middle + offset, "step": 1.0}


def packed_steps(values: FloatArray) -> dict[str, Any]:
    """Numbers in 65534 steps of their range."""
    low, high = float(values.min()), float(values.max())
    middle = low / 2 + high / 2
    step = (high / 65534 - low / 65534) or 1.0
    return packed(np.rint((values - middle) / step), "int16") | {"offset": middle, "step": step}


def fitting_columns(order: IntArray, n_rows: int) -> IntArray:
    """As many columns, the most important first, as the page has room for."""
    return order[: max(1, COLUMN_BYTES // (2 * n_rows))]


def packed_columns(rows: AnyArray, columns: IntArray) -> list[dict[str, Any]]:
    """Some columns of the rows that are drawn."""
    exact = 4 * len(rows) * len(columns) <= EXACT_BYTES
    pack = packed_centred if exact else packed_steps
    return [pack(rows[:, j].astype(np.float64)) for j in columns]


def row_names(X: Any, rows: IntArray) -> list[str] | None:
    """Names of rows, of a table of pandas that has other ones than 0, 1, ...; None without."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "columns") or callable(index):
        return None
    own = index[rows]
    if own.nlevels == 1 and own.dtype.kind in "iu" and np.array_equal(own, rows):
        return None
    names = [str(name)[:LONGEST_NAME] for name in own.tolist()]
    return names if sum(map(len, names)) <= NAME_BYTES else None
