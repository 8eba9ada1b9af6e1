"""Find columns that repeat others: numbers up to units and rounding, categories up to names."""

from collections.abc import Mapping

import numpy as np

from opgd.core.types import AnyArray, FloatArray

MIN_CORRELATION = 1 - 1e-6
MAX_ROWS = 20_000
"""Rows, evenly spaced, that correlations are computed from."""
MAX_COLUMNS = 2_000


def find_repeated_numbers(columns: Mapping[str, AnyArray]) -> dict[str, str]:
    """Return the columns, (n,) each, that are linear functions of an earlier one, with its name."""
    names = list(columns)[:MAX_COLUMNS]
    if len(names) < 2:
        return {}
    standardized = np.column_stack([_standardize(columns[name]) for name in names])
    correlations = np.abs(standardized.T @ standardized)
    earlier = np.triu(correlations >= MIN_CORRELATION, k=1)
    repeated: dict[str, str] = {}
    for j, name in enumerate(names):
        originals = [names[i] for i in np.flatnonzero(earlier[:, j]) if names[i] not in repeated]
        if originals:
            repeated[name] = originals[0]
    return repeated


def _standardize(values: AnyArray) -> FloatArray:
    """Return values of mean zero and length one; missing ones are zero."""
    step = max(1, len(values) // MAX_ROWS)
    numbers = values[::step].astype(np.float64)
    known = np.isfinite(numbers)
    largest = np.abs(numbers[known]).max(initial=0.0) or 1.0
    centered = np.where(known, numbers / largest, 0.0)
    centered = np.where(known, centered - centered[known].mean() if known.any() else 0.0, 0.0)
    length = float(np.linalg.norm(centered))
    return centered / length if length > 0 else centered


def find_repeated_categories(columns: Mapping[str, AnyArray]) -> dict[str, str]:
    """Return the columns whose indicators, (n, k), group the rows like an earlier column."""
    seen: dict[bytes, str] = {}
    repeated: dict[str, str] = {}
    for name, indicators in columns.items():
        filled = np.column_stack([np.nan_to_num(indicators, nan=-1.0), np.ones(len(indicators))])
        _, codes = np.unique(filled @ np.arange(1, filled.shape[1] + 1), return_inverse=True)
        first = np.unique(codes, return_index=True)[1]
        in_order = np.argsort(np.argsort(first))[codes]  # numbered as they occur
        key = in_order.astype(np.int32).tobytes()
        if key in seen:
            repeated[name] = seen[key]
        seen.setdefault(key, name)
    return repeated
