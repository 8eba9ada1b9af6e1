"""Functions that draw rows: markers, rings and entries of legends."""

from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.frames import PlotFrame
from opgd.plotting._styles import Style, Theme, get_theme

MAX_NAMES = 60
MAX_VECTOR_POINTS = 5000
"""Larger numbers of points are rasterized in vector graphics."""
OUTSIDE_MARKERS: list[Any] = [4, 5, 7, 6]
"""Triangles of matplotlib whose tip is at the point: left, right, down and up."""


def compute_marker_area(n_rows: int) -> float:
    """Compute the marker area in square points, which decreases with the number of rows."""
    return float(np.clip(700 / np.sqrt(max(n_rows, 1)), 4, 30))


def draw_rows(ax: Any, points: FloatArray, codes: IntArray, styles: list[Style]) -> None:
    """Draw rows by group; rows without a group are dots below the others."""
    area, theme = compute_marker_area(len(points)), get_theme(ax)
    for code in np.unique(codes):
        members, style = codes == code, theme.unlabeled if code < 0 else styles[code]
        ax.scatter(
            *points[members].T,
            s=area * (style.size if code >= 0 else 0.8),
            marker=style.marker,
            facecolors=style.color if style.filled else "none",
            edgecolors=theme.paper if style.filled and code >= 0 else style.color,
            linewidths=0.3 if style.filled else 0.9,
            alpha=0.8 if code >= 0 else 0.35,
            zorder=2 if code >= 0 else 1.5,
            rasterized=len(points) > MAX_VECTOR_POINTS,
        )


def draw_rows_outside(
    ax: Any, points: FloatArray, codes: IntArray, styles: list[Style], frame: PlotFrame
) -> None:
    """Draw triangles at the border of the plot for rows outside, pointing toward them."""
    n_axes, theme = frame.limits.shape[1], get_theme(ax)
    points, codes = points[frame.is_outside].copy(), codes[frame.is_outside]
    sides = frame.find_directions(points[:, :n_axes])
    points[:, :n_axes] = frame.move_inside(points[:, :n_axes])
    for side, marker in enumerate(OUTSIDE_MARKERS):
        for code in np.unique(codes[sides == side]):
            style = theme.unlabeled if code < 0 else styles[code]
            members = (sides == side) & (codes == code)
            ax.scatter(*points[members].T, s=40, marker=marker, color=style.color, zorder=8)


def draw_error_rings(ax: Any, points: FloatArray, n_rows: int) -> None:
    """Draw rings around points; `n_rows` sets the size of the markers below."""
    area = max(2.2 * compute_marker_area(n_rows), 24)
    line = 0.7 if len(points) > 50 else 1.0
    ink = get_theme(ax).ink
    ax.scatter(*points.T, s=area, facecolors="none", edgecolors=ink, linewidths=line, zorder=3)


def make_outside_handle(theme: Theme) -> Any:
    """Return the handle of a legend for rows outside the plot."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", color=theme.ink, marker=OUTSIDE_MARKERS[1], markersize=6)


def make_row_handles(
    names: list[str], styles: list[Style], codes: AnyArray, theme: Theme
) -> tuple[list[Any], list[str]]:
    """Return handles and names of a legend: up to MAX_NAMES groups and the number of others."""
    from matplotlib.lines import Line2D

    def make_handle(style: Style, size: float) -> Any:
        face = style.color if style.filled else "none"
        marks = {"marker": style.marker, "markerfacecolor": face}
        return Line2D(
            [],
            [],
            color=style.color,
            linestyle="",
            markersize=size,
            **marks,  # type: ignore[arg-type]
        )

    handles = [make_handle(style, 7) for style in styles[:MAX_NAMES]]
    n_more = len(names) - MAX_NAMES
    names = names[:MAX_NAMES]
    if n_more > 0:
        handles, names = [*handles, Line2D([], [], linestyle="")], [*names, f"and {n_more} more"]
    if np.any(codes < 0):
        handles = [*handles, make_handle(theme.unlabeled, 6)]
        names = [*names, "no or unknown label"]
    return handles, names
