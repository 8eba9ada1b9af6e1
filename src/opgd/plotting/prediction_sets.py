"""PredictionSetDisplay: coverage and sizes of prediction sets by class."""

from typing import Any, Self

import numpy as np

from opgd.core.types import FloatArray
from opgd.inspection.estimators import check_has_method
from opgd.inspection.palette import COLORS
from opgd.inspection.pipelines import unwrap
from opgd.inspection.set_sizes import SetSummary, summarize_sets
from opgd.plotting._base import PanelsDisplay
from opgd.plotting._drawing import draw_legend_outside, tidy
from opgd.plotting._styles import get_theme, mix
from opgd.plotting._text import format_names

MAX_SIZE = 4
"""Larger sets are drawn together."""


class PredictionSetDisplay(PanelsDisplay):
    """Coverage and sizes of prediction sets by true class.

    Create it with `from_estimator` or `from_predictions`. The left panel shows the share of sets
    that contain the true class, with 95% intervals, and the coverage that was asked for. The right
    panel shows how many classes the sets contain: one class is a decision, several classes cannot
    be distinguished at this coverage, and an empty set has none that is usual.

    Attributes
    ----------
    summary : SetSummary
        `labels`, `counts`, `coverages` with their intervals `low` and `high`, `sizes` (shares of
        sets with 0, 1, 2, ... classes) and `mean_sizes` of each class, and the overall `coverage`.
    coverage : float or None
        The coverage that was asked for.
    axes_ : list of two matplotlib Axes
        Axes of the last plot.
    ax_, figure_ : matplotlib Axes and Figure
        First axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import PredictionSetDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> model = OPGDClassifier(ridge=0.1).fit(X[::3], y[::3]).conformalize(X[1::3], y[1::3])
    >>> display = PredictionSetDisplay.from_estimator(model, X[2::3], y[2::3], draw=False)
    >>> display.summary.sizes.shape
    (3, 4)
    """

    def __init__(self, summary: SetSummary, *, coverage: float | None = None) -> None:
        self.summary = summary
        self.coverage = coverage

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        coverage: float = 0.9,
        ax: Any = None,
        draw: bool = True,
    ) -> Self:
        """Create the display from a fitted classifier and labeled samples.

        Parameters
        ----------
        estimator : fitted opgd classifier with `predict_set`, or Pipeline that ends in one
            A classifier with held-out samples: an `OPGDClassifierCV`, or one after `conformalize`.
        X : array-like of shape (n_samples, n_features)
            Samples used neither in `fit` nor in `conformalize`.
        y : array-like of shape (n_samples,)
            True labels.
        coverage : float, default=0.9
            Coverage of the sets.
        ax : sequence of two matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : PredictionSetDisplay
        """
        unwrapped = unwrap(estimator)
        check_has_method(unwrapped.estimator, "predict_set")
        sets = unwrapped.estimator.predict_set(unwrapped.encode(X), coverage=coverage)
        options: dict[str, Any] = {"coverage": coverage, "ax": ax, "draw": draw}
        return cls.from_predictions(y, sets, estimator.classes_, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        sets: Any,
        classes: Any,
        *,
        coverage: float | None = None,
        ax: Any = None,
        draw: bool = True,
    ) -> Self:
        """Create the display from true labels and prediction sets.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        sets : array-like of shape (n_samples, n_classes), of bool
            Whether each set contains each class.
        classes : array-like of shape (n_classes,)
            Class labels, sorted.
        coverage : float, default=None
            The coverage that was asked for, drawn as a line.
        ax, draw
            As in `from_estimator`.

        Returns
        -------
        display : PredictionSetDisplay
        """
        return cls(summarize_sets(y_true, sets, classes), coverage=coverage)._plot_if(draw, ax)

    def _get_layout(self) -> tuple[int, tuple[float, float], int]:
        return 2, (4.4, 1.4 + max(0.24 * len(self.summary.labels), 1.0)), 2

    def _draw(self, panels: list[Any]) -> None:
        n_labels = len(self.summary.labels)
        self._draw_coverages(panels[0])
        self._draw_sizes(panels[1])
        for panel in panels:
            panel.set_ylim(n_labels - 0.4, -0.6)
            tidy(panel)
        panels[1].set_yticks([])

    def _draw_coverages(self, ax: Any) -> None:
        summary, theme = self.summary, get_theme(ax)
        places = np.arange(len(summary.labels))
        ends = np.abs(np.stack([summary.low, summary.high]) - summary.coverages)
        ax.errorbar(summary.coverages, places, xerr=ends, fmt="o", color=COLORS[0], markersize=5)
        if self.coverage is not None:
            ax.axvline(self.coverage, color=theme.ink, linewidth=0.9, linestyle="--")
            ax.set_title(f"asked for {self.coverage:.0%}, overall {summary.coverage:.1%}", size=10)
        names = format_names(summary.labels)
        rows = [f"{name} ({n})" for name, n in zip(names, summary.counts, strict=True)]
        ax.set_yticks(places, rows)
        ax.set_xlabel("coverage")
        ax.grid(axis="x", color=theme.grid, linewidth=0.6)
        ax.set_axisbelow(True)

    def _draw_sizes(self, ax: Any) -> None:
        theme, places = get_theme(ax), np.arange(len(self.summary.labels))
        shares, names = group_sizes(self.summary.sizes)
        depths = np.geomspace(1.0, 0.18, max(shares.shape[1] - 1, 2))
        colors: list[Any] = [theme.line, *(mix(COLORS[0], theme.paper, d) for d in depths)]
        left, handles = np.zeros(len(places)), []
        for column, color in zip(shares.T, colors, strict=False):
            handles.append(ax.barh(places, column, 0.7, left=left, color=color))
            left = left + column
        mean = float(np.average(self.summary.mean_sizes, weights=self.summary.counts))
        ax.set_title(f"mean {mean:.2f} classes per set", size=10)
        ax.set_xlim(0, 1)
        ax.set_xlabel("share of the samples of a class")
        draw_legend_outside(ax, handles, names, "classes in set")


def group_sizes(sizes: FloatArray) -> tuple[FloatArray, list[str]]:
    """Return shares of sets by size with large sizes together, and names of the sizes."""
    n_classes = sizes.shape[1] - 1
    names = ["none", *(str(k) for k in range(1, n_classes + 1))]
    if n_classes > MAX_SIZE:
        sizes = np.column_stack([sizes[:, :MAX_SIZE], sizes[:, MAX_SIZE:].sum(axis=1)])
        names = [*names[:MAX_SIZE], f"{MAX_SIZE} or more"]
    return sizes, names
