"""Pack the rows that a report draws as small typed arrays in base64."""

import base64
from collections import Counter
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.pipelines import OriginalColumns

EXACT_BYTES = 2**22
"""Up to this size columns are stored as float32, beyond it as 16-bit steps of their range."""
COLUMN_BYTES = 3_200_000
"""Maximum size of all columns in 16 bits; those with the smallest loadings are dropped."""
NAME_BYTES = 1_500_000
ORIGINAL_BYTES = 2_000_000
"""Maximum size of the columns of a table before the steps of a pipeline."""
MAX_NAME_LENGTH = 400
SMALLEST, LARGEST = 1e-30, 1e30
"""Sizes of numbers that float32 represents well."""
MAX_STRETCH = 20.0
"""Ratio of the range of a column to that of 99% of its values up to which steps are used."""


def pack(values: AnyArray, dtype: str) -> dict[str, Any]:
    """Return an array as little-endian bytes in base64, with its type."""
    data = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"type": dtype, "data": base64.b64encode(data.tobytes()).decode("ascii")}


def pack_codes(codes: IntArray) -> dict[str, Any]:
    """Pack group codes, -1 for rows without a group."""
    return pack(codes, "int16" if codes.max(initial=0) < 2**15 else "int32")


def pack_centered(values: FloatArray, offset: float = 0.0) -> dict[str, Any]:
    """Pack values as float32 differences from their midrange; `offset` is added when unpacked.

    The differences keep the digits that float32 would lose for values far from zero. Values beyond
    the range of float32, or below it, are packed as float64.
    """
    low, high = _find_range(values)
    middle = low / 2 + high / 2
    half = high / 2 - low / 2
    if not SMALLEST < half < LARGEST and (half or 0 < abs(middle) < SMALLEST):
        return pack(values, "float64") | {"offset": offset, "step": 1.0}
    return pack(values - middle, "float32") | {"offset": middle + offset, "step": 1.0}


def pack_plain(values: FloatArray) -> dict[str, Any]:
    """Pack values as float32, so that small values keep their digits."""
    return pack(values, "float32") | {"offset": 0.0, "step": 1.0}


def _find_range(values: FloatArray) -> tuple[float, float]:
    """Return the least and the greatest value that is not missing, zeros if there is none."""
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)


def pack_steps(values: FloatArray) -> dict[str, Any]:
    """Pack values as 16-bit integers: multiples of 1 / 65534 of their range.

    If a few extreme values make up most of the range, the steps would be too coarse for the others,
    and the values are packed as floating-point numbers.
    """
    low, high = _find_range(values)
    if high > low:
        inner = np.nanquantile(values, [0.005, 0.995])
        if high / MAX_STRETCH - low / MAX_STRETCH > inner[1] - inner[0]:
            return pack_centered(values)
    middle = low / 2 + high / 2
    step = (high / 65534 - low / 65534) or 1.0
    return pack(np.rint((values - middle) / step), "int16") | {"offset": middle, "step": step}


def select_fitting_columns(order: IntArray, n_rows: int) -> IntArray:
    """Return the first columns of `order`, as many as fit into COLUMN_BYTES, at least one."""
    return order[: max(1, COLUMN_BYTES // (2 * n_rows))]


def pack_columns(rows: AnyArray, columns: IntArray, missing: AnyArray) -> list[dict[str, Any]]:
    """Pack the selected columns of completed rows, as float32 or as 16-bit steps.

    Columns with missing cells have the indices of their rows; `missing` is a mask, (n, p).
    """
    exact = 4 * len(rows) * len(columns) <= EXACT_BYTES
    pack_column = pack_centered if exact else pack_steps
    packed = []
    for j in columns:
        gaps = np.flatnonzero(missing[:, j])
        column = pack_column(rows[:, j].astype(np.float64))
        packed.append(column | ({"missing": pack(gaps, "int32")} if len(gaps) else {}))
    return packed


def pack_originals(originals: OriginalColumns, drawn: IntArray) -> list[dict[str, Any]]:
    """Pack the columns of a table as distinct words and codes, as many as fit."""
    packed, room = [], ORIGINAL_BYTES
    for name, cells in zip(originals.names, originals.cells, strict=True):
        places, codes = np.unique(cells.codes[drawn], return_inverse=True)
        words = [cells.words[place] for place in places if place >= 0]
        room -= sum(len(word) + 3 for word in words) + 3 * len(drawn)
        if room < 0:
            break
        shift = int(np.any(places < 0))  # the code of missing cells comes first
        packed.append({"name": name, "words": words, "codes": pack_codes(codes - shift)})
    return packed


def get_row_names(X: Any, rows: IntArray) -> list[str] | None:
    """Return row names from the index of a DataFrame, or None if the index is 0, 1, ...

    Names that occur more than once are followed by the position of the row.
    """
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "columns") or callable(index):
        return None
    labels = index[rows]
    if labels.nlevels == 1 and labels.dtype.kind in "iu" and np.array_equal(labels, rows):
        return None
    names = [str(name)[:MAX_NAME_LENGTH] for name in labels.tolist()]
    counts = Counter(names)
    names = [
        name if counts[name] == 1 else f"{name} (row {row})"
        for name, row in zip(names, rows.tolist(), strict=True)
    ]
    return names if sum(map(len, names)) <= NAME_BYTES else None
