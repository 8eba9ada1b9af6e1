"""Columns that clusters reproduce: values determine clusters, or clusters values."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from opgd.core.types import AnyArray, IntArray
from opgd.inspection.pipelines import OriginalColumns

MIN_SHARE = 0.98
"""Share of the rows that must agree."""
MAX_VALUES = 20
MIN_ROWS_PER_VALUE = 5
MIN_KNOWN = 0.5
"""Share of the rows that must have a value."""


@dataclass(frozen=True)
class FollowedColumn:
    """A column whose values determine the clusters, or the reverse."""

    name: str
    share: float  # of the rows that agree
    values: list[str | None]  # by cluster: the most frequent value, None for an empty cluster
    determines: bool  # whether values determine clusters; otherwise clusters determine values


def find_followed_column(
    codes: IntArray,
    n_clusters: int,
    cells: AnyArray,
    names: list[str],
    originals: OriginalColumns | None,
) -> FollowedColumn | None:
    """Return the column that agrees best with the clusters, None if none agrees.

    Columns are those of the table before the steps of a pipeline, or the features in `cells`,
    (n, p); `codes` are the clusters, -1 for noise.
    """
    found = [
        followed
        for name, words, values in _list_categories(cells, names, originals)
        if (followed := _compare(name, words, values, codes, n_clusters)) is not None
    ]
    return max(found, key=lambda column: (column.determines, column.share), default=None)


def _list_categories(
    cells: AnyArray, names: list[str], originals: OriginalColumns | None
) -> Iterable[tuple[str, list[str], IntArray]]:
    """Yield name, distinct values and codes of each column with few values."""
    if originals is not None:
        for name, column in zip(originals.names, originals.cells, strict=True):
            if 2 <= len(column.words) <= MAX_VALUES:
                yield name, list(column.words), column.codes
        return
    for j, name in enumerate(names):
        observed = ~np.isnan(cells[:, j])
        distinct, places = np.unique(cells[observed, j], return_inverse=True)
        if 2 <= len(distinct) <= MAX_VALUES:
            codes = np.full(len(cells), -1)
            codes[observed] = places
            yield name, [f"{value:g}" for value in distinct], codes


def _compare(
    name: str, words: list[str], values: IntArray, codes: IntArray, n_clusters: int
) -> FollowedColumn | None:
    """Return the column if it agrees with the clusters, whichever determines the other."""
    known = (codes >= 0) & (values >= 0)
    n_known = int(known.sum())
    if n_known < max(MIN_KNOWN * len(codes), MIN_ROWS_PER_VALUE * len(words)):
        return None
    table = np.zeros((len(words), n_clusters), dtype=np.intp)
    np.add.at(table, (values[known], codes[known]), 1)
    most = [words[int(column.argmax())] if column.sum() else None for column in table.T]
    for determines, counts in ((True, table), (False, table.T)):
        share = float(counts.max(axis=1).sum() / n_known)
        reached = set(counts[counts.any(axis=1)].argmax(axis=1).tolist())
        wanted = np.flatnonzero(table.any(axis=0)) if determines else range(2)
        if share >= MIN_SHARE and len(reached) >= max(2, len(wanted)):
            return FollowedColumn(name, share, most, determines)
    return None
