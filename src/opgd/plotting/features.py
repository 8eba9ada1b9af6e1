"""FeatureSelectionDisplay: how many features are needed, and how the components use them."""

from typing import Any, Self

import numpy as np

from opgd._utils.validation import check_integer
from opgd.core.types import FloatArray, IntArray
from opgd.inspection.estimators import get_column_names
from opgd.inspection.feature_selection import FeaturePath, get_feature_path, list_used_features
from opgd.inspection.loadings import compute_standardized_coefficients
from opgd.inspection.palette import COLORS
from opgd.inspection.pipelines import unwrap_with_axes
from opgd.plotting._base import PanelsDisplay
from opgd.plotting._drawing import set_integer_ticks, tidy
from opgd.plotting._styles import get_theme
from opgd.plotting._text import format_names

MAX_COLUMNS = 30
MAX_AXES = 20
MAX_WRITTEN_AXES = 6
"""Number of components up to which loadings are written into the cells."""
LOG_RATIO = 16
"""Ratio of the largest to the smallest number of features from which the scale is logarithmic."""


class FeatureSelectionDisplay(PanelsDisplay):
    """Error against the number of features, and loadings of the selected features.

    Create it with `from_estimator`. The left panel shows the error on held-out samples of the best
    model with each number of features, with a bar of one standard error to each side, and a ring
    around the selected number: the smallest whose results, averaged over neighboring numbers, are
    within half a standard error of the best ones. The right panel shows standardized loadings of
    the selected features (rows, in the order of their selection) on the components (columns).

    Attributes
    ----------
    path : FeaturePath
        `n_features`, `errors`, `standard_errors`, the index `selected` and `n_available`.
    columns : list of str
        Names of the selected features, in the order of their selection.
    loadings : ndarray of shape (n_selected, n_components)
        Coefficients of the selected features times their standard deviations in the training
        samples.
    top : int
        Maximum number of features in the right panel.
    axes_ : list of two matplotlib Axes
        Axes of the last plot.
    ax_, figure_ : matplotlib Axes and Figure
        First axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd import OPGDClassifierCV
    >>> from opgd.plotting import FeatureSelectionDisplay
    >>> wine = load_wine(as_frame=True)
    >>> model = OPGDClassifierCV(2, sparsity=(2, 5), n_subclasses=1, ridge=0.1, shrinkage=0)
    >>> model = model.fit(wine.data, wine.target)
    >>> display = FeatureSelectionDisplay.from_estimator(model, draw=False)
    >>> display.path.n_features.tolist()
    [2, 5]
    >>> display.columns[:2]
    ['flavanoids', 'color_intensity']
    """

    def __init__(
        self,
        *,
        path: FeaturePath,
        columns: list[str],
        loadings: FloatArray,
        top: int = MAX_COLUMNS,
    ) -> None:
        self.path = path
        self.columns = columns
        self.loadings = loadings
        self.top = check_integer("top", top, 1)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, top: int = MAX_COLUMNS, ax: Any = None, draw: bool = True
    ) -> Self:
        """Create the display from a classifier that compared numbers of features.

        Parameters
        ----------
        estimator : fitted OPGDClassifierCV with `sparsity`, or Pipeline that ends in one
        top : int, default=30
            Maximum number of features to draw, those that were selected first.
        ax : sequence of two matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : FeatureSelectionDisplay
        """
        estimator = unwrap_with_axes(estimator).estimator
        path = get_feature_path(estimator)
        if path is None:
            raise ValueError(
                f"{type(estimator).__name__} has no sparsity_path_; fit OPGDClassifierCV with "
                "sparsity='auto' or several numbers of features."
            )
        used, names = list_used_features(estimator), get_column_names(estimator)
        return cls(
            path=path,
            columns=[names[j] for j in used],
            loadings=compute_standardized_coefficients(estimator)[:, used].T,
            top=top,
        )._plot_if(draw, ax)

    def _get_layout(self) -> tuple[int, tuple[float, float], int]:
        n_drawn = min(len(self.columns), self.top)
        return 2, (5.0, max(3.4, 1.4 + 0.22 * n_drawn)), 2

    def _draw(self, panels: list[Any]) -> None:
        self._draw_path(panels[0])
        self._draw_loadings(panels[1])

    def _draw_path(self, ax: Any) -> None:
        path, theme = self.path, get_theme(ax)
        n_selected, error = path.n_features[path.selected], path.errors[path.selected]
        bars = {"yerr": path.standard_errors, "capsize": 3, "elinewidth": 1}
        ax.errorbar(path.n_features, path.errors, **bars, marker="o", markersize=4, color=COLORS[0])
        ring = {"s": 140, "facecolors": "none", "edgecolors": theme.ink, "linewidths": 1.6}
        ax.scatter(n_selected, error, **ring, zorder=4)
        if path.n_features[-1] >= LOG_RATIO * path.n_features[0]:
            _use_log_scale(ax, path.n_features)
        else:
            set_integer_ticks(ax)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("number of features")
        ax.set_ylabel("error on held-out samples")
        ax.set_title(f"{n_selected} of {path.n_available} features selected (ring)", fontsize=10)
        ax.grid(axis="y", color=theme.grid, linewidth=0.6)
        ax.set_axisbelow(True)
        tidy(ax)

    def _draw_loadings(self, ax: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        theme = get_theme(ax)
        shown = self.loadings[: self.top, :MAX_AXES]
        largest = float(np.abs(shown).max(initial=0.0)) or 1.0
        colors = LinearSegmentedColormap.from_list("loadings", [COLORS[6], theme.paper, COLORS[0]])
        scale = {"cmap": colors, "vmin": -largest, "vmax": largest}
        image = ax.imshow(shown, aspect="auto", interpolation="nearest", **scale)
        if shown.shape[1] <= MAX_WRITTEN_AXES:
            _write_loadings(ax, shown, largest, theme.ink)
        else:
            ax.figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02).ax.tick_params(labelsize=8)
        ax.set_yticks(np.arange(len(shown)), format_names(self.columns[: self.top]), fontsize=8)
        ax.set_xticks(np.arange(shown.shape[1]), [str(i + 1) for i in range(shown.shape[1])])
        ax.tick_params(length=0, labelsize=8)
        ax.spines[:].set_visible(False)
        ax.set_xlabel(_count_left_out("axis", shown.shape[1], self.loadings.shape[1], "axes"))
        what = "standardized loadings"
        ax.set_title(_count_left_out(what, len(shown), len(self.columns), "features"), fontsize=10)


def _count_left_out(label: str, n_shown: int, n_all: int, what: str) -> str:
    """Return a label with a note if not everything is shown."""
    return f"{label} (the first {n_shown} of {n_all} {what})" if n_shown < n_all else label


def _write_loadings(ax: Any, shown: FloatArray, largest: float, ink: str) -> None:
    for i, j in np.argwhere(shown != 0):
        color = "white" if abs(shown[i, j]) > 0.75 * largest else ink
        text = f"{shown[i, j]:.2f}".replace("-", "\N{MINUS SIGN}")
        ax.text(j, i, text, ha="center", va="center", fontsize=8, color=color)


def _use_log_scale(ax: Any, n_features: IntArray) -> None:
    """Show numbers of features on a logarithmic scale, with ticks at round numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.set_xscale("log")
    ax.set_xlim(0.85 * n_features[0], 1.18 * n_features[-1])
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
