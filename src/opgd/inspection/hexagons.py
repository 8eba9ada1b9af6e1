"""Hexagonal bins of points in groups, for plots with too many points to draw."""

from dataclasses import dataclass

import numpy as np

from opgd.core.types import FloatArray, IntArray

MAX_ROWS = 20_000
"""Number of rows that can be drawn one by one."""
N_COLUMNS = 70
"""Number of hexagons along the first axis."""
ASPECT = 0.8
"""Height of a plot divided by its width, which determines the shape of the hexagons."""


@dataclass(frozen=True, eq=False)
class Hexagons:
    """Hexagons that contain points.

    Attributes
    ----------
    centers : ndarray of shape (n_hexagons, 2)
        Centers of the hexagons.
    corners : ndarray of shape (6, 2)
        Corners relative to the center.
    counts : ndarray of shape (n_hexagons,)
        Number of points in each hexagon.
    codes : ndarray of shape (n_hexagons,)
        Group with the largest number of points in each hexagon.
    shares : ndarray of shape (n_hexagons,)
        Share of this group among the points in the hexagon.
    """

    centers: FloatArray
    corners: FloatArray
    counts: IntArray
    codes: IntArray
    shares: FloatArray


def needs_hexagons(requested: bool | None, n_rows: int, max_rows: int | None) -> bool:
    """Return whether to draw hexagons: by default, if a large number of rows cannot be drawn."""
    if requested is None:
        return max_rows is not None and n_rows > max_rows >= MAX_ROWS
    return bool(requested)


def bin_hexagons(points: FloatArray, codes: IntArray, limits: FloatArray) -> Hexagons:
    """Count the points of each group in hexagons within limits, (2, 2)."""
    inside = np.all((points >= limits[0]) & (points <= limits[1]), axis=1)
    points, codes = points[inside], codes[inside]
    step = (limits[1] - limits[0]) / [N_COLUMNS, N_COLUMNS * ASPECT / np.sqrt(3)]
    cells = _find_cells((points - limits[0]) / step)
    groups, codes = np.unique(codes, return_inverse=True)
    n_rows = int(cells[:, 1].max(initial=0)) + 1
    keys, members = np.unique(cells[:, 0] * n_rows + cells[:, 1], return_inverse=True)
    shape = len(keys), max(1, len(groups))
    table = np.bincount(members * shape[1] + codes, minlength=shape[0] * shape[1]).reshape(shape)
    counts, largest = table.sum(axis=1), np.argmax(table, axis=1)
    angles = np.pi / 6 + np.pi / 3 * np.arange(6)
    radius = step * [1 / np.sqrt(3), 1 / 3]  # of a regular hexagon in units of the two steps
    return Hexagons(
        centers=limits[0] + 0.5 * np.column_stack(np.divmod(keys, n_rows)) * step,
        corners=np.column_stack([np.cos(angles), np.sin(angles)]) * radius,
        counts=counts,
        codes=groups[largest],
        shares=table.max(axis=1) / np.maximum(counts, 1),
    )


def _find_cells(scaled: FloatArray) -> IntArray:
    """Return twice the coordinates of the nearest center, integers, (n, 2).

    Centers are the points with integer coordinates, and those shifted by one half in both; the
    second coordinate counts sqrt(3) times as much in distances.
    """
    first = np.round(scaled)
    second = np.floor(scaled) + 0.5
    weights = np.array([1.0, 3.0])
    nearer = ((scaled - first) ** 2 @ weights) <= ((scaled - second) ** 2 @ weights)
    return (2 * np.where(nearer[:, None], first, second)).astype(np.intp)
