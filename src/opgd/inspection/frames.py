"""Limits of scatter plots that a few extreme points do not determine."""

from dataclasses import dataclass

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray

KINDS = ("robust", "all")
MARGIN = 0.04
"""Margin around the points, as a share of the range."""
TAIL = 0.05
"""Share of the points of a group on either side of its bulk."""
REACH = 1.0
"""Distance from the bulk at which points are extreme, in widths of the bulk."""
MIN_GROUP = 5
"""Groups with fewer points have no bulk of their own."""
MIN_GAIN = 0.25
"""Share of the range that has to become free; otherwise all points are inside."""


@dataclass(frozen=True, eq=False)
class PlotFrame:
    """Limits of a plot and the points outside.

    Attributes
    ----------
    limits : ndarray of shape (2, n_axes)
        Minimum and maximum on each axis.
    is_outside : ndarray of shape (n,)
        Whether each point is outside.
    """

    limits: FloatArray
    is_outside: AnyArray

    @property
    def n_outside(self) -> int:
        """Number of points outside."""
        return int(self.is_outside.sum())

    def find_directions(self, points: FloatArray) -> IntArray:
        """Return the side on which each point is farthest outside, (n,).

        0 and 1 are the lower and the upper end of the first axis, 2 and 3 those of the second.
        """
        low, high = self.limits
        beyond = np.stack([low - points, points - high], axis=2) / (high - low)[:, None]
        return np.argmax(beyond.reshape(len(points), 2 * len(low)), axis=1)

    def move_inside(self, points: FloatArray, gap: float = 0.012) -> FloatArray:
        """Return points moved to the border, a share `gap` of the range away from it, (n, q)."""
        low, high = self.limits
        return np.clip(points, low + gap * (high - low), high - gap * (high - low))


def choose_frame(
    points: FloatArray, codes: IntArray, extents: FloatArray | None = None, kind: str = "robust"
) -> PlotFrame:
    """Choose the limits of a plot of points (n, q) in groups.

    A point is extreme on an axis if it is farther from the bulk of its group, between the quantiles
    0.05 and 0.95, than this bulk is wide, and is neither in the bulk of another group nor between
    the ends of an ellipse. Extreme points are left outside on an axis if the range shrinks by more
    than a quarter; otherwise all points are inside. Thus without extreme points nothing is cut off,
    and a small group far from the others is not either.

    `extents`, of shape (2 * m, q), are the lower ends of m ellipses, followed by the upper ends;
    ellipses are inside as well. On axes with extreme points, they do not extend the range by more
    than half its width on either side. With ``kind="all"``, everything is inside. Axes are treated
    separately, so that the limits on an axis do not depend on the axis it is drawn against.
    """
    if kind not in KINDS:
        raise ValueError(f"frame must be 'robust' or 'all', got {kind!r}.")
    n_axes = points.shape[1]
    ends = np.zeros((2, 0, n_axes)) if extents is None else extents.reshape(2, -1, n_axes)
    low, high = points.min(axis=0), points.max(axis=0)
    reach = np.full(n_axes, np.inf)
    if kind == "robust":
        inner = np.stack([_find_range(points[:, a], codes, ends[:, :, a]) for a in range(n_axes)])
        width = inner[:, 1] - inner[:, 0]
        shorter = (width > 0) & (width < (1 - MIN_GAIN) * (high - low))
        low, high = np.where(shorter, inner.T, [low, high])
        reach = np.where(shorter, 0.5 * width, np.inf)
    low = np.maximum(ends[0].min(axis=0, initial=np.inf), low - reach).clip(max=low)
    high = np.minimum(ends[1].max(axis=0, initial=-np.inf), high + reach).clip(min=high)
    margin = np.where(high > low, MARGIN * (high - low), 0.5)
    return make_frame(points, np.stack([low - margin, high + margin]))


def make_frame(points: FloatArray, limits: FloatArray) -> PlotFrame:
    """Return the frame with the given limits, (2, q)."""
    return PlotFrame(limits, np.any((points < limits[0]) | (points > limits[1]), axis=1))


def _find_range(values: FloatArray, codes: IntArray, ends: FloatArray) -> FloatArray:
    """Return the smallest and the largest value that is not extreme, (2,)."""
    groups, counts = np.unique(codes, return_counts=True)
    large = groups[counts >= MIN_GROUP]
    everything = np.ones(len(values), dtype=bool)
    is_usual = np.zeros(len(values), dtype=bool)
    for low, high in ends.T:
        is_usual |= (values >= low) & (values <= high)
    for members in [codes == group for group in large] or [everything]:
        low, high = np.quantile(values[members], [TAIL, 1 - TAIL])
        reach = np.where(members, REACH * (high - low), 0.0)
        is_usual |= (values >= low - reach) & (values <= high + reach)
    return np.array([values[is_usual].min(), values[is_usual].max()])
