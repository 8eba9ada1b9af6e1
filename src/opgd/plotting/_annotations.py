"""Functions that draw Gaussians, names, decision regions and arrows on two axes."""

from typing import Any

import numpy as np

from opgd.core.types import FloatArray
from opgd.inspection.label_placement import PlacedLabels, estimate_label_sizes, place_labels
from opgd.inspection.regions import Regions
from opgd.plotting._styles import Style, get_theme, mix

FONT_SIZE = 9
CENTERED: dict[str, Any] = {
    "textcoords": "offset points",
    "ha": "center",
    "va": "center",
    "fontsize": FONT_SIZE,
}
"""Labels are centered at an offset from what they name."""
Boxes = tuple[FloatArray, FloatArray]
"""Centers and sizes of labels in points."""


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


def draw_labels(ax: Any, anchors: FloatArray, names: list[str], styles: list[Style]) -> Boxes:
    """Draw names in boxes at points, moved apart with lines to their points where needed.

    Returns the boxes, in points.
    """
    theme = get_theme(ax)
    placed, boxes = _place(ax, anchors, names)
    for anchor, offset, has_leader, name, style in zip(
        anchors, placed.centers, placed.has_leader, names, styles, strict=True
    ):
        if has_leader:
            dot = {"marker": "o", "markersize": 3.5, "markeredgecolor": theme.paper, "zorder": 5}
            ax.plot(*anchor[:, None], color=style.color, **dot)
        leader = {"arrowstyle": "-", "color": style.color, "lw": 1.0, "shrinkA": 0, "shrinkB": 0}
        ax.annotate(
            name,
            anchor,
            offset,
            **CENTERED,
            color=theme.ink,
            bbox={"boxstyle": "round,pad=0.2", "fc": theme.paper, "ec": style.color, "alpha": 0.9},
            arrowprops=leader if has_leader else None,
            zorder=6,
        )
    return boxes


def _place(
    ax: Any,
    anchors: FloatArray,
    names: list[str],
    away: FloatArray | None = None,
    occupied: Boxes | None = None,
) -> tuple[PlacedLabels, Boxes]:
    """Return offsets of labels from their anchors, and their boxes, in points."""
    per_point = ax.figure.dpi / 72
    at = ax.transData.transform(anchors) / per_point
    box = ax.get_window_extent()
    bounds = np.array([[box.x0, box.y0], [box.x1, box.y1]]) / per_point
    sizes = estimate_label_sizes(names, FONT_SIZE)
    preferred = at if away is None else at + away * (0.5 * sizes + 3)
    placed = place_labels(at, sizes, bounds, preferred, occupied)
    return PlacedLabels(placed.centers - at, placed.has_leader), (placed.centers, sizes)


def draw_regions(ax: Any, regions: Regions, styles: list[Style]) -> None:
    """Tint the region of each class and draw the boundaries, where log odds are zero."""
    theme, grid = get_theme(ax), regions.grid
    present = np.unique(regions.codes)
    tints = np.array([mix(style.color, theme.paper, 0.22) for style in styles])
    extent = (grid[0, 0], grid[0, -1], grid[1, 0], grid[1, -1])
    ax.imshow(
        tints[regions.codes], extent=extent, origin="lower", aspect="auto", zorder=0,
        interpolation="nearest",
    )  # fmt: skip
    if len(present) > 1:
        for code in present:
            odds = regions.compute_log_odds(code)
            ax.contourf(*grid, odds, levels=[0, np.inf], colors=[tints[code]], zorder=0.1)
            ax.contour(*grid, odds, levels=[0], colors=theme.line, linewidths=0.8, zorder=1.8)


def draw_arrows(
    ax: Any, origin: FloatArray, tips: FloatArray, names: list[str], occupied: Boxes | None
) -> None:
    """Draw arrows with names at their tips, moved apart and away from other labels."""
    from matplotlib.patheffects import withStroke

    theme = get_theme(ax)
    steps = ax.transData.transform(tips) - ax.transData.transform(origin)
    away = steps / np.maximum(np.linalg.norm(steps, axis=1, keepdims=True), 1e-12)
    shafts = _cover_shafts(ax, origin, tips)
    if occupied is not None:
        shafts = np.vstack([shafts[0], occupied[0]]), np.vstack([shafts[1], occupied[1]])
    placed, _ = _place(ax, tips, names, away, shafts)
    outline = [withStroke(linewidth=2.5, foreground=theme.paper)]
    arrow = {"arrowstyle": "-|>", "color": theme.ink, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
    for tip, offset, name in zip(tips, placed.centers, names, strict=True):
        ax.annotate("", xy=tip, xytext=origin, arrowprops=arrow, zorder=5)
        ax.annotate(
            name,
            tip,
            offset,
            **CENTERED,
            color=theme.ink,
            path_effects=outline,
            zorder=7,
        )


def _cover_shafts(ax: Any, origin: FloatArray, tips: FloatArray) -> Boxes:
    """Return small boxes along arrows, which names should not cover, in points."""
    ends = ax.transData.transform(np.vstack([origin, tips])) * 72 / ax.figure.dpi
    parts = np.linspace(0, 0.96, 25)[:, None, None]
    centers = (ends[0] + parts * (ends[1:] - ends[0])).reshape(-1, 2)
    return centers, np.full((len(centers), 2), 3.0)
