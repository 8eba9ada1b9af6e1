"""ComponentsDisplay: scores against the number of axes or clusters."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from opgd.core.types import AnyArray, FloatArray
from opgd.inspection.estimators import (
    compute_first_components_errors,
    get_fitted,
    has_classes,
)
from opgd.inspection.palette import COLORS, MARKERS
from opgd.inspection.pipelines import unwrap, unwrap_with_axes
from opgd.plotting._base import PanelsDisplay
from opgd.plotting._drawing import draw_legend_outside, set_integer_ticks, tidy
from opgd.plotting._styles import get_theme
from opgd.plotting._text import format_names


@dataclass(frozen=True)
class Curve:
    """Values against sizes, with standard errors if available."""

    name: str
    sizes: AnyArray
    values: FloatArray
    standard_errors: FloatArray | None = None


@dataclass(frozen=True)
class Panel:
    """Curves that share a vertical axis."""

    label: str
    curves: list[Curve]
    kind: str = "line"  # or "bar"
    chosen: tuple[float, float] | None = None  # size and value of the selected model
    log: bool = False


@dataclass
class ComponentsDisplay(PanelsDisplay):
    """Scores against the number of axes or clusters.

    Create it with `from_estimator`, `from_cv`, `from_mixture` or `from_eigenvalues`.

    Attributes
    ----------
    panels : list of Panel
        Panels with `label`, `curves` (`name`, `sizes`, `values`, `standard_errors`), and
        `chosen`, the size and value of the selected model.
    size_label : str
        Label of the horizontal axis.
    axes_ : list of matplotlib Axes
        Axes of the last plot, one per panel.
    ax_, figure_ : matplotlib Axes and Figure
        First axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import ComponentsDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> model = OPGDClassifier(n_components=4).fit(X, y)
    >>> display = ComponentsDisplay.from_estimator(model, X, y, draw=False)
    >>> [panel.label for panel in display.panels]
    ['log-likelihood', 'share of the gain', 'error']
    """

    panels: list[Panel]
    size_label: str
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None, draw: bool = True
    ) -> Self:
        """Show the contribution of each component of a fitted classifier or mixture.

        Parameters
        ----------
        estimator : fitted opgd estimator with components, or Pipeline that ends in one
        X, y : array-likes of shapes (n_samples, n_features) and (n_samples,), default=None
            Samples and labels, preferably held-out, to compute the error of a classifier with its
            first 1, 2, ... components.
        ax : sequence of matplotlib Axes, default=None
            Axes to draw on, one per panel; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : ComponentsDisplay
        """
        unwrapped = unwrap_with_axes(estimator)
        estimator, X = unwrapped.estimator, unwrapped.encode(X)
        sizes = np.arange(1, len(estimator.components_) + 1)
        is_classifier = has_classes(estimator)
        panels = []
        if hasattr(estimator, "component_log_likelihoods_"):
            label = "log-likelihood" if is_classifier else "objective"
            values = np.asarray(estimator.component_log_likelihoods_)
            panels.append(Panel(label, [Curve("training rows", sizes, values)]))
            shares = np.asarray(estimator.component_shares_)
            panels.append(Panel("share of the gain", [Curve("each axis", sizes, shares)], "bar"))
        if X is not None and y is not None and is_classifier:
            errors = compute_first_components_errors(estimator, X, y)
            panels.append(Panel("error", [Curve("X, y", sizes, errors)]))
        if not panels:
            raise ValueError(
                f"{type(estimator).__name__} has no component_log_likelihoods_; pass X and y."
            )
        return cls(panels, "number of axes")._plot_if(draw, ax)

    @classmethod
    def from_cv(cls, estimator: Any, *, ax: Any = None, draw: bool = True) -> Self:
        """Show the cross-validation score against the number of components.

        For each number, the best score over all other settings is shown; for the selected number,
        that of the selected model, which may have a lower score and fewer Gaussians. All models
        have as many features as the selected one.

        Parameters
        ----------
        estimator : fitted OPGDClassifierCV, or Pipeline that ends in one
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : ComponentsDisplay
        """
        estimator = unwrap(estimator).estimator
        table = get_fitted(estimator, "cv_results_", "OPGDClassifierCV")
        n_splits = estimator.n_splits_
        counts, scores = table["param_n_components"].astype(int), table["mean_test_score"]
        numbers = np.array([params.get("sparsity", 0) for params in table["params"]])
        compared = np.isfinite(scores) & (numbers == numbers[estimator.best_index_])
        scores = np.where(compared, scores, -np.inf)
        sizes = np.unique(counts)
        best = np.array(
            [np.flatnonzero(counts == s)[np.argmax(scores[counts == s])] for s in sizes]
        )
        best[sizes == counts[estimator.best_index_]] = estimator.best_index_
        kept = np.isfinite(scores[best])
        sizes, best = sizes[kept], best[kept]
        spread = None
        if n_splits > 1:
            spread = table["std_test_score"][best] / np.sqrt(n_splits - 1)
        chosen = (float(counts[estimator.best_index_]), float(scores[estimator.best_index_]))
        name = "mean and standard error" if n_splits > 1 else "held-out rows"
        curve = Curve(f"best other settings\n({name})", sizes, scores[best], spread)
        label = "score" if callable(estimator.scoring) else str(estimator.scoring)
        return cls([Panel(label, [curve], chosen=chosen)], "number of axes")._plot_if(draw, ax)

    @classmethod
    def from_mixture(cls, estimator: Any, *, ax: Any = None, draw: bool = True) -> Self:
        """Show BIC and ICL against the number of clusters; lower is better.

        Parameters
        ----------
        estimator : fitted OPGDMixture, or Pipeline that ends in one
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : ComponentsDisplay
        """
        estimator = unwrap(estimator).estimator
        table = get_fitted(estimator, "selection_", "OPGDMixture")
        order = np.argsort(table["n_clusters"])
        sizes = table["n_clusters"][order]
        shown = list(dict.fromkeys(["bic", "icl", estimator.criterion]))
        curves = [Curve(name.upper(), sizes, table[name][order]) for name in shown]
        n_gaussians = len(estimator.means_)
        place = np.flatnonzero(table["n_clusters"] == n_gaussians)[0]
        chosen = float(n_gaussians), float(table[estimator.criterion][place])
        panel = Panel("criterion (less is better)", curves, chosen=chosen)
        return cls([panel], "number of clusters")._plot_if(draw, ax)

    @classmethod
    def from_eigenvalues(cls, eigenvalues: Any, *, ax: Any = None, draw: bool = True) -> Self:
        """Draw a scree plot: eigenvalues in descending order on a logarithmic scale.

        Parameters
        ----------
        eigenvalues : array-like, or fitted OPGDMixture
            Positive eigenvalues, or a mixture, whose `eigenvalues_` are those of the correlation
            matrix of the features.
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed.

        Returns
        -------
        display : ComponentsDisplay
        """
        eigenvalues = getattr(eigenvalues, "eigenvalues_", eigenvalues)
        values = np.sort(np.asarray(eigenvalues, dtype=np.float64).ravel())[::-1]
        if not len(values) or not np.all(values > 0):
            raise ValueError("eigenvalues must be a non-empty array of positive numbers.")
        curve = Curve("eigenvalues", np.arange(1, len(values) + 1), values)
        return cls([Panel("eigenvalue", [curve], log=True)], "component")._plot_if(draw, ax)

    def _get_layout(self) -> tuple[int, tuple[float, float], int]:
        wide = any(panel.chosen or len(panel.curves) > 1 for panel in self.panels)
        return len(self.panels), (6.4 if wide else 3.9, 3.4), 3

    def _draw(self, panels: list[Any]) -> None:
        for ax, panel in zip(panels, self.panels, strict=True):
            self._draw_panel(ax, panel)

    def _draw_panel(self, ax: Any, panel: Panel) -> None:
        handles = []
        for curve, color, marker in zip(panel.curves, COLORS, MARKERS, strict=False):
            if panel.kind == "bar":
                handles.append(ax.bar(curve.sizes, curve.values, 0.6, color=color))
                continue
            error = {"yerr": curve.standard_errors, "capsize": 3, "color": color}
            handles.append(
                ax.errorbar(curve.sizes, curve.values, marker=marker, markersize=5, **error)
            )
        names = [curve.name for curve in panel.curves]
        if panel.chosen is not None:
            ring = {
                "s": 140,
                "facecolors": "none",
                "edgecolors": get_theme(ax).ink,
                "linewidths": 1.6,
            }
            handles.append(ax.scatter(*panel.chosen, **ring, zorder=4))
            names.append("selected")
        if len(names) > 1:
            draw_legend_outside(
                ax, handles, ["\n".join(format_names(n.split("\n"))) for n in names], ""
            )
        if panel.log:
            ax.set_yscale("log")
        ax.set_xlabel("axis" if panel.kind == "bar" else self.size_label)
        ax.set_ylabel(format_names([panel.label])[0])
        set_integer_ticks(ax)
        tidy(ax)
