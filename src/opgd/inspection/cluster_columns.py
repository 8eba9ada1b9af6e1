"""Profiles of clusters by column, with words for the columns of a table that are not numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.pipelines import OriginalColumns, Unwrapped, WordCells

MAX_COLUMNS = 40


@dataclass(frozen=True)
class ColumnProfile:
    """What the cells of one column are in each cluster."""

    name: str
    cells: list[str]  # by cluster: a mean, or the most frequent word with its share
    differences: list[float]  # from the other clusters, in standard deviations
    is_number: bool = True
    is_date: bool = False

    def describe(self, cluster: int) -> str:
        """Return what the column is in a cluster, such as "low age (31)" or "plan gold (98%)"."""
        if not self.is_number:
            return f"{self.name} {self.cells[cluster]}"
        sides = ("late", "early") if self.is_date else ("high", "low")
        side = sides[0] if self.differences[cluster] > 0 else sides[1]
        return f"{side} {self.name} ({self.cells[cluster]})"

    @property
    def strength(self) -> float:
        """The largest difference."""
        return max(map(abs, self.differences), default=0.0)


@dataclass(frozen=True)
class ClusterLine:
    """One cluster in words."""

    size: int
    share: float
    words: list[str]  # columns that distinguish it, with values
    representatives: list[int]  # rows with the highest density in the cluster


@dataclass(frozen=True)
class ClusterProfiles:
    """Clusters by column, and in words."""

    columns: list[ColumnProfile]
    lines: list[ClusterLine]
    n_columns: int


def profile_clusters_by_column(
    mixture: Any, X: Any, codes: IntArray, originals: OriginalColumns | None, unwrapped: Unwrapped
) -> ClusterProfiles:
    """Return the profiles of the columns of the table, strongest differences first.

    Columns that a table encoder turned into categories have the most frequent word of each
    cluster; the others have means, from `OPGDMixture.profiles`.
    """
    profiles = mixture.profiles(X)
    names = unwrapped.names or list(profiles[0].features)
    means = np.array([profile.means for profile in profiles])  # (K, p)
    differences = np.clip([profile.differences for profile in profiles], -99.0, 99.0)
    columns = _profile_words(codes, len(profiles), originals, unwrapped)
    origins = unwrapped.date_origins
    covered = {
        output
        for entry in unwrapped.table or []
        for output in entry["outputs"]
        if entry["column"] in columns
    }
    found = list(columns.values()) + [
        _profile_numbers(name, means[:, j], differences[:, j].tolist(), origins.get(name))
        for j, name in enumerate(names)
        if name not in covered
    ]
    found.sort(key=lambda column: -column.strength)
    lines = [
        ClusterLine(
            size=profile.size,
            share=profile.share,
            words=_describe(found, k),
            representatives=[int(row) for row in profile.representatives],
        )
        for k, profile in enumerate(profiles)
    ]
    return ClusterProfiles(found[:MAX_COLUMNS], lines, len(found))


def _profile_numbers(
    name: str, means: FloatArray, differences: list[float], origin: float | None
) -> ColumnProfile:
    """Return the means of a feature; days since `origin` are printed as dates."""
    if origin is None:
        return ColumnProfile(name, [_format(mean) for mean in means], differences)
    dates = [np.datetime64(0, "D") + round(origin + mean) for mean in np.nan_to_num(means)]
    cells = [str(date) for date in dates]
    return ColumnProfile(name.removesuffix(":days"), cells, differences, is_date=True)


def _format(mean: float) -> str:
    text = f"{mean:.0f}" if 100 <= abs(mean) < 1e6 else f"{mean:.3g}"
    return text.replace("-", "\u2212")


def _describe(columns: list[ColumnProfile], cluster: int) -> list[str]:
    """Return the three columns with the largest differences of at least 0.8 in words."""
    strongest = sorted(columns, key=lambda column: -abs(column.differences[cluster]))[:3]
    return [
        column.describe(cluster) for column in strongest if abs(column.differences[cluster]) >= 0.8
    ]


def _profile_words(
    codes: IntArray, n_clusters: int, originals: OriginalColumns | None, unwrapped: Unwrapped
) -> dict[str, ColumnProfile]:
    """Return the profiles of the columns that a table encoder treats as categories."""
    if originals is None or unwrapped.table is None:
        return {}
    categories = {entry["column"] for entry in unwrapped.table if entry["kind"] == "category"}
    return {
        name: _profile_column(name, cells, codes, n_clusters)
        for name, cells in zip(originals.names, originals.cells, strict=True)
        if name in categories
    }


def _profile_column(name: str, cells: WordCells, codes: IntArray, n_clusters: int) -> ColumnProfile:
    words, texts, differences = cells.codes, [], []
    for cluster in range(n_clusters):
        inside = _count_shares(words[codes == cluster], len(cells.words))
        outside = _count_shares(words[(codes >= 0) & (codes != cluster)], len(cells.words))
        if not inside.any():
            texts.append("\u2013")
            differences.append(0.0)
            continue
        top = int(np.argmax(inside))
        texts.append(f"{cells.words[top]} ({inside[top]:.0%})")
        spread = np.sqrt((inside * (1 - inside) + outside * (1 - outside)) / 2)
        steps = (inside - outside) / np.maximum(spread, 0.1)
        differences.append(float(steps[np.argmax(np.abs(steps))]))
    return ColumnProfile(name, texts, differences, is_number=False)


def _count_shares(codes: AnyArray, n_words: int) -> FloatArray:
    known = codes[codes >= 0]
    return np.bincount(known, minlength=n_words) / max(1, len(known))
