"""RocDisplay and PrecisionRecallDisplay: curves of each class against the others."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from opgd.inspection.curves import ClassCurve, trace_curves, trace_probability_curves
from opgd.plotting._base import SingleDisplay
from opgd.plotting._drawing import draw_legend_outside, tidy
from opgd.plotting._styles import get_theme, make_class_styles
from opgd.plotting._text import format_names

MAX_CURVES = 10
"""With more curves, those with the smallest areas are distinguished."""


def select_smallest_areas(curves: list[ClassCurve]) -> list[int]:
    """Return the indices of all curves, or of those with the smallest areas if they are many."""
    if len(curves) <= MAX_CURVES:
        return list(range(len(curves)))
    order = np.argsort([curve.area for curve in curves], kind="stable")
    smallest: list[int] = order[:MAX_CURVES].tolist()
    return smallest


class _CurveDisplay(SingleDisplay):
    """Curves of classes with their areas."""

    _kind: ClassVar[str]
    _labels: ClassVar[tuple[str, str]]
    _area: ClassVar[str]

    def __init__(self, *, curves: list[ClassCurve]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        labels: Sequence[Any] | None = None,
        sample_weight: Any = None,
        ax: Any = None,
        draw: bool = True,
    ) -> Self:
        """Create the display from a fitted classifier and labeled samples.

        Parameters
        ----------
        estimator : fitted classifier
            Any classifier with `predict_log_proba`.
        X : array-like of shape (n_samples, n_features)
            Samples that the classifier was not fitted to.
        y : array-like of shape (n_samples,)
            True labels.
        labels : sequence of labels, default=None
            Classes to show, each against all others. None shows the second of two classes, or all
            classes in y.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; equal weights by default.
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : the display
        """
        curves = trace_curves(
            cls._kind, estimator, X, y, labels=labels, sample_weight=sample_weight
        )
        return cls(curves=curves)._plot_if(draw, ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        classes: Any,
        *,
        labels: Sequence[Any] | None = None,
        sample_weight: Any = None,
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
        labels, sample_weight, ax, draw
            As in `from_estimator`.

        Returns
        -------
        display : the display
        """
        with np.errstate(divide="ignore"):
            scores = np.log(np.asarray(y_proba, dtype=np.float64))
        options: dict[str, Any] = {"labels": labels, "sample_weight": sample_weight}
        curves = trace_probability_curves(cls._kind, scores, y_true, np.asarray(classes), **options)
        return cls(curves=curves)._plot_if(draw, ax)

    def _get_size(self) -> tuple[float, float]:
        return 6.0, 4.2

    def _draw(self, ax: Any) -> None:
        names = format_names([curve.label for curve in self.curves])
        entries = [f"{n} ({curve.area:.3f})" for n, curve in zip(names, self.curves, strict=True)]
        shown = select_smallest_areas(self.curves)
        styles = make_class_styles(len(self.curves))
        handles = [self._draw_curve(ax, k, styles[k].color, styles[k].line) for k in shown]
        entries = [entries[k] for k in shown]
        others = [k for k in range(len(self.curves)) if k not in shown]
        if others:
            lines = [
                self._draw_curve(ax, k, get_theme(ax).line, "-", linewidth=0.6) for k in others
            ]
            least = min(self.curves[k].area for k in others)
            handles.append(lines[0])
            entries.append(f"{len(others)} others (from {least:.3f})")
        self._draw_chance(ax, [self.curves[k] for k in shown], [styles[k].color for k in shown])
        draw_legend_outside(ax, handles, entries, self._area)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        ax.set_xlabel(self._labels[0])
        ax.set_ylabel(self._labels[1])
        tidy(ax)

    def _steps(self) -> dict[str, str]:
        return {}

    def _draw_curve(self, ax: Any, k: int, color: str, line: str, **options: Any) -> Any:
        curve = self.curves[k]
        options = {"color": color, "linestyle": line} | options | self._steps()
        return ax.plot(curve.x, curve.y, **options)[0]

    def _draw_chance(self, ax: Any, curves: list[ClassCurve], colors: list[str]) -> None:
        """Draw what a classifier without information would reach."""
        raise NotImplementedError


class RocDisplay(_CurveDisplay):
    """Receiver operating characteristics: true against false positive rates by threshold.

    Create it with `from_estimator`. Each class is compared with all others by its probability.
    The area under a curve is the probability that a sample of the class has a larger one than
    another sample. With more than ten classes, the ten with the smallest areas are distinguished
    by color, and the others are gray.

    Attributes
    ----------
    curves : list of ClassCurve
        `label`, `x` (false positive rates), `y` (true positive rates), `area` and `share` of each
        class.
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import RocDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OPGDClassifier().fit(X[::2], y[::2])
    >>> display = RocDisplay.from_estimator(model, X[1::2], y[1::2], draw=False)
    >>> bool(min(curve.area for curve in display.curves) > 0.9)
    True
    """

    _kind = "roc"
    _labels = ("false positive rate", "true positive rate")
    _area = "class (area)"

    def _draw_chance(self, ax: Any, *_: Any) -> None:
        ax.plot([0, 1], [0, 1], color="#aaaaaa", linewidth=0.8, linestyle=":")


class PrecisionRecallDisplay(_CurveDisplay):
    """Precision against recall by threshold.

    Create it with `from_estimator`. Each class is compared with all others by its probability.
    Unlike receiver operating characteristics, the curves depend on how frequent a class is, and
    show how many of the samples that are declared to be of a rare class are. Dotted lines are at
    the shares of the classes, the precision of a classifier without information.

    Attributes
    ----------
    curves : list of ClassCurve
        `label`, `x` (recalls), `y` (precisions), `area` (average precision) and `share` of each
        class.
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import PrecisionRecallDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OPGDClassifier().fit(X[::2], y[::2])
    >>> display = PrecisionRecallDisplay.from_estimator(model, X[1::2], y[1::2], draw=False)
    >>> len(display.curves)
    3
    """

    _kind = "precision_recall"
    _labels = ("recall", "precision")
    _area = "class (average precision)"

    def _steps(self) -> dict[str, str]:
        return {"drawstyle": "steps-post"}

    def _draw_chance(self, ax: Any, curves: list[ClassCurve], colors: list[str]) -> None:
        for curve, color in zip(curves, colors, strict=True):
            ax.axhline(curve.share, color=color, linewidth=0.8, linestyle=":")
