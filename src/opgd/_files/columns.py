"""Columns of batches as arrays: features as one block of numbers, labels one by one."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from opgd._files.sources import Source, is_numeric
from opgd._utils.columns import classify_dtype
from opgd._utils.text import list_names
from opgd.core.types import AnyArray

WHOLE_NUMBER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
"""Integers in canonical form."""
NUMBER = re.compile(r"[+-]?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""Numbers without leading zeros, since 007 is a code."""


def check_numeric(sources: Sequence[Source], names: Sequence[str]) -> None:
    """Raise ValueError for columns that are not numeric, by name."""
    types = sources[0].types
    faulty = [f"{name!r} ({types[name]})" for name in names if not is_numeric(types[name])]
    if faulty:
        one = len(faulty) == 1
        raise ValueError(
            f"{'Column' if one else 'Columns'} {list_names(faulty)} of {sources[0]} "
            f"{'is' if one else 'are'} not numeric. Leave {'it' if one else 'them'} out with "
            "`columns`, or encode batches of the table with opgd.TableEncoder."
        )


def choose_dtype(sources: Sequence[Source], names: Sequence[str]) -> Any:
    """Return the dtype of a block of features: that of an array in memory."""
    dtypes = set()
    for source in sources:
        for name in names:
            dtype = source.types[name]
            plain = pa.types.is_integer(dtype) or pa.types.is_floating(dtype)
            dtypes.add(np.dtype(dtype.to_pandas_dtype() if plain else np.float64))
    return np.float32 if np.result_type(*dtypes) == np.float32 else np.float64


def fill_block(batch: Any, names: Sequence[str], block: AnyArray) -> AnyArray:
    """Write columns of numbers, nan where missing, into the first rows of a block; return them."""
    rows = block[: batch.num_rows]
    for place, name in enumerate(names):
        column = batch.column(batch.schema.get_field_index(name))
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            column = column.cast(pa.float64())  # decimals, and columns without values
        rows[:, place] = column.to_numpy(zero_copy_only=False)
    return rows


def check_finite(rows: AnyArray, names: Sequence[str], first_row: int, source: Source) -> None:
    """Raise ValueError for infinite values; `first_row` counts the rows before these."""
    infinite = np.isinf(rows)
    if infinite.any():
        places = np.flatnonzero(infinite.any(axis=0)).tolist()
        row = first_row + int(np.flatnonzero(infinite.any(axis=1))[0])
        columns = list_names([repr(names[place]) for place in places])
        raise ValueError(
            f"{source} has infinite values in {columns}, first in row {row}. Replace them by "
            "missing values, or drop the rows."
        )


class ColumnArray:
    """A column of labels or weights that is collected batch by batch.

    Words are stored once each, with a code for every row.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._parts: list[AnyArray] = []
        self._codes: dict[Any, int] = {}
        self._is_text = False

    def append(self, column: Any, source: Source) -> None:
        """Append the values of one batch."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind = classify_dtype(column.type)
        if kind == "nested values":
            raise ValueError(
                f"Column {self.name!r} of {source} has values of type {column.type}; labels must "
                "be numbers, text or dates."
            )
        self._is_text = kind == "text"
        self._parts.append(
            self._encode(column) if self._is_text else column.to_numpy(zero_copy_only=False)
        )

    def _encode(self, column: Any) -> AnyArray:
        encoded = column.dictionary_encode()
        words = [*encoded.dictionary.to_pylist(), None]
        codes = [self._codes.setdefault(word, len(self._codes)) for word in words]
        places = encoded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
        return np.array(codes, dtype=np.int32)[places]

    def to_array(self, *, numbers: bool) -> AnyArray:
        """Return the values, (n,); text that consists of numbers is converted if `numbers`."""
        values = np.concatenate(self._parts)
        self._parts = []
        if not self._is_text:
            return values
        words = list(self._codes)
        known = [word for word in words if word is not None]
        if numbers and known and all(map(NUMBER.fullmatch, known)):
            is_whole = all(map(WHOLE_NUMBER.fullmatch, known))
            parsed = [(int if is_whole else float)(word or 0) for word in words]
            missing = values == self._codes.get(None, -1)
            decoded = np.array(parsed)[values]
            return np.where(missing, np.nan, decoded) if missing.any() else decoded
        objects = np.empty(len(words), dtype=object)
        objects[:] = words
        return objects[values]
