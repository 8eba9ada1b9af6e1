"""DriftDisplay: what moved between training and new samples."""

from typing import Any, Self

import numpy as np

from opgd.core.types import AnyArray
from opgd.inspection.estimators import check_has_method
from opgd.inspection.palette import COLORS
from opgd.inspection.pipelines import unwrap
from opgd.plotting._base import PanelsDisplay
from opgd.plotting._drawing import tidy
from opgd.plotting._styles import get_theme
from opgd.plotting._text import format_names

MAX_BARS = 12
TWO_SIDED = 1.96


class DriftDisplay(PanelsDisplay):
    """Shifts of features, components and classes of new samples.

    Create it with `from_estimator`. Three panels show the features and the components with the
    largest shifts of their means, in standard deviations, and the class shares before and after.
    Lines are intervals of 95 %.

    Attributes
    ----------
    features, components, classes : dict of ndarrays
        Tables of the drift, see `opgd.decisions.Drift`; those of features and components are sorted
        by the size of the shift.
    axes_ : list of three matplotlib Axes
        Axes of the last plot.
    ax_, figure_ : matplotlib Axes and Figure
        First axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import DriftDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OPGDClassifier().fit(X, y)
    >>> display = DriftDisplay.from_estimator(model, X + [0, 0, 1, 0], draw=False)
    >>> str(display.features["feature"][0])
    'column 2'
    """

    def __init__(
        self,
        *,
        features: dict[str, AnyArray],
        components: dict[str, AnyArray],
        classes: dict[str, AnyArray],
    ) -> None:
        self.features = _sort_by_shift(features)
        self.components = _sort_by_shift(components)
        self.classes = classes

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None, draw: bool = True) -> Self:
        """Create the display from a fitted classifier and new samples.

        Parameters
        ----------
        estimator : fitted opgd classifier with Gaussian classes, or Pipeline that ends in one
        X : array-like of shape (n_samples, n_features)
            New samples.
        ax : sequence of three matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : DriftDisplay
        """
        unwrapped = unwrap(estimator)
        check_has_method(unwrapped.estimator, "drift")
        drift = unwrapped.estimator.drift(unwrapped.encode(X))
        return cls(
            features=drift.features, components=drift.components, classes=drift.classes
        )._plot_if(draw, ax)

    def _get_layout(self) -> tuple[int, tuple[float, float], int]:
        return 3, (4.2, 3.6), 3

    def _draw(self, panels: list[Any]) -> None:
        _draw_shifts(panels[0], self.features, format_names(self.features["feature"]))
        names = [f"axis {j + 1}" for j in self.components["component"]]
        _draw_shifts(panels[1], self.components, names)
        self._draw_shares(panels[2])
        for panel, title in zip(panels, ["columns", "axes", "classes"], strict=True):
            panel.set_title(title, fontsize=10)
            tidy(panel)

    def _draw_shares(self, ax: Any) -> None:
        table = self.classes
        places = np.arange(len(table["class"]))
        errors = TWO_SIDED * table["standard_error"]
        ax.scatter(table["prior"], places, color=COLORS[3], label="training", zorder=2)
        ax.errorbar(
            table["new_prior"], places, xerr=errors, fmt="o", color=COLORS[0], label="new", zorder=3
        )
        ax.set_yticks(places, format_names(table["class"]))
        ax.set_ylim(len(places) - 0.4, -0.6)
        ax.set_xlim(-0.02, 1.02)
        ax.set_xlabel("share")
        ax.legend(frameon=False, fontsize=9)


def _sort_by_shift(table: dict[str, AnyArray]) -> dict[str, AnyArray]:
    order = np.argsort(-np.abs(table["shift"]), kind="stable")
    return {name: column[order] for name, column in table.items()}


def _draw_shifts(ax: Any, table: dict[str, AnyArray], names: list[str]) -> None:
    shifts, n_bars = table["shift"][:MAX_BARS], min(MAX_BARS, len(table["shift"]))
    errors = TWO_SIDED * table["standard_error"][:MAX_BARS]
    places = np.arange(n_bars)
    ink = get_theme(ax).ink
    ax.barh(places, shifts, 0.6, color=COLORS[0], xerr=errors, ecolor=ink)
    ax.axvline(0.0, color=ink, linewidth=0.8)
    ax.set_yticks(places, names[:n_bars])
    ax.set_ylim(n_bars - 0.4, -0.6)
    ax.set_xlabel("shift of the mean (standard deviations)")
