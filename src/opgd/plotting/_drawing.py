"""Axes, legends and ticks of all displays; matplotlib is imported when something is drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from opgd.plotting._styles import INK

ENTRIES_PER_COLUMN = 20


def import_pyplot() -> Any:
    """Import matplotlib.pyplot, or name the extra to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Pictures are drawn with matplotlib: install it, or opgd[plot]."
        ) from None
    return plt


def get_or_make_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the caller's axes, or those of a new figure."""
    plt = import_pyplot()
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def get_or_make_panels(
    ax: Any, number: int, panel: tuple[float, float], n_columns: int
) -> list[Any]:
    """Return axes for all panels: the caller's, or those of a new figure, row by row."""
    plt = import_pyplot()
    if ax is not None:
        given = list(np.ravel(np.array(ax, dtype=object)))
        if len(given) != number:
            raise ValueError(f"ax has {len(given)} axes for {number} panels.")
        return given
    n_columns = min(n_columns, number)
    n_rows = -(-number // n_columns)
    size = (panel[0] * n_columns, panel[1] * n_rows)
    grid = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False)[1]
    for unused in grid.flat[number:]:
        unused.set_axis_off()
    return list(grid.flat[:number])


def count_legend_columns(n_entries: int) -> int:
    """Count the columns of a legend with so many entries."""
    return -(-n_entries // ENTRIES_PER_COLUMN)


def draw_legend_outside(
    ax: Any, handles: Sequence[Any], names: Sequence[str], title: str, *, makes_room: bool = True
) -> Any:
    """Draw a legend to the right of axes, or of a figure.

    Names must be literal already (see `_text`), and may begin with an underscore, with which
    matplotlib would leave them out: it gets them when the legend is made. `makes_room` moves other
    axes of the figure aside.
    """
    place: dict[str, Any] = {"loc": "outside right upper"}  # of a figure
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
    """Remove the upper and the right spine, and lighten the others."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#888888")
    ax.tick_params(colors=INK, labelsize=9)


def set_integer_ticks(ax: Any) -> None:
    """Put ticks of the horizontal axis at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
