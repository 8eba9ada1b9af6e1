"""Entries of the legends of scatter plots, and names and styles of Gaussians."""

from typing import Any

from opgd.inspection.projected import ProjectedRows
from opgd.inspection.regions import Regions
from opgd.plotting._arrows import Arrows
from opgd.plotting._scatter import make_outside_handle, make_row_handles
from opgd.plotting._styles import Style, Theme, make_class_styles
from opgd.plotting._text import format_names

MAX_LABEL_LENGTH = 12
MAX_LABELS = 60
"""Names are drawn at the means if they are no longer, and no more, than this."""


def make_legend_entries(
    projected: ProjectedRows,
    theme: Theme,
    *,
    n_outside: int,
    level: float | None = None,
    mark_errors: bool = False,
    regions: Regions | None = None,
    arrows: Arrows | None = None,
) -> tuple[list[Any], list[str]]:
    """Return handles and names of the legend of what is drawn; `level` is that of ellipses."""
    from matplotlib.lines import Line2D

    styles = make_class_styles(len(projected.names))
    shown = format_names(projected.names)
    handles, names = make_row_handles(shown, styles, projected.codes, theme)

    def add(name: str, **line: Any) -> None:
        handles.append(Line2D([], [], **({"color": theme.ink, "linestyle": ""} | line)))
        names.append(name)

    if level is not None:
        shape = "bar" if projected.scores.shape[1] == 1 else "ellipse"
        add(_label_outlines(projected, level, shape), linewidth=1.8, linestyle="-")
    if mark_errors:
        text = f"misclassified\n({projected.n_wrong} of {projected.n_rows} rows)"
        add(text, marker="o", markersize=9, markerfacecolor="none")
    if n_outside:
        handles.append(make_outside_handle(theme))
        names.append(f"outside the plot\n({n_outside} row{'s' * (n_outside != 1)})")
    if regions is not None:
        add("decision boundary\non these two axes", color=theme.line, linewidth=1, linestyle="-")
    if arrows is not None:
        text = f"{arrows.factor:.2g} standard deviations\nof a column"
        add(text, marker=r"$\rightarrow$", markersize=14)
        if any(arrows.similar):
            add("(+n): and n columns with\nnearly the same direction")
    return handles, names


def _label_outlines(projected: ProjectedRows, level: float, shape: str) -> str:
    """Return what ellipses stand for."""
    what = "Gaussian of the model" if projected.same_groups else "Gaussian of a cluster"
    if projected.outlines.merged:
        what = "class (as one Gaussian)"
    return f"{100 * level:.3g}% {shape} of a\n{what}"


def get_gaussian_styles(projected: ProjectedRows, theme: Theme) -> list[Style]:
    """Return styles of the ellipses: those of their classes, or the ink if groups differ."""
    codes = projected.outlines.codes
    if not projected.same_groups:
        return [Style(theme.ink, "o")] * len(codes)
    styles = make_class_styles(len(projected.names))
    return [styles[code] for code in codes]


def get_gaussian_names(projected: ProjectedRows) -> list[str]:
    """Return names to draw at the means, or an empty list if they are too long or too many."""
    names = [name.removeprefix("cluster ") for name in projected.gaussian_names]
    codes = projected.outlines.codes
    if max(map(len, names)) > MAX_LABEL_LENGTH or len(codes) > MAX_LABELS:
        return []
    shown = format_names(names)
    return [shown[code] for code in codes]
