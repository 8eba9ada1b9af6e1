"""Positions of labels in a plot without overlaps, in units of the screen."""

from dataclasses import dataclass

import numpy as np

from opgd.core.types import AnyArray, FloatArray

N_DIRECTIONS = 16
N_RINGS = 14
GAP = 2.0
"""Smallest distance between two labels."""


@dataclass(frozen=True, eq=False)
class PlacedLabels:
    """Centers of labels.

    Attributes
    ----------
    centers : ndarray of shape (n, 2)
        Centers of the labels.
    has_leader : ndarray of shape (n,)
        Whether a line should connect a label with its anchor, which is outside the label.
    """

    centers: FloatArray
    has_leader: AnyArray


def place_labels(
    anchors: FloatArray,
    sizes: FloatArray,
    bounds: FloatArray,
    preferred: FloatArray | None = None,
    occupied: tuple[FloatArray, FloatArray] | None = None,
) -> PlacedLabels:
    """Place labels with widths and heights `sizes`, (n, 2), at or near their anchors, (n, 2).

    Labels are placed one after the other, those with the closest neighbors last, each at the
    position nearest to its anchor, or to `preferred` (n, 2), at which it covers no label and no
    other anchor and is within `bounds`, (2, 2), the corners of the plot. `occupied` are centers and
    sizes of boxes that are not to be covered either. If there is no such position, the one with the
    smallest overlap is used.
    """
    targets = anchors if preferred is None else preferred
    centers = np.clip(targets, bounds[0] + sizes / 2, bounds[1] - sizes / 2)
    distances = np.abs(anchors[:, None] - anchors).sum(axis=2) + np.diag(np.full(len(sizes), 1e9))
    placed: list[int] = []
    for i in np.argsort(-distances.min(axis=1), kind="stable"):
        candidates = _make_candidates(targets[i], sizes[i], bounds)
        others = np.delete(anchors, i, axis=0)
        overlap = _compute_overlaps(candidates, sizes[i], centers[placed], sizes[placed])
        if occupied is not None:
            overlap += _compute_overlaps(candidates, sizes[i], *occupied)
        cost = overlap + 0.15 * _compute_overlaps(candidates, sizes[i], others, np.ones((1, 2)))
        centers[i] = candidates[np.argmin(cost)]  # the first without overlap is the nearest
        placed.append(int(i))
    is_far = np.any(np.abs(centers - anchors) > sizes / 2, axis=1)
    return PlacedLabels(centers, is_far)


def estimate_label_sizes(names: list[str], font_size: float) -> FloatArray:
    """Estimate widths and heights of boxes with text, in the units of the font size, (n, 2)."""
    widths = [0.62 * font_size * max(len(name), 1) + 0.6 * font_size for name in names]
    return np.column_stack([widths, np.full(len(names), 1.7 * font_size)])


def _make_candidates(target: FloatArray, size: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return the target and positions on ellipses around it, by distance, within bounds."""
    angles = 2 * np.pi * np.arange(N_DIRECTIONS) / N_DIRECTIONS
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    radii = 0.55 * np.arange(1, N_RINGS + 1)
    steps = (radii[:, None, None] * circle).reshape(-1, 2) * [0.5 * (size[0] + size[1]), size[1]]
    positions = np.vstack([target, target + steps])
    low, high = bounds[0] + size / 2, bounds[1] - size / 2
    positions = np.clip(positions, low, np.maximum(low, high))
    order = np.argsort(np.linalg.norm(positions - target, axis=1), kind="stable")
    nearest: FloatArray = positions[order]
    return nearest


def _compute_overlaps(
    candidates: FloatArray, size: FloatArray, centers: FloatArray, sizes: FloatArray
) -> FloatArray:
    """Return the area that a box at each candidate has in common with other boxes, (n,)."""
    room = 0.5 * (size + sizes) + GAP - np.abs(candidates[:, None] - centers)
    room = np.minimum(np.maximum(room, 0), np.minimum(size, sizes) + GAP)
    areas: FloatArray = room.prod(axis=2).sum(axis=1)
    return areas
