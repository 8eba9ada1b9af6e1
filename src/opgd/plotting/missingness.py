"""MissingnessDisplay: shares and patterns of missing values."""

from typing import Any, Self

import numpy as np

from opgd._utils.validation import check_integer
from opgd.core.types import IntArray
from opgd.inspection.missingness import Missingness, summarize_missing
from opgd.inspection.palette import COLORS
from opgd.plotting._base import PanelsDisplay
from opgd.plotting._drawing import tidy
from opgd.plotting._styles import get_theme, mix
from opgd.plotting._text import format_names

MAX_COLUMNS = 25
MAX_PATTERNS = 15


class MissingnessDisplay(PanelsDisplay):
    """Shares of missing values by feature, and which features are missing together.

    Create it with `from_data`. The left panel shows the share of missing values of each feature
    that has some, the largest first. The right panel shows the most frequent patterns as columns:
    filled cells are missing, and the share of samples with the pattern is below.

    Attributes
    ----------
    missingness : Missingness
        `columns`, `shares` of missing values, distinct `patterns` of missing features and the
        number of samples with each (`counts`).
    order : ndarray of shape (n_drawn,)
        Features that are drawn, by decreasing share.
    axes_ : list of two matplotlib Axes
        Axes of the last plot.
    ax_, figure_ : matplotlib Axes and Figure
        First axes and figure of the last plot.

    Examples
    --------
    >>> import numpy as np
    >>> from opgd.plotting import MissingnessDisplay
    >>> X = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, 4.0]])
    >>> display = MissingnessDisplay.from_data(X, draw=False)
    >>> display.missingness.counts.tolist()
    [2, 1]
    """

    def __init__(self, missingness: Missingness, *, top: int = MAX_COLUMNS) -> None:
        self.missingness = missingness
        order: IntArray = np.argsort(-missingness.shares, kind="stable")
        n_drawn = min(int(np.sum(missingness.shares > 0)), check_integer("top", top, 1))
        self.order = order[:n_drawn]

    @classmethod
    def from_data(
        cls, X: Any, *, top: int = MAX_COLUMNS, ax: Any = None, draw: bool = True
    ) -> Self:
        """Create the display from samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; NaN, pandas' NA and None are missing. Names are taken from a data frame.
        top : int, default=25
            Maximum number of features to draw, those with the most missing values.
        ax : sequence of two matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : MissingnessDisplay
        """
        return cls(summarize_missing(X), top=top)._plot_if(draw, ax)

    def _get_layout(self) -> tuple[int, tuple[float, float], int]:
        return 2, (4.6, 1.6 + max(0.24 * len(self.order), 0.8)), 2

    def _draw(self, panels: list[Any]) -> None:
        n_drawn = len(self.order)
        if n_drawn:
            self._draw_shares(panels[0])
            self._draw_patterns(panels[1])
            for panel in panels:
                panel.set_ylim(n_drawn - 0.4, -0.6)
                tidy(panel)
        else:
            panels[0].text(0.5, 0.5, "no missing values", ha="center", va="center")
            for panel in panels:
                panel.set_axis_off()

    def _draw_shares(self, ax: Any) -> None:
        data = self.missingness
        places, shares = np.arange(len(self.order)), data.shares[self.order]
        ax.barh(places, shares, 0.6, color=COLORS[0])
        for place, share in zip(places, shares, strict=True):
            ax.annotate(
                f"{share:.1%}", (share, place), (3, 0), textcoords="offset points", va="center",
                fontsize=8,
            )  # fmt: skip
        ax.set_yticks(places, format_names([data.columns[j] for j in self.order]))
        ax.set_xlim(0, max(1.2 * float(shares.max()), 1e-3))
        ax.set_xlabel("share of missing values")
        n_affected = int(np.sum(data.shares > 0))
        ax.set_title(f"{n_affected} of {len(data.shares)} columns have missing values", size=10)

    def _draw_patterns(self, ax: Any) -> None:
        data, theme = self.missingness, get_theme(ax)
        n_patterns = min(len(data.counts), MAX_PATTERNS)
        present = mix(theme.line, theme.paper, 0.2)
        for i, pattern in enumerate(data.patterns[:n_patterns][:, self.order]):
            colors = [COLORS[6] if missing else present for missing in pattern]
            places = np.arange(len(pattern))
            ax.barh(places, 0.8, 0.8, left=i - 0.4, color=colors)
        shares = data.counts[:n_patterns] / data.counts.sum()
        texts = [f"{share:.0%}" if share >= 0.01 else "<1%" for share in shares]
        ax.set_xticks(np.arange(n_patterns), texts, rotation=90 if n_patterns > 8 else 0)
        ax.set_xlim(-0.6, n_patterns - 0.4)
        ax.set_yticks([])
        ax.set_xlabel("share of samples with the pattern")
        number = len(data.counts)
        rest = f"{n_patterns} of " * (n_patterns < number)
        ax.set_title(f"{rest}{number} pattern{'s' * (number != 1)} of missing values", size=10)
