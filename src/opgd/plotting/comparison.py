"""ComparisonDisplay: boxplots of the results of `opgd.compare`."""

from typing import Any, Self

import numpy as np

from opgd.core.types import FloatArray
from opgd.inspection.palette import COLORS
from opgd.plotting._drawing import get_or_make_axes, tidy
from opgd.plotting._styles import INK
from opgd.plotting._text import format_names

TITLES = {"error": "test error", "log_loss": "log-loss", "seconds": "fit time (seconds)"}


class ComparisonDisplay:
    """Boxplots of the results of `opgd.compare`.

    Create it with `from_table`. Boxes extend from the lower to the upper quartile, with a line at
    the median; whiskers extend to the minimum and maximum. Every split is drawn as a point.

    Attributes
    ----------
    methods : list of str
        Names of the methods, in the order of the table.
    values : list of ndarray
        Values of each method on all splits on which it did not fail.
    quartiles : ndarray of shape (n_methods, 5)
        Minimum, lower quartile, median, upper quartile and maximum; nan if all splits failed.
    n_failed : list of int
        Number of splits on which each method failed.
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
    >>> ComparisonDisplay.from_table(table, draw=False).quartiles.shape
    (2, 5)
    """

    def __init__(self, *, methods: list[str], values: list[FloatArray], metric: str) -> None:
        self.methods = methods
        self.values = [splits[np.isfinite(splits)] for splits in values]
        self.n_failed = [int(np.sum(~np.isfinite(splits))) for splits in values]
        self.quartiles = np.array([_compute_quartiles(splits) for splits in self.values])
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
            Numeric column to draw, such as "error", "log_loss" or "seconds".
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : ComparisonDisplay
        """
        missing = [name for name in ("method", metric) if name not in table]
        if missing or not len(table):
            raise ValueError(
                f"table must be a result of opgd.compare: it has no column {missing[0]!r}."
                if missing
                else "table has no rows."
            )
        names, values = np.asarray(table["method"]), np.asarray(table[metric], dtype=np.float64)
        methods = list(dict.fromkeys(names.tolist()))
        by_method = [values[names == method] for method in methods]
        display = cls(methods=[str(name) for name in methods], values=by_method, metric=metric)
        return display.plot(ax) if draw else display

    def plot(self, ax: Any = None) -> Self:
        """Draw the boxplots.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.

        Returns
        -------
        self : ComparisonDisplay
        """
        ax = get_or_make_axes(ax, (6.4, 1.1 + 0.5 * len(self.methods)))
        for place, values in enumerate(self.values):
            if len(values):
                self._draw_box(ax, place, values)
        names = format_names(self.methods)
        labels = [
            f"{n} ({k} failed)" if k else n for n, k in zip(names, self.n_failed, strict=True)
        ]
        ax.set_yticks(np.arange(len(names)), labels)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_xlabel(format_names([TITLES.get(self.metric, self.metric)])[0])
        if self.metric == "seconds":
            ax.set_xscale("log")
        ax.use_sticky_edges = False  # keep a margin for points at 0
        ax.margins(x=0.04)
        ax.grid(axis="x", color="#dddddd", linewidth=0.6)
        ax.set_axisbelow(True)
        tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_box(self, ax: Any, place: int, values: FloatArray) -> None:
        minimum, lower, median, upper, maximum = self.quartiles[place]
        ax.plot([minimum, maximum], [place, place], color=INK, linewidth=1, zorder=1)
        box = {"facecolor": "#cfe3f6", "edgecolor": INK, "linewidth": 1, "zorder": 2}
        ax.barh(place, upper - lower, 0.5, left=lower, **box)
        ax.plot([median] * 2, [place - 0.25, place + 0.25], color=COLORS[2], lw=2.2, zorder=3)
        steps = np.linspace(-0.18, 0.18, len(values)) if len(values) > 1 else np.zeros(1)
        marks = {"s": 14, "color": COLORS[0], "edgecolors": INK, "linewidths": 0.5}
        ax.scatter(values, place + steps, **marks, zorder=4)


def _compute_quartiles(values: FloatArray) -> FloatArray:
    if not len(values):
        return np.full(5, np.nan)
    quartiles: FloatArray = np.percentile(values, [0, 25, 50, 75, 100])
    return quartiles
