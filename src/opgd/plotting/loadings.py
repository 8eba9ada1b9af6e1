"""LoadingsDisplay: coefficients and correlations of the columns."""

from typing import Any, Self

import numpy as np

from opgd._utils.validation import check_integer
from opgd.core.types import FloatArray, IntArray
from opgd.inspection.estimators import (
    check_axes,
    check_rows,
    complete_rows,
    get_column_names,
)
from opgd.inspection.loadings import compute_correlations, compute_standardized_coefficients
from opgd.inspection.palette import COLORS
from opgd.inspection.pipelines import unwrap_with_axes
from opgd.inspection.text import label_axes
from opgd.plotting._base import PanelsDisplay
from opgd.plotting._drawing import tidy
from opgd.plotting._styles import get_theme
from opgd.plotting._text import format_names

MAX_COLUMNS = 15
MAX_AXES = 4


class LoadingsDisplay(PanelsDisplay):
    """Standardized coefficients of features, and their correlations with the scores.

    Create it with `from_estimator`. A coefficient is the effect of a feature on the score with all
    other features held fixed; a correlation describes the association of the feature alone with
    the score. If features are correlated, the two can differ in size and in sign.

    Attributes
    ----------
    coefficients : ndarray of shape (n_axes, n_features)
        Coefficients times standard deviations of the training features.
    correlations : ndarray of shape (n_axes, n_features) or None
        Correlations of features with scores (structure loadings); nan for constant features.
    columns : list of str
        Names of the features.
    order : ndarray of shape (n_axes, n_drawn)
        Features that are drawn on each axis, by decreasing absolute coefficient.
    axis_labels : list of str
        Titles of the panels.
    axes_ : list of matplotlib Axes
        Axes of the last plot, one per component.
    ax_, figure_ : matplotlib Axes and Figure
        First axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import LoadingsDisplay
    >>> wine = load_wine(as_frame=True)
    >>> model = OPGDClassifier(n_components=2).fit(wine.data, wine.target)
    >>> display = LoadingsDisplay.from_estimator(model, wine.data, top=3, draw=False)
    >>> [display.columns[j] for j in display.order[0]]
    ['flavanoids', 'od280/od315_of_diluted_wines', 'color_intensity']
    """

    def __init__(
        self,
        *,
        coefficients: FloatArray,
        correlations: FloatArray | None,
        columns: list[str],
        order: IntArray,
        axis_labels: list[str],
    ) -> None:
        self.coefficients = coefficients
        self.correlations = correlations
        self.columns = columns
        self.order = order
        self.axis_labels = axis_labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        axes: Any = None,
        top: int | None = None,
        ax: Any = None,
        draw: bool = True,
    ) -> Self:
        """Create the display from a fitted estimator.

        Parameters
        ----------
        estimator : fitted opgd estimator with components, or Pipeline that ends in one
        X : array-like of shape (n_samples, n_features), default=None
            Samples to compute the correlations from; without them only coefficients are drawn.
        axes : sequence of int, default=None
            Indices of components, from 0; by default the first four.
        top : int, default=None
            Maximum number of features to draw on each axis, those with the largest coefficients;
            15 by default.
        ax : sequence of matplotlib Axes, default=None
            Axes to draw on, one per component; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : LoadingsDisplay
        """
        unwrapped = unwrap_with_axes(estimator)
        estimator, X = unwrapped.estimator, unwrapped.encode(X)
        n_components = len(estimator.components_)
        first = range(min(MAX_AXES, n_components))
        indices = check_axes(first if axes is None else axes, n_components)
        coefficients = compute_standardized_coefficients(estimator)[indices]
        top = MAX_COLUMNS if top is None else check_integer("top", top, 1)
        correlations = None
        if X is not None:
            rows = complete_rows(estimator, check_rows(estimator, X))
            correlations = compute_correlations(rows, estimator.components_[indices])
        return cls(
            coefficients=coefficients,
            correlations=correlations,
            columns=get_column_names(estimator),
            order=np.argsort(-np.abs(coefficients), axis=1, kind="stable")[:, :top],
            axis_labels=label_axes(estimator, indices),
        )._plot_if(draw, ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw coefficients as bars and correlations as points.

        Coefficients are on the lower scale, the same in all panels; correlations are on the upper
        scale, from -1 to 1.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, default=None
            Axes to draw on, one per component; by default a new figure is created.

        Returns
        -------
        self : LoadingsDisplay
        """
        super().plot(ax)
        n_drawn = self.order.shape[1]
        if n_drawn < len(self.columns) and ax is None:
            note = f"the {n_drawn} largest of {len(self.columns)} coefficients on each axis"
            self.figure_.suptitle(note, fontsize=10)
        return self

    def _get_layout(self) -> tuple[int, tuple[float, float], int]:
        return len(self.order), (5.2, 1.6 + 0.24 * self.order.shape[1]), 2

    def _draw(self, panels: list[Any]) -> None:
        shown = format_names(self.columns)
        for i, panel in enumerate(panels):
            self._draw_axis(panel, i, shown)

    def _draw_axis(self, ax: Any, i: int, shown: list[str]) -> None:
        drawn, theme = self.order[i], get_theme(ax)
        places = np.arange(len(drawn))
        ax.barh(places, self.coefficients[i, drawn], 0.6, color=COLORS[0])
        largest = 1.08 * np.abs(self.coefficients).max() or 1.0
        ax.set_xlim(-largest, largest)
        ax.axvline(0, color=theme.ink, linewidth=0.8)
        ax.set_yticks(places, [shown[j] for j in drawn])
        ax.set_ylim(len(drawn) - 0.4, -0.6)
        ax.set_title(self.axis_labels[i], fontsize=10)
        ax.set_xlabel("standardized coefficient (bars)", fontsize=9)
        ax.grid(axis="x", color=theme.grid, linewidth=0.6)
        ax.set_axisbelow(True)
        tidy(ax)
        if self.correlations is not None:
            _draw_correlations(ax, self.correlations[i, drawn])


def _draw_correlations(ax: Any, correlations: FloatArray) -> None:
    """Draw correlations as points on a scale from -1 to 1 at the top."""
    twin = ax.twiny()
    marks = {"marker": "D", "s": 24, "color": COLORS[2], "zorder": 3}
    twin.scatter(correlations, np.arange(len(correlations)), **marks)
    twin.set_xlim(-1.08, 1.08)
    twin.set_xticks([-1, -0.5, 0, 0.5, 1])
    twin.set_xlabel("correlation with the score (diamonds)", fontsize=9)
    twin.tick_params(labelsize=9)
    twin.spines[["left", "right", "bottom"]].set_visible(False)
    twin.spines["top"].set_color("#888888")
