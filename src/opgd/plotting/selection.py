"""SelectionDisplay: how the number of clusters was selected."""

from typing import Any, Self

import numpy as np

from opgd.core.types import AnyArray
from opgd.inspection.estimators import get_fitted
from opgd.inspection.pipelines import unwrap
from opgd.plotting._base import PanelsDisplay
from opgd.plotting.components import ComponentsDisplay, Curve, Panel

LEAST_SHARE = 0.02
"""Share of the samples below which a cluster is too small for its number to be selected."""


class SelectionDisplay(PanelsDisplay):
    """Criteria and sizes of clusters against the number of clusters, with the choice marked.

    Create it with `from_estimator`.

    Attributes
    ----------
    panels : list of Panel
        Panels with `label`, `curves` (`name`, `sizes`, `values`) and `chosen`: first the criterion
        of the first mixture, of the mixture in the projection and their mean, then the share of the
        smallest cluster beside the least share with which a number is selected.
    axes_ : list of matplotlib Axes
        Axes of the last plot, one per panel.
    ax_, figure_ : matplotlib Axes and Figure
        First axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd import OPGDMixture
    >>> from opgd.plotting import SelectionDisplay
    >>> model = OPGDMixture("auto", random_state=0).fit(load_wine().data)
    >>> display = SelectionDisplay.from_estimator(model, draw=False)
    >>> [curve.name for curve in display.panels[0].curves]
    ['in the projection', 'first mixture', 'mean']
    """

    def __init__(self, panels: list[Panel]) -> None:
        self.panels = panels
        self._components = ComponentsDisplay(panels, "number of clusters")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, draw: bool = True) -> Self:
        """Create the display from a mixture.

        Parameters
        ----------
        estimator : fitted OPGDMixture, or Pipeline that ends in one
        ax : sequence of matplotlib Axes, default=None
            Axes to draw on, one per panel; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : SelectionDisplay
        """
        estimator = unwrap(estimator).estimator
        table = get_fitted(estimator, "selection_", "OPGDMixture")
        return cls(_make_panels(table, estimator.criterion, len(estimator.means_)))._plot_if(
            draw, ax
        )

    def _get_layout(self) -> tuple[int, tuple[float, float], int]:
        return self._components._get_layout()

    def _draw(self, panels: list[Any]) -> None:
        self._components._draw(panels)


def _make_panels(table: dict[str, AnyArray], criterion: str, n_clusters: int) -> list[Panel]:
    order = np.argsort(table["n_clusters"])
    sizes = table["n_clusters"][order]
    place = int(np.flatnonzero(sizes == n_clusters)[0])
    names = {
        criterion: "in the projection",
        f"first_{criterion}": "first mixture",
        "selected_by": "mean",
    }
    curves = [Curve(name, sizes, table[key][order]) for key, name in names.items()]
    chosen = float(n_clusters), float(curves[-1].values[place])
    smallest = Curve("smallest cluster", sizes, table["smallest"][order])
    least = Curve("least share to be selected", sizes, np.full(len(sizes), LEAST_SHARE))
    share = float(n_clusters), float(smallest.values[place])
    return [
        Panel(f"{criterion.upper()} (less is better)", curves, chosen=chosen),
        Panel("share of samples", [smallest, least], chosen=share),
    ]
