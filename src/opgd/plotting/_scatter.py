"""Functions that draw rows, Gaussians, decision regions and arrows on two axes."""

from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.frames import PlotFrame
from opgd.plotting._styles import INK, WITHOUT_LABEL, Style

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
    area = compute_marker_area(len(points))
    for code in np.unique(codes):
        members, style = codes == code, WITHOUT_LABEL if code < 0 else styles[code]
        ax.scatter(
            *points[members].T,
            s=area * (style.size if code >= 0 else 0.8),
            marker=style.marker,
            facecolors=style.color if style.filled else "none",
            edgecolors="white" if style.filled and code >= 0 else style.color,
            linewidths=0.3 if style.filled else 0.9,
            alpha=0.8 if code >= 0 else 0.35,
            zorder=2 if code >= 0 else 1.5,
            rasterized=len(points) > MAX_VECTOR_POINTS,
        )


def draw_rows_outside(
    ax: Any, points: FloatArray, codes: IntArray, styles: list[Style], frame: PlotFrame
) -> None:
    """Draw triangles at the border of the plot for rows outside, pointing toward them."""
    outside = frame.is_outside
    points, codes = points[outside], codes[outside]
    sides = frame.find_directions(points[:, : frame.limits.shape[1]])
    points = points.copy()
    points[:, : frame.limits.shape[1]] = frame.move_inside(points[:, : frame.limits.shape[1]])
    for side, marker in enumerate(OUTSIDE_MARKERS):
        for code in np.unique(codes[sides == side]):
            color = WITHOUT_LABEL.color if code < 0 else styles[code].color
            members = (sides == side) & (codes == code)
            ax.scatter(*points[members].T, s=40, marker=marker, color=color, zorder=8)


def make_outside_handle() -> Any:
    """Return the handle of a legend for rows outside the plot."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", color=INK, marker=OUTSIDE_MARKERS[1], markersize=6)


def draw_error_rings(ax: Any, points: FloatArray, n_rows: int) -> None:
    """Draw rings around points; `n_rows` sets the size of the markers below."""
    area = max(2.2 * compute_marker_area(n_rows), 24)
    line = 0.7 if len(points) > 50 else 1.0
    ax.scatter(*points.T, s=area, facecolors="none", edgecolors=INK, linewidths=line, zorder=3)


def draw_ellipses(
    ax: Any, centers: FloatArray, lengths: FloatArray, angles: FloatArray, styles: list[Style]
) -> None:
    """Draw an ellipse for each Gaussian: an outline with a faint fill."""
    from matplotlib.patches import Ellipse

    for center, (a, b), angle, style in zip(centers, lengths, angles, styles, strict=True):
        shape: dict[str, Any] = {"width": 2 * a, "height": 2 * b, "angle": angle}
        color, line = style.color, style.line
        ax.add_patch(Ellipse(center, **shape, facecolor=color, alpha=0.08, zorder=1))
        outline: dict[str, Any] = {
            "facecolor": "none",
            "edgecolor": color,
            "linewidth": 1.8,
            "linestyle": line,
        }
        ax.add_patch(Ellipse(center, **shape, **outline, zorder=4))


def draw_badges(ax: Any, centers: FloatArray, names: list[str], styles: list[Style]) -> None:
    """Draw short names in boxes at the means."""
    for center, name, style in zip(centers, names, styles, strict=True):
        box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": style.color, "alpha": 0.9}
        ax.text(
            *center, name, ha="center", va="center", fontsize=9, color=INK, bbox=box, zorder=5,
            clip_on=True,
        )  # fmt: skip


def draw_regions(ax: Any, grid: FloatArray, strongest: IntArray, styles: list[Style]) -> None:
    """Tint the region of each class and draw the boundaries."""
    from matplotlib.colors import to_rgb

    present = np.unique(strongest)
    tints = np.ones((len(styles), 3))
    for code in present:
        tints[code] = 0.78 + 0.22 * np.array(to_rgb(styles[code].color))
    extent = (grid[0, 0], grid[0, -1], grid[1, 0], grid[1, -1])
    ax.imshow(
        tints[strongest], extent=extent, origin="lower", aspect="auto", zorder=0,
        interpolation="nearest",
    )  # fmt: skip
    if len(present) > 1:
        for code in present:
            inside = (strongest == code).astype(float)
            ax.contour(*grid, inside, levels=[0.5], colors="#888888", linewidths=0.6, zorder=0.5)


def draw_arrows(
    ax: Any, origin: FloatArray, tips: FloatArray, names: list[str], limits: FloatArray
) -> None:
    """Draw arrows with names at their tips, shifted vertically to avoid overlaps."""
    from matplotlib.patheffects import withStroke

    height = limits[1, 1] - limits[0, 1]
    right = tips[:, 0] >= origin[0]
    levels = tips[:, 1].copy()
    for side in (right, ~right):
        levels[side] = spread_out(levels[side], 0.045 * height)
    outline = [withStroke(linewidth=2.5, foreground="white")]
    gap = 0.012 * (limits[1, 0] - limits[0, 0])
    arrow = {"arrowstyle": "-|>", "color": INK, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
    for tip, level, name, to_right in zip(tips, levels, names, right, strict=True):
        ax.annotate("", xy=tip, xytext=origin, arrowprops=arrow, zorder=6)
        ax.text(
            tip[0] + (gap if to_right else -gap),
            level,
            name,
            ha="left" if to_right else "right",
            va="center",
            fontsize=9,
            color=INK,
            path_effects=outline,
            zorder=7,
        )


def spread_out(values: FloatArray, gap: float) -> FloatArray:
    """Return values with at least `gap` between neighbors, in the same order with the same mean."""
    order = np.argsort(values, kind="stable")
    moved = values[order].copy()
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    moved += (values.mean() - moved.mean()) if len(moved) else 0.0
    result = np.empty_like(moved)
    result[order] = moved
    return result


def make_row_handles(
    names: list[str], styles: list[Style], codes: AnyArray
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
        handles, names = [*handles, make_handle(WITHOUT_LABEL, 6)], [*names, "no or unknown label"]
    return handles, names
