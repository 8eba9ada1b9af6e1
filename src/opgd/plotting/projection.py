"""ProjectionDisplay: rows and Gaussians on two axes of a model."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from opgd._utils.validation import check_integer
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.estimators import check_axes, check_has_axes
from opgd.inspection.projected import ProjectedRows, project
from opgd.inspection.regions import (
    compute_decision_regions,
    compute_ellipses,
    compute_limits,
    compute_region_radius,
)
from opgd.plotting._arrows import LONGEST_AT_ARROW, Arrows, make_arrows, widen_limits
from opgd.plotting._drawing import count_legend_columns, draw_legend_outside, get_or_make_axes, tidy
from opgd.plotting._scatter import (
    MOST_NAMES,
    draw_arrows,
    draw_badges,
    draw_ellipses,
    draw_regions,
    draw_rows,
    draw_wrong,
    make_row_handles,
)
from opgd.plotting._strip import draw_strip
from opgd.plotting._styles import INK, Style, make_class_styles
from opgd.plotting._text import format_names

MOST_ROWS = 20_000
SHORT = 3
"""Names of no more characters are written at the means."""


@dataclass(frozen=True)
class Regions:
    """The most probable class at each point of the plane."""

    grid: FloatArray  # (2, 300), coordinates on the two axes
    codes: IntArray  # (300, 300), rows along the second axis


class ProjectionDisplay:
    """Rows on two axes of a model, and its Gaussians there.

    Use `from_estimator`. The attributes are plain arrays, computed before anything is drawn.

    Attributes
    ----------
    scores : ndarray of shape (n_drawn, 2)
        The rows that are drawn, on the two axes; one column for a model with one axis.
    codes : ndarray of shape (n_drawn,)
        Their groups, indices into `names`; -1 for rows without a label of the model.
    names : list of str
        Names of the groups, in full: classes, clusters, or labels given for a mixture.
    kind : {"class", "predicted class", "cluster", "label"}
        What the groups are.
    rows : ndarray of shape (n_drawn,)
        Which rows of X are drawn.
    n_rows : int
        Number of rows of X.
    wrong : ndarray of shape (n_drawn,) or None
        Rows that the model, with all its axes, gives to another class than their label's.
    n_wrong : int
        Their number among all rows of X.
    means, covariances : ndarrays of shape (n_gaussians, 2[, 2])
        The model's Gaussians on the two axes, in the units of `transform`.
    gaussian_codes : ndarray of shape (n_gaussians,)
        Classes (or clusters) of the Gaussians, indices into `gaussian_names`.
    level : float
        Share of a Gaussian's rows inside its ellipse.
    ellipse_lengths, ellipse_angles : ndarrays of shapes (n_gaussians, 2) and (n_gaussians,)
        Semi-axes, the longer first, and degrees from the first axis to the longer.
    axis_labels : list of str
        What is written at the axes.
    limits : ndarray of shape (2, 2)
        Least and greatest of what is drawn, on each axis (columns).
    regions : Regions or None
        `grid` and `codes` of the decision regions.
    arrows : Arrows or None
        `names`, `shifts` and `factor` of the arrows.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import ProjectionDisplay
    >>> wine = load_wine(as_frame=True)
    >>> model = OPGDClassifier(n_components=2).fit(wine.data, wine.target)
    >>> display = ProjectionDisplay.from_estimator(model, wine.data, wine.target, draw=False)
    >>> display.scores.shape
    (178, 2)
    >>> display.axis_labels[0]
    'axis 1 (78 % of the likelihood gain)'
    """

    scores: FloatArray
    codes: IntArray
    names: list[str]
    kind: str
    rows: IntArray
    n_rows: int
    wrong: AnyArray | None
    n_wrong: int
    means: FloatArray
    covariances: FloatArray
    gaussian_codes: IntArray
    gaussian_names: list[str]
    axis_labels: list[str]

    def __init__(
        self,
        projected: ProjectedRows,
        *,
        level: float = 0.9,
        regions: Regions | None = None,
        arrows: Arrows | None = None,
    ) -> None:
        for field in fields(projected):
            setattr(self, field.name, getattr(projected, field.name))
        self._projected = projected
        self.level = level
        n_axes = projected.scores.shape[1]
        radius = compute_region_radius(level, n_axes)
        self.limits = compute_limits(projected.scores, projected.gaussians, radius)
        if n_axes == 2:
            ellipses = compute_ellipses(projected.covariances, level)
            self.ellipse_lengths, self.ellipse_angles = ellipses
        else:
            self.ellipse_lengths = radius * np.sqrt(projected.covariances[:, 0])
            self.ellipse_angles = np.zeros(len(projected.means))
        self.regions = regions
        self.arrows = arrows

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        axes: Any = (0, 1),
        level: float = 0.9,
        decision_regions: bool = False,
        arrows: int = 0,
        max_rows: int | None = MOST_ROWS,
        ax: Any = None,
        draw: bool = True,
        **plot_options: Any,
    ) -> Self:
        """Project rows on two axes and draw them.

        Parameters
        ----------
        estimator : fitted estimator of opgd that has axes
            Classifiers, their search by cross-validation, partly labeled, mixtures, and the
            baselines with axes.
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Labels that give rows their colors and markers. None takes the model's predictions.
            For a mixture, labels may be any; ellipses and regions of its clusters are then drawn
            in black and white.
        axes : pair of int, default=(0, 1)
            Indices of axes, from 0. A single one gives a strip for each class, and is all that
            the default means for a model with one axis.
        level : float, default=0.9
            Share of a Gaussian's rows inside its ellipse. Ellipses are those of the model's own
            covariances on the two axes: without correlation if ``covariance_type="diag"``.
        decision_regions : bool, default=False
            Tint the plane by the class that the Gaussians *on these two axes* make most probable,
            the other axes integrated out. For a model with two axes these are its predictions.
        arrows : int, default=0
            So many columns are drawn as arrows, those that go with the largest changes of the two
            scores: an arrow from the mean is the change that goes, by simple regression, with
            `factor` standard deviations more of the column. The factor is the same for all, such
            that the longest reaches across two fifths of the picture, and is in the legend.
        max_rows : int or None, default=20000
            Of more rows so many are drawn, each class by its share (but at least one row), at
            random with a fixed seed. The title says so.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        draw : bool, default=True
            False only computes the arrays, for which matplotlib is not needed.
        **plot_options
            For `plot`.

        Returns
        -------
        display : ProjectionDisplay
        """
        check_has_axes(estimator)
        if np.array_equal(axes, (0, 1)) and len(estimator.components_) == 1:
            axes = (0,)
        pair = check_axes(axes, len(estimator.components_))
        if len(pair) > 2:
            raise ValueError(f"axes must be one or two, got {axes!r}; PairsDisplay takes more.")
        projected = project(estimator, X, y, pair, max_rows)
        display = cls(projected, level=level)
        if (decision_regions or arrows) and len(pair) == 1:
            raise ValueError("decision_regions and arrows need two axes.")
        if check_integer("arrows", arrows):
            display.arrows = make_arrows(estimator, X, pair, arrows, display.limits)
            display.limits = widen_limits(display.arrows, projected.center, display.limits)
        if decision_regions:
            gaussians, codes = projected.gaussians, projected.gaussian_codes
            display.regions = Regions(*compute_decision_regions(gaussians, codes, display.limits))
        return display.plot(ax, **plot_options) if draw else display

    def plot(
        self,
        ax: Any = None,
        *,
        gaussians: bool = True,
        mark_errors: bool = False,
        legend: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        gaussians : bool, default=True
            Whether to draw the ellipses.
        mark_errors : bool, default=False
            Rings around rows that the model gives to another class than their label's.
        legend : bool, default=True
            Whether to draw a legend, which is outside of the axes.

        Returns
        -------
        self : ProjectionDisplay
        """
        projected = self._projected
        if mark_errors and projected.wrong is None:
            raise ValueError("mark_errors needs a classifier and labels y.")
        n_names = min(len(projected.names), MOST_NAMES)
        width = 7.2 + 1.7 * (count_legend_columns(n_names) - 1) if legend else 5.6
        ax = get_or_make_axes(ax, (width, 4.8))
        styles = make_class_styles(len(projected.names))
        outlines = get_gaussian_styles(projected)
        points = projected.scores
        if points.shape[1] == 1:
            points = draw_strip(ax, projected, self.ellipse_lengths[:, 0], outlines, gaussians)
        else:
            self._draw_plane(ax, outlines, gaussians)
        draw_rows(ax, points, projected.codes, styles)
        if mark_errors and projected.wrong is not None and projected.wrong.any():
            draw_wrong(ax, points[projected.wrong], len(points))
        if projected.n_rows > len(projected.scores):
            ax.set_title(f"{len(projected.scores)} of {projected.n_rows} rows drawn", fontsize=10)
        tidy(ax)
        if legend:
            handles, names = self._make_legend_entries(styles, gaussians, mark_errors)
            draw_legend_outside(ax, handles, names, projected.kind)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_plane(self, ax: Any, outlines: list[Style], gaussians: bool) -> None:
        projected = self._projected
        if self.regions is not None:
            # colors of labels would mislead if they stood for clusters
            white = Style("#ffffff", "o", True, "-")
            n_groups = len(projected.gaussian_names)
            tints = make_class_styles(n_groups) if projected.same_groups else [white] * n_groups
            draw_regions(ax, self.regions.grid, self.regions.codes, tints)
        if gaussians:
            draw_ellipses(ax, projected.means, self.ellipse_lengths, self.ellipse_angles, outlines)
            names = get_gaussian_badges(projected)
            if names:
                draw_badges(ax, projected.means, names, outlines)
        if self.arrows is not None:
            tips = projected.center + self.arrows.factor * self.arrows.shifts
            shown = format_names(self.arrows.names, LONGEST_AT_ARROW)
            draw_arrows(ax, projected.center, tips, shown, self.limits)
        ax.update_datalim(self.limits)
        ax.margins(0)
        ax.autoscale_view()
        ax.set_xlabel(projected.axis_labels[0])
        ax.set_ylabel(projected.axis_labels[1])

    def _make_legend_entries(
        self, styles: list[Style], gaussians: bool, mark_errors: bool
    ) -> tuple[list[Any], list[str]]:
        """Return handles and names of the legend: the groups, and what else is drawn."""
        from matplotlib.lines import Line2D

        projected = self._projected
        handles, names = make_row_handles(format_names(projected.names), styles, projected.codes)
        plane = projected.scores.shape[1] == 2
        if gaussians:
            handles.append(Line2D([], [], color=INK, linewidth=1.8))
            what = "ellipse" if plane else "bar"
            whose = "Gaussian" if projected.same_groups else "cluster's Gaussian"
            names.append(f"{what}: {100 * self.level:.3g} % of a\n{whose}, by the model")
        if mark_errors:
            ring = {"marker": "o", "markersize": 9, "markerfacecolor": "none"}
            handles.append(Line2D([], [], linestyle="", color=INK, **ring))  # type: ignore[arg-type]
            names.append(f"wrongly classified\n({projected.n_wrong} of {projected.n_rows} rows)")
        if self.regions is not None:
            handles.append(Line2D([], [], color="#888888", linewidth=0.8))
            names.append("border of the regions\nby these two axes")
        if self.arrows is not None:
            handles.append(
                Line2D([], [], color=INK, marker=r"$\rightarrow$", markersize=14, linestyle="")
            )
            names.append(f"{self.arrows.factor:.2g} standard deviations\nmore of a column")
        return handles, names


def get_gaussian_styles(projected: ProjectedRows) -> list[Style]:
    """Return styles of the Gaussians: of their classes, or black where rows have other groups."""
    if not projected.same_groups:
        return [Style(INK, "o", True, "-")] * len(projected.means)
    styles = make_class_styles(len(projected.names))
    return [styles[code] for code in projected.gaussian_codes]


def get_gaussian_badges(projected: ProjectedRows) -> list[str]:
    """Return names to write at the means, numbers for clusters; none if some are too long."""
    names = [name.removeprefix("cluster ") for name in projected.gaussian_names]
    if max(map(len, names)) > SHORT:
        return []
    return [format_names([names[code]])[0] for code in projected.gaussian_codes]
