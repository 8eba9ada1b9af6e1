"""Strip plots: rows on one axis, with a strip for each group."""

from typing import Any

import numpy as np

from opgd.core.types import FloatArray
from opgd.inspection.projected import ProjectedRows
from opgd.plotting._styles import Style
from opgd.plotting._text import format_names

JITTER = 0.3


def draw_strip(
    ax: Any,
    projected: ProjectedRows,
    half_lengths: FloatArray,
    styles: list[Style],
    gaussians: bool,
) -> FloatArray:
    """Draw the Gaussians as bars and return the points of the rows, jittered within strips.

    Strips are ordered from top to bottom. If the Gaussians are of other groups than the rows,
    they are drawn in strips of their own below.
    """
    heights = np.where(projected.codes < 0, len(projected.names), projected.codes)
    names = [*projected.names, "no label"] if np.any(projected.codes < 0) else list(projected.names)
    if gaussians:
        outlines = projected.outlines
        places = outlines.codes + (0 if projected.same_groups else len(names))
        for place, mean, length, style in zip(
            places, outlines.means[:, 0], half_lengths, styles, strict=True
        ):
            line = {"color": style.color, "linewidth": 2.2, "zorder": 3}
            ax.plot([mean - length, mean + length], [place + 0.4] * 2, **line)
            ax.plot([mean], [place + 0.4], "|", color=style.color, markersize=9, zorder=3)
        names += [] if projected.same_groups else projected.gaussian_names
    jitter = np.random.RandomState(0).uniform(-JITTER, JITTER, len(heights))
    ax.set_yticks(np.arange(len(names)), format_names(names))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(projected.axis_labels[0])
    return np.column_stack([projected.scores[:, 0], heights + jitter])
