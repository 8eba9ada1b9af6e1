"""ComparisonDisplay: results of `opgd.compare` by method, with intervals of differences."""

from typing import Any, Self

import numpy as np

from opgd.comparison import MethodSummary, summarize_methods
from opgd.inspection.palette import COLORS
from opgd.plotting._base import SingleDisplay
from opgd.plotting._drawing import tidy
from opgd.plotting._styles import get_theme
from opgd.plotting._text import format_names

TITLES = {
    "error": "test error",
    "log_loss": "log-loss",
    "balanced_accuracy": "balanced accuracy",
    "seconds": "fit time (seconds)",
}
LIMITS = {"error": (0, 1), "log_loss": (0, None), "balanced_accuracy": (0, 1)}
"""Possible values; bars end there."""
WINNER, OTHER, LIGHT = COLORS[0], "#808080", "#b0b0b0"


class ComparisonDisplay(SingleDisplay):
    """Results of `opgd.compare` by method, the best first.

    Create it with `from_table`. Light points are splits, large points are means. Bars are
    confidence intervals of the difference from the best method on the same splits, drawn around
    the mean of the method: where a bar crosses the line through the mean of the best method, the
    difference is not significant, and the method is drawn in blue and with a bold name.

    Attributes
    ----------
    summaries : list of MethodSummary
        Mean, difference from the best method, interval and further results of each method, the
        best first; see `opgd.comparison.summarize`.
    metric : str
        Column of the table that is drawn.
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import compare
    >>> from opgd.plotting import ComparisonDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> table = compare(X, y, ["LDA", "RDA"], cv=3, random_state=0, verbose=0)
    >>> display = ComparisonDisplay.from_table(table, draw=False)
    >>> sorted(summary.name for summary in display.summaries)
    ['LDA', 'RDA']
    """

    def __init__(self, *, summaries: list[MethodSummary], metric: str) -> None:
        self.summaries = summaries
        self.metric = metric

    @classmethod
    def from_table(
        cls, table: Any, metric: str = "error", *, ax: Any = None, draw: bool = True
    ) -> Self:
        """Create the display from a table of results.

        Parameters
        ----------
        table : pandas.DataFrame
            Result of `opgd.compare`.
        metric : str, default="error"
            Numeric column to draw, such as "error", "log_loss", "balanced_accuracy" or "seconds".
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : ComparisonDisplay
        """
        return cls(summaries=summarize_methods(table, metric), metric=metric)._plot_if(draw, ax)

    def _get_size(self) -> tuple[float, float]:
        return 7.2, 1.2 + 0.42 * len(self.summaries)

    def _draw(self, ax: Any) -> None:
        timed = self.metric == "seconds"
        if timed:
            ax.set_xscale("log")
        elif np.isfinite(self.summaries[0].mean):
            ax.axvline(self.summaries[0].mean, color=WINNER, linewidth=0.8, alpha=0.6, zorder=1)
        for place, summary in enumerate(self.summaries):
            self._draw_method(ax, place, summary, not timed)
        self._label(ax)
        if not timed:
            self._write_seconds(ax)
        ax.use_sticky_edges = False  # keep a margin for points at 0
        ax.margins(x=0.04)
        ax.grid(axis="x", color=get_theme(ax).grid, linewidth=0.6)
        ax.set_axisbelow(True)
        tidy(ax)
        ax.tick_params(axis="y", length=0)

    def _draw_method(self, ax: Any, place: int, summary: MethodSummary, compared: bool) -> None:
        values = summary.values[np.isfinite(summary.values)]
        if not len(values):
            return
        color = WINNER if compared and summary.winner else OTHER
        steps = np.linspace(-0.16, 0.16, len(values)) if len(values) > 1 else np.zeros(1)
        ax.scatter(values, place + steps, s=12, color=LIGHT, linewidths=0, zorder=2)
        if compared and np.isfinite(summary.low):
            ends = summary.mean - summary.difference + np.array([summary.low, summary.high])
            ends = np.clip(ends, *LIMITS.get(self.metric, (None, None)))
            ax.plot(ends, [place] * 2, color=color, lw=2, solid_capstyle="butt", zorder=3)
        marker = {"s": 46, "color": color, "edgecolors": get_theme(ax).paper, "linewidths": 0.8}
        ax.scatter([summary.mean], [place], **marker, zorder=4)

    def _label(self, ax: Any) -> None:
        """Write the names of the methods, and what is drawn."""
        names = format_names([summary.name for summary in self.summaries])
        remarks = [f" ({summary.remark})" if summary.remark else "" for summary in self.summaries]
        labels = [name + remark for name, remark in zip(names, remarks, strict=True)]
        ax.set_yticks(np.arange(len(names)), labels)
        ax.set_ylim(len(names) - 0.4, -0.6)
        bold = self.metric != "seconds"
        if bold:
            for text, summary in zip(ax.get_yticklabels(), self.summaries, strict=True):
                text.set_fontweight("bold" if summary.winner else "normal")
        title = format_names([TITLES.get(self.metric, self.metric)])[0]
        if bold and any(np.isfinite(summary.low) for summary in self.summaries[1:]):
            title += "  (bars: 95% intervals of the difference from the best)"
        ax.set_xlabel(title, fontsize=9.5)

    def _write_seconds(self, ax: Any) -> None:
        """Write the mean time of a fit to the right of each method."""
        place = {
            "xycoords": ("axes fraction", "data"),
            "xytext": (46, 0),
            "textcoords": "offset points",
            "annotation_clip": False,
        }
        style = {"ha": "right", "va": "center", "fontsize": 8.5, "color": OTHER}
        if "seconds" not in self.summaries[0].means:
            return
        for row, summary in enumerate(self.summaries):
            text = format_seconds(summary.means["seconds"])
            ax.annotate(text, (1, row), **place, **style)
        ax.annotate("fit time", (1, -0.75), **place, **style)


def format_seconds(seconds: float) -> str:
    """Return a time as text, with two significant digits below ten seconds."""
    if not np.isfinite(seconds):
        return "-"
    digits = 0 if seconds >= 10 else 1 if seconds >= 1 else 2
    return f"{seconds:.{digits}f} s"
