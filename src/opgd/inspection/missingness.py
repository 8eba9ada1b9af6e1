"""Shares and patterns of missing values."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd._utils.labels import find_missing
from opgd.core.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Missingness:
    """Shares of missing values, and which features are missing together.

    Attributes
    ----------
    columns : list of str
        Names of all features.
    shares : ndarray of shape (n_features,)
        Share of missing values of each feature.
    patterns : ndarray of shape (n_patterns, n_features), of bool
        Distinct combinations of missing features, the most frequent first.
    counts : ndarray of shape (n_patterns,)
        Number of samples with each pattern.
    """

    columns: list[str]
    shares: FloatArray
    patterns: AnyArray
    counts: IntArray


def summarize_missing(X: Any) -> Missingness:
    """Count missing values of an array or a data frame."""
    is_missing = find_missing_cells(X)
    names = getattr(X, "columns", None)
    columns = [f"column {j}" for j in range(is_missing.shape[1])]
    if names is not None:
        columns = [str(name) for name in names]
    _, first, counts = np.unique(
        np.packbits(is_missing, axis=1), axis=0, return_index=True, return_counts=True
    )
    order = np.argsort(-counts, kind="stable")
    patterns = is_missing[first[order]]
    return Missingness(columns, is_missing.mean(axis=0), patterns, counts[order])


def find_missing_cells(X: Any) -> AnyArray:
    """Return where values are missing (NaN, NA, None), (n_samples, n_features)."""
    if hasattr(X, "isna"):
        mask = np.asarray(X.isna(), dtype=bool)
    else:
        values = np.asarray(X)
        mask = find_missing(values.ravel()).reshape(values.shape) | np.ma.getmaskarray(X)
    if mask.ndim != 2 or 0 in mask.shape:
        raise ValueError(f"X must have samples and features, got shape {mask.shape}.")
    return mask
