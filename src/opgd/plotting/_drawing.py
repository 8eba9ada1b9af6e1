"""Axes, legends and ticks shared by the displays; matplotlib is imported when drawing."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from opgd.core.types import FloatArray

ENTRIES_PER_COLUMN = 20


def import_pyplot() -> Any:
    """Return matplotlib.pyplot, or raise an ImportError that names the extra to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Plotting needs matplotlib: the extra 'plot' is missing; see Installation."
        ) from None
    return plt


def get_or_make_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return `ax`, or the axes of a new figure if it is None."""
    plt = import_pyplot()
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def get_or_make_panels(
    ax: Any, number: int, panel: tuple[float, float], n_columns: int
) -> list[Any]:
    """Return one axes per panel, from `ax` or a new figure, row by row."""
    plt = import_pyplot()
    if ax is not None:
        panels = list(np.ravel(np.array(ax, dtype=object)))
        if len(panels) != number:
            raise ValueError(f"ax has {len(panels)} axes for {number} panels; pass one per panel.")
        return panels
    n_columns = min(n_columns, number)
    n_rows = -(-number // n_columns)
    size = (panel[0] * n_columns, panel[1] * n_rows)
    grid = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False)[1]
    for unused in grid.flat[number:]:
        unused.set_axis_off()
    return list(grid.flat[:number])


def count_legend_columns(n_entries: int) -> int:
    """Return the number of columns of a legend with `n_entries` entries."""
    return -(-n_entries // ENTRIES_PER_COLUMN)


def draw_legend_outside(
    ax: Any, handles: Sequence[Any], names: Sequence[str], title: str, *, makes_room: bool = True
) -> Any:
    """Draw a legend to the right of axes, or of a figure.

    Names must be escaped already (see `_text`). Matplotlib ignores labels that begin with an
    underscore, so the names are set after the legend is created. `makes_room` makes the layout
    reserve space for the legend.
    """
    place: dict[str, Any] = {"loc": "outside right upper"}  # for a figure
    if hasattr(ax, "get_xlim"):
        place = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.0}
    legend = ax.legend(
        handles,
        [str(i) for i in range(len(names))],
        title=title,
        **place,
        frameon=False,
        ncols=count_legend_columns(len(names)),
        alignment="left",
        fontsize=9,
    )
    legend.set_in_layout(makes_room)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)
    return legend


def tidy(ax: Any) -> None:
    """Remove the top and right spines and lighten the others."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#888888")
    ax.tick_params(labelsize=9)


def set_frame(ax: Any, limits: FloatArray, origin: FloatArray) -> None:
    """Set limits, (2, q), and ticks that count from an origin, (q,), on the first q axes."""
    from opgd.plotting._ticks import count_from

    setters, sides = (ax.set_xlim, ax.set_ylim), (ax.xaxis, ax.yaxis)
    for low, high, zero, set_limits, side in zip(*limits, origin, setters, sides, strict=False):
        set_limits(low, high)
        count_from(side, float(zero))


def set_integer_ticks(ax: Any) -> None:
    """Restrict ticks of the horizontal axis to integers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
