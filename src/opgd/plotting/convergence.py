"""ConvergenceDisplay: the loss by iteration."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from opgd.core.types import FloatArray
from opgd.inspection.palette import COLORS
from opgd.inspection.pipelines import unwrap
from opgd.plotting._base import SingleDisplay
from opgd.plotting._drawing import set_integer_ticks, tidy


class ConvergenceDisplay(SingleDisplay):
    """Loss at the initialization and after each iteration of the solver.

    Create it with `from_estimator`.

    Attributes
    ----------
    losses : ndarray of shape (n_iter + 1,)
        Negative mean log posterior of a classifier, or negative mean objective of a mixture.
    converged : bool
        Whether the solver converged.
    search : dict of ndarrays, or None
        `search_` of the estimator: what each start of the search reached.
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import ConvergenceDisplay
    >>> model = OPGDClassifier().fit(*load_iris(return_X_y=True))
    >>> display = ConvergenceDisplay.from_estimator(model, draw=False)
    >>> bool(display.losses[-1] < display.losses[0])
    True
    """

    def __init__(
        self, *, losses: FloatArray, converged: bool, search: dict[str, Any] | None = None
    ) -> None:
        self.losses = losses
        self.converged = converged
        self.search = search

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, draw: bool = True) -> Self:
        """Create the display from a fitted estimator.

        Parameters
        ----------
        estimator : fitted opgd estimator with `loss_curve_`, or Pipeline that ends in one
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : ConvergenceDisplay
        """
        estimator = unwrap(estimator).estimator
        check_is_fitted(estimator)
        if not hasattr(estimator, "loss_curve_"):
            raise TypeError(
                f"Expected an estimator with loss_curve_, got {type(estimator).__name__}."
            )
        losses = np.asarray(estimator.loss_curve_, dtype=np.float64)
        return cls(
            losses=losses,
            converged=bool(estimator.converged_),
            search=getattr(estimator, "search_", None),
        )._plot_if(draw, ax)

    def _get_size(self) -> tuple[float, float]:
        return 5.6, 3.6

    def _draw(self, ax: Any) -> None:
        few = "o" if len(self.losses) <= 30 else ""
        ax.plot(np.arange(len(self.losses)), self.losses, color=COLORS[0], marker=few, markersize=4)
        n_iter = len(self.losses) - 1
        outcome = "converged" if self.converged else "not converged"
        title = f"{outcome} after {n_iter} iteration{'s' * (n_iter != 1)}"
        if self.search is not None and len(self.search["start"]) > 1:
            self._draw_starts(ax, self.search)
            found = self.search["found_best"]
            title += f"; {np.sum(found)} of {len(found)} starts found this optimum"
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("iteration")
        ax.set_ylabel("mean loss")
        set_integer_ticks(ax)
        tidy(ax)

    def _draw_starts(self, ax: Any, search: dict[str, Any]) -> None:
        """Draw the loss that each start reached, where it ended.

        Losses of starts that were abandoned on a subsample cannot be compared and are not drawn.
        """
        complete = search["n_samples"] == search["n_samples"].max()
        best = search["log_likelihood"][search["found_best"] & complete].max()
        if best == 0:
            return  # all samples are classified with certainty
        losses = search["log_likelihood"] * (self.losses[-1] / best)
        for found, color, label in (
            (True, COLORS[0], "found this optimum"),
            (False, "0.6", "other starts"),
        ):
            which = (search["found_best"] == found) & complete
            if np.any(which):
                ax.scatter(
                    search["n_iter"][which], losses[which], s=14, color=color, label=label, zorder=3
                )
        if not complete.all():
            ax.plot([], [], " ", label=f"({np.sum(~complete)} abandoned on a subsample)")
        ax.legend(frameon=False, fontsize=8)
