"""ConfusionDisplay: heat map of true and predicted classes."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from opgd._utils.labels import encode_among, encode_labels, to_label_array
from opgd.core.types import FloatArray, IntArray
from opgd.inspection.confusion import compute_shares, count_confusion, order_by_confusion
from opgd.inspection.palette import COLORS
from opgd.plotting._base import SingleDisplay
from opgd.plotting._styles import Theme, get_theme, mix
from opgd.plotting._text import format_names

CORRECT, WRONG = COLORS[0], COLORS[6]
ORDERS = ("confusion", "labels")


class ConfusionDisplay(SingleDisplay):
    """Heat map of true classes (rows) and predicted classes (columns).

    Create it with `from_estimator` or `from_predictions`. Numbers are counts of samples; empty
    cells have none. Correct predictions are blue and errors are orange, more intense for a larger
    share of the true class; shares of errors are shown on a square root scale, so that rare errors
    are visible. Recalls are on the right. Classes that are confused are neighbors.

    Attributes
    ----------
    confusion : ndarray of shape (n_classes, n_classes)
        Counts of true (rows) and predicted classes (columns), in the order of `labels`.
    labels : list
        The classes.
    order : ndarray of shape (n_classes,)
        Indices into `labels` in the order in which they are drawn.
    n_unknown : int
        Number of samples with a label that is none of the classes; they are not counted.
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the last plot.

    Examples
    --------
    >>> from opgd.plotting import ConfusionDisplay
    >>> true, predicted = ["a", "b", "c", "c"], ["a", "b", "a", "c"]
    >>> display = ConfusionDisplay.from_predictions(true, predicted, draw=False)
    >>> display.confusion.tolist()
    [[1, 0, 0], [0, 1, 0], [1, 0, 1]]
    >>> [display.labels[k] for k in display.order]
    ['a', 'c', 'b']
    """

    def __init__(
        self,
        *,
        confusion: IntArray,
        labels: Sequence[Any],
        order: str = "confusion",
        n_unknown: int = 0,
    ) -> None:
        if order not in ORDERS:
            raise ValueError(f"order must be 'confusion' or 'labels', got {order!r}.")
        self.confusion = np.asarray(confusion)
        self.labels = list(labels)
        self.n_unknown = n_unknown
        ordered = order_by_confusion(self.confusion) if order == "confusion" else None
        self.order: IntArray = np.arange(len(self.labels)) if ordered is None else ordered

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        order: str = "confusion",
        ax: Any = None,
        draw: bool = True,
    ) -> Self:
        """Create the display from a fitted classifier and labeled samples.

        Parameters
        ----------
        estimator : fitted classifier
            Any classifier with `predict` and `classes_`.
        X : array-like of shape (n_samples, n_features)
            Samples that the classifier was not fitted to.
        y : array-like of shape (n_samples,)
            True labels.
        order : {"confusion", "labels"}, default="confusion"
            Order of the classes: confused classes next to each other, or as in `classes_`.
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : ConfusionDisplay
        """
        if not hasattr(estimator, "classes_"):
            raise TypeError(
                f"Expected a fitted classifier with classes_, got {type(estimator).__name__}."
            )
        options: dict[str, Any] = {"order": order, "ax": ax, "draw": draw}
        return cls.from_predictions(y, estimator.predict(X), labels=estimator.classes_, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        labels: Any = None,
        order: str = "confusion",
        ax: Any = None,
        draw: bool = True,
    ) -> Self:
        """Create the display from true and predicted labels.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
            True and predicted labels.
        labels : array-like of shape (n_classes,), default=None
            The classes; by default the sorted labels that occur.
        order, ax, draw
            As in `from_estimator`.

        Returns
        -------
        display : ConfusionDisplay
        """
        true, predicted = to_label_array(y_true), to_label_array(y_pred)
        if len(true) != len(predicted):
            raise ValueError(f"y_true has {len(true)} labels, but y_pred has {len(predicted)}.")
        if labels is None:
            labels = encode_labels(to_label_array([*true.tolist(), *predicted.tolist()]))[0]
        classes = np.asarray(labels)
        rows, columns = (encode_among(codes, classes, np.nan) for codes in (true, predicted))
        confusion = count_confusion(rows, columns, len(classes))
        n_unknown = int(np.sum((rows < 0) | (columns < 0)))
        return cls(
            confusion=confusion, labels=classes.tolist(), order=order, n_unknown=n_unknown
        )._plot_if(draw, ax)

    def _get_size(self) -> tuple[float, float]:
        side = max(2.2, 0.3 * len(self.labels))
        return side + 2.4, side + 1.5

    def _draw(self, ax: Any) -> None:
        n_classes = len(self.labels)
        counts = self.confusion[np.ix_(self.order, self.order)]
        shares, theme = compute_shares(counts), get_theme(ax)
        ax.imshow(_color_cells(shares, theme), interpolation="nearest")
        self._write_counts(ax, counts, shares, theme)
        names = format_names([self.labels[k] for k in self.order], 16)
        upright = n_classes > 4 and max(map(len, names)) > 2
        size = _find_font_size(ax, n_classes, 9)
        ax.set_xticks(np.arange(n_classes), names, rotation=90 if upright else 0, fontsize=size)
        ax.set_yticks(np.arange(n_classes), names, fontsize=size)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        note = f" ({self.n_unknown} with other labels are not counted)" * (self.n_unknown > 0)
        ax.set_xlabel(f"predicted class{note}")
        ax.set_ylabel("true class")
        self._write_recalls(ax, shares, counts.sum(axis=1), size)

    def _write_counts(self, ax: Any, counts: IntArray, shares: FloatArray, theme: Theme) -> None:
        size = _find_font_size(ax, len(counts), 8.5, max(len(str(counts.max(initial=0))), 2))
        for i, j in np.argwhere(counts):
            strength = shares[i, j] if i == j else np.sqrt(shares[i, j])
            color = theme.ink if strength < 0.75 else theme.paper
            ax.text(j, i, counts[i, j], ha="center", va="center", fontsize=size, color=color)

    def _write_recalls(
        self, ax: Any, shares: FloatArray, sizes: IntArray, font_size: float
    ) -> None:
        place = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
        style = {"va": "center", "ha": "left", "fontsize": font_size}
        for i, share in enumerate(np.diag(shares)):
            text = f"{100 * share:.0f}%" if sizes[i] else "-"
            ax.annotate(text, (1.02, i), **place, **style)
        ax.annotate("recall", (1.02, 1.01), xycoords="axes fraction", fontsize=font_size)


def _color_cells(shares: FloatArray, theme: Theme) -> FloatArray:
    """Return the colors of the cells, (K, K, 3)."""
    cells = np.empty((*shares.shape, 3))
    for i, j in np.ndindex(*shares.shape):
        strength = float(shares[i, j]) ** (1.0 if i == j else 0.5)
        cells[i, j] = mix(CORRECT if i == j else WRONG, theme.paper, 0.04 + 0.9 * strength)
    return cells


def _find_font_size(ax: Any, n_classes: int, largest: float, n_characters: int = 2) -> float:
    """Return the size of text that fits into a cell, in points."""
    box = ax.get_position()
    width, height = ax.figure.get_size_inches()
    cell = 72 * min(box.width * width, box.height * height) / n_classes
    return float(np.clip(min(cell / (0.65 * n_characters), 0.75 * cell), 4, largest))
