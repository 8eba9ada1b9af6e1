"""PairsDisplay: scatter plots of all pairs of several axes."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from opgd.inspection.estimators import check_axes
from opgd.inspection.frames import make_frame
from opgd.inspection.pipelines import unwrap_with_axes
from opgd.inspection.projected import ProjectedRows, project
from opgd.inspection.regions import (
    compute_ellipses,
    compute_marginal_densities,
)
from opgd.plotting._annotations import draw_ellipses
from opgd.plotting._drawing import (
    count_legend_columns,
    draw_legend_outside,
    import_pyplot,
    set_frame,
    tidy,
)
from opgd.plotting._legend import get_gaussian_styles, make_legend_entries
from opgd.plotting._scatter import (
    MAX_NAMES,
    draw_rows,
    draw_rows_outside,
)
from opgd.plotting._styles import Style, get_theme, make_class_styles
from opgd.plotting.projection import MAX_ROWS, choose_limits

MAX_AXES = 4
MAX_INSIDE = 8
"""Legends with more entries are placed to the right of all panels."""


class PairsDisplay:
    """Scatter plots of samples on all pairs of components, with densities on the diagonal.

    Create it with `from_estimator`. The diagonal shows the marginal densities of the classes by the
    model, times their priors.

    Attributes
    ----------
    scores : ndarray of shape (n_drawn, n_axes)
        Scores of the samples that are drawn, on the selected components.
    codes, names, kind, rows, n_rows, n_outside, gaussian_codes, level, frame, axis_labels
        As in `ProjectionDisplay`.
    means, covariances : ndarrays of shape (n_gaussians, n_axes[, n_axes])
        Gaussians of the model on the selected components.
    points : ndarray of shape (200, n_axes)
        Points at which the densities are computed.
    densities : ndarray of shape (n_groups, 200, n_axes)
        Densities of the classes (or clusters), times their priors.
    axes_ : ndarray of matplotlib Axes of shape (n_axes, n_axes)
        Axes of the last plot.
    ax_, figure_ : matplotlib Axes and Figure
        First axes and figure of the last plot.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import PairsDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> model = OPGDClassifier(n_components=3).fit(X, y)
    >>> PairsDisplay.from_estimator(model, X, y, draw=False).densities.shape
    (3, 200, 3)
    """

    def __init__(
        self,
        projected: ProjectedRows,
        *,
        level: float = 0.9,
        frame: str = "robust",
    ) -> None:
        limits = choose_limits(projected, level, frame)
        self.frame = make_frame(projected.scores, limits)
        self.n_outside = make_frame(projected.all_scores, limits).n_outside
        # scores that are not drawn are released
        self._projected = replace(projected, all_scores=projected.scores, all_codes=projected.codes)
        self.level = level
        self.scores, self.codes, self.names = projected.scores, projected.codes, projected.names
        self.kind, self.rows, self.n_rows = projected.kind, projected.rows, projected.n_rows
        self.means, self.covariances = projected.means, projected.covariances
        self.gaussian_codes, self.axis_labels = projected.gaussian_codes, projected.axis_labels
        self.points, self.densities = compute_marginal_densities(projected, self.frame.limits)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        axes: Any = None,
        level: float = 0.9,
        frame: str = "robust",
        max_rows: int | None = MAX_ROWS,
        draw: bool = True,
        **plot_options: Any,
    ) -> Self:
        """Create the display from a fitted estimator.

        Parameters
        ----------
        estimator, X, y, level, frame, max_rows, draw
            As in `ProjectionDisplay`.
        axes : sequence of int, default=None
            Indices of two or more components, from 0; by default the first four.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        display : PairsDisplay
        """
        unwrapped = unwrap_with_axes(estimator)
        estimator, X = unwrapped.estimator, unwrapped.encode(X)
        n_components = len(estimator.components_)
        first = range(min(MAX_AXES, n_components))
        indices = check_axes(first if axes is None else axes, n_components)
        if len(indices) < 2:
            raise ValueError("axes must name at least two axes; use ProjectionDisplay for one.")
        projected = project(estimator, X, y, indices, max_rows)
        display = cls(projected, level=level, frame=frame)
        return display.plot(**plot_options) if draw else display

    def plot(self, ax: Any = None, *, gaussians: bool = True) -> Self:
        """Draw the grid of panels.

        Parameters
        ----------
        ax : array of matplotlib Axes of shape (n_axes, n_axes), default=None
            Axes to draw on; by default a new figure is created.
        gaussians : bool, default=True
            Whether to draw the ellipses.

        Returns
        -------
        self : PairsDisplay
        """
        projected, n_axes = self._projected, self.scores.shape[1]
        grid, columns = ax, count_legend_columns(min(len(projected.names), MAX_NAMES))
        many = len(projected.names) > MAX_INSIDE
        if grid is None:
            size = (2.5 * n_axes + (1.7 * columns if many else 0.0), 2.3 * n_axes)
            grid = import_pyplot().subplots(n_axes, n_axes, figsize=size, layout="constrained")[1]
        grid = np.array(grid, dtype=object)
        if grid.shape != (n_axes, n_axes):
            raise ValueError(f"ax must be an array of shape {(n_axes, n_axes)}, got {grid.shape}.")
        theme = get_theme(grid[0, 0])
        styles = make_class_styles(len(projected.names))
        outlines = get_gaussian_styles(projected, theme)
        for i in range(n_axes):
            for j in range(n_axes):
                if j > i:
                    grid[i, j].set_axis_off()
                elif j == i:
                    self._draw_densities(grid[i, i], i, outlines)
                else:
                    self._draw_pair(grid[i, j], [j, i], styles, outlines if gaussians else None)
        self._label_axes(grid)
        entries = make_legend_entries(
            projected,
            theme,
            n_outside=self.n_outside,
            level=self.level if gaussians else None,
        )
        outside = many and ax is None  # there is little room above the diagonal
        anchor = grid[0, 0].figure if outside else grid[0, 0]
        draw_legend_outside(anchor, *entries, projected.kind, makes_room=outside)
        if projected.n_rows > len(projected.scores):
            title = f"{len(projected.scores)} of {projected.n_rows} rows drawn"
            grid[0, 0].figure.suptitle(title, fontsize=10)
        self.axes_, self.ax_, self.figure_ = grid, grid[0, 0], grid[0, 0].figure
        return self

    def _draw_pair(
        self, ax: Any, pair: list[int], styles: list[Style], outlines: list[Style] | None
    ) -> None:
        projected = self._projected
        points, codes = projected.scores[:, pair], projected.codes
        frame = make_frame(points, self.frame.limits[:, pair])
        inside = ~frame.is_outside
        draw_rows(ax, points[inside], codes[inside], styles)
        draw_rows_outside(ax, points, codes, styles, frame)
        if outlines is not None:
            ellipses = projected.outlines
            covariances = ellipses.covariances[:, pair][:, :, pair]
            shapes = compute_ellipses(covariances, self.level)
            draw_ellipses(ax, ellipses.means[:, pair], *shapes, outlines)
        set_frame(ax, frame.limits, projected.origin[pair])

    def _draw_densities(self, ax: Any, i: int, outlines: list[Style]) -> None:
        first = np.searchsorted(self._projected.outlines.codes, np.arange(len(self.densities)))
        for k, density in enumerate(self.densities[:, :, i]):
            style = outlines[first[k]]
            ax.plot(self.points[:, i], density, color=style.color, linestyle=style.line)
            ax.fill_between(self.points[:, i], density, color=style.color, alpha=0.1, linewidth=0)
        ax.set_ylim(bottom=0)
        set_frame(ax, self.frame.limits[:, [i]], self._projected.origin[[i]])

    def _label_axes(self, grid: Any) -> None:
        """Label the left and bottom panels; shares of the gain are shown at the bottom only."""
        n_axes = len(grid)
        for ax in grid.flat:
            tidy(ax)
        for i in range(n_axes):
            grid[-1, i].set_xlabel(self.axis_labels[i].replace(" (", "\n("), fontsize=9)
            if i:
                grid[i, 0].set_ylabel(self.axis_labels[i].split(" (")[0], fontsize=9)
            grid[i, i].set_yticks([])
            if i < n_axes - 1:
                for ax in grid[i, : i + 1]:
                    ax.tick_params(labelbottom=False)
            for ax in grid[i, 1:i]:
                ax.tick_params(labelleft=False)
