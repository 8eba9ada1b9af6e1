"""CostDisplay: mean cost of decisions."""

from typing import Any, Self

import numpy as np

from opgd.core.types import AnyArray
from opgd.inspection.cost_curves import CostCurves, trace_costs
from opgd.inspection.palette import COLORS
from opgd.plotting._base import PanelsDisplay
from opgd.plotting._drawing import tidy
from opgd.plotting._styles import get_theme
from opgd.plotting._text import format_names


class CostDisplay(PanelsDisplay):
    """Mean cost of decisions by share of rejected samples and, of two classes, by threshold.

    Create it with `from_estimator` or `from_predictions`. In the first panel, the samples with the
    largest expected costs are rejected first, up to 95% of the samples, and the cost is the mean
    over the others; the left end is the mean cost if every sample is decided. With two classes,
    the second panel shows the mean cost if the second class is predicted from a probability on, the
    threshold of least expected cost, and the threshold 0.5.

    Attributes
    ----------
    curves : CostCurves
        `by_rejection`, curves with `name`, `x` (shares of rejected samples) and `costs`;
        `by_threshold`, such a curve or None; and `threshold`, that of least expected cost.
    classes : ndarray of shape (n_classes,)
        Class labels.
    axes_ : list of matplotlib Axes
        Axes of the last plot: one, or two for two classes.
    ax_, figure_ : matplotlib Axes and Figure
        First axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import CostDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OPGDClassifier(ridge=0.1).fit(X[::2], y[::2])
    >>> costs = {(0, 1): 10}
    >>> display = CostDisplay.from_estimator(model, X[1::2], y[1::2], costs=costs, draw=False)
    >>> round(display.curves.threshold, 3)
    0.909
    """

    def __init__(self, curves: CostCurves, classes: AnyArray) -> None:
        self.curves = curves
        self.classes = classes

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, costs: Any = None, ax: Any = None, draw: bool = True
    ) -> Self:
        """Create the display from a fitted classifier and labeled samples.

        Parameters
        ----------
        estimator : fitted classifier
            Any classifier with `predict_proba`.
        X : array-like of shape (n_samples, n_features)
            Samples that the classifier was not fitted to.
        y : array-like of shape (n_samples,)
            True labels.
        costs : array-like of shape (n_classes, n_classes), dict or data frame, default=None
            Costs of true classes (rows) and predicted classes (columns), as in
            `OPGDClassifier.predict`. None means that every error costs 1.
        ax : sequence of matplotlib Axes, default=None
            Axes to draw on, one per panel; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : CostDisplay
        """
        if not hasattr(estimator, "predict_proba") or not hasattr(estimator, "classes_"):
            raise TypeError(
                f"Expected a fitted classifier with predict_proba, got {type(estimator).__name__}."
            )
        options: dict[str, Any] = {"costs": costs, "ax": ax, "draw": draw}
        return cls.from_predictions(y, estimator.predict_proba(X), estimator.classes_, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        classes: Any,
        *,
        costs: Any = None,
        ax: Any = None,
        draw: bool = True,
    ) -> Self:
        """Create the display from true labels and probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_proba : array-like of shape (n_samples, n_classes)
            Probabilities of the classes.
        classes : array-like of shape (n_classes,)
            Class labels in the order of the columns, sorted.
        costs, ax, draw
            As in `from_estimator`.

        Returns
        -------
        display : CostDisplay
        """
        return cls(trace_costs(y_proba, y_true, classes, costs), np.asarray(classes))._plot_if(
            draw, ax
        )

    def _get_layout(self) -> tuple[int, tuple[float, float], int]:
        return 1 if self.curves.by_threshold is None else 2, (4.6, 3.4), 2

    def _draw(self, panels: list[Any]) -> None:
        self._draw_rejection(panels[0])
        if len(panels) == 2:
            self._draw_thresholds(panels[1])
        for panel in panels:
            panel.set_ylim(bottom=0)
            panel.set_ylabel("mean cost")
            panel.legend(frameon=False, fontsize=9)
            tidy(panel)

    def _draw_rejection(self, ax: Any) -> None:
        curves = self.curves.by_rejection
        styles = [(COLORS[6], "--"), (COLORS[0], "-")][-len(curves) :]
        for curve, (color, line) in zip(curves, styles, strict=True):
            label = f"{curve.name} ({curve.costs[0]:.3g})"
            ax.plot(curve.x, curve.costs, color=color, linestyle=line, label=label)
            ax.plot(curve.x[0], curve.costs[0], "o", color=color, markersize=5)
        ax.set_xlim(-0.01, 1)
        ax.set_xlabel("share of rejected samples")

    def _draw_thresholds(self, ax: Any) -> None:
        curve, theme = self.curves.by_threshold, get_theme(ax)
        if curve is None:
            return
        ax.plot(curve.x, curve.costs, color=COLORS[0])
        lines = {0.5: (":", theme.line)}
        if self.curves.threshold is not None:  # 0.5 if all errors cost the same
            lines[self.curves.threshold] = ("--", theme.ink)
        for threshold, (line, color) in lines.items():
            cost = float(np.interp(threshold, curve.x, curve.costs))
            label = f"threshold {threshold:.3g} (cost {cost:.3g})"
            ax.axvline(threshold, color=color, linestyle=line, linewidth=1, label=label)
        ax.set_xlim(0, 1)
        name = format_names(self.classes[1:].tolist())[0]
        ax.set_xlabel(f"threshold of the probability of {name}")
