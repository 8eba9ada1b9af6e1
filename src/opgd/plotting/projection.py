"""ProjectionDisplay: scatter plot of rows and Gaussians on two axes."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from opgd._utils.validation import check_integer
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.estimators import check_axes
from opgd.inspection.frames import choose_frame, make_frame
from opgd.inspection.pipelines import unwrap_with_axes
from opgd.inspection.projected import ProjectedRows, project
from opgd.inspection.regions import (
    compute_decision_regions,
    compute_ellipses,
    compute_extents,
    compute_region_radius,
)
from opgd.plotting._arrows import MAX_ARROW_LABEL, Arrows, make_arrows, widen_limits
from opgd.plotting._drawing import (
    count_legend_columns,
    draw_legend_outside,
    get_or_make_axes,
    set_frame,
    tidy,
)
from opgd.plotting._scatter import (
    MAX_NAMES,
    draw_arrows,
    draw_badges,
    draw_ellipses,
    draw_error_rings,
    draw_regions,
    draw_rows,
    draw_rows_outside,
    make_outside_handle,
    make_row_handles,
)
from opgd.plotting._strip import draw_strip
from opgd.plotting._styles import INK, Style, make_class_styles
from opgd.plotting._text import format_names

MAX_ROWS = 20_000
MAX_BADGE_LENGTH = 3
"""Maximum length of names that are drawn at the means."""


@dataclass(frozen=True)
class Regions:
    """The most probable class at each point of the plane."""

    grid: FloatArray  # (2, 300), coordinates on the two axes
    codes: IntArray  # (300, 300), second coordinate along the first dimension


class ProjectionDisplay:
    """Scatter plot of samples on two components (axes) of a model, with its Gaussians.

    Create it with `from_estimator`. The attributes are plain arrays, computed before drawing.

    Attributes
    ----------
    scores : ndarray of shape (n_drawn, 2)
        Scores of the samples that are drawn; shape (n_drawn, 1) for a single component.
    codes : ndarray of shape (n_drawn,)
        Groups of the samples, indices into `names`; -1 if unlabeled or not a class of the model.
    names : list of str
        Names of the groups: classes, clusters, or labels passed with a mixture.
    kind : {"class", "predicted class", "cluster", "label"}
        Kind of the groups.
    rows : ndarray of shape (n_drawn,)
        Indices of the samples that are drawn.
    n_rows : int
        Number of samples in `X`.
    wrong : ndarray of shape (n_drawn,) or None
        Whether each sample is misclassified by the model with all its components.
    n_wrong : int
        Number of misclassified samples in `X`.
    means, covariances : ndarrays of shape (n_gaussians, 2[, 2])
        Gaussians of the model on the two components, in the units of `transform`.
    gaussian_codes : ndarray of shape (n_gaussians,)
        Classes (or clusters) of the Gaussians, indices into `gaussian_names`.
    level : float
        Probability of a Gaussian inside its ellipse.
    ellipse_means, ellipse_codes : ndarrays of shapes (n_ellipses, 2) and (n_ellipses,)
        Centers of the ellipses, and their classes (or clusters). There is an ellipse for each
        Gaussian, or for each class if there are more than three Gaussians per class.
    ellipse_lengths, ellipse_angles : ndarrays of shapes (n_ellipses, 2) and (n_ellipses,)
        Semi-axes, the longer first, and the angle of the longer in degrees.
    axis_labels : list of str
        Labels of the two axes.
    origin : ndarray of shape (2,)
        Scores of the center of the training data. The numbers along the axes are relative to it;
        all arrays, and the coordinates of `ax_`, are in the units of `transform`.
    frame : PlotFrame
        Limits of the plot (`limits`), and which samples are outside (`is_outside`, `n_outside`).
    limits : ndarray of shape (2, 2)
        Minimum and maximum (rows) of the plot on each axis (columns).
    regions : Regions or None
        Decision regions, with `grid` and `codes`.
    arrows : Arrows or None
        Arrows of features, with `names`, `shifts` and `factor`.
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the last plot.

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
    'axis 1 (78% of the likelihood gain)'
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
        frame: str = "robust",
    ) -> None:
        for field in fields(projected):
            setattr(self, field.name, getattr(projected, field.name))
        self._projected = projected
        self.level = level
        n_axes = projected.scores.shape[1]
        radius = compute_region_radius(level, n_axes)
        outlines = projected.outlines
        self.ellipse_means, self.ellipse_codes = outlines.means, outlines.codes
        extents = compute_extents(outlines, radius)
        self.frame = choose_frame(projected.scores, projected.codes, extents, frame)
        if n_axes == 2:
            ellipses = compute_ellipses(outlines.covariances, level)
            self.ellipse_lengths, self.ellipse_angles = ellipses
        else:
            self.ellipse_lengths = radius * np.sqrt(outlines.covariances[:, 0])
            self.ellipse_angles = np.zeros(len(outlines.means))
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
        frame: str = "robust",
        max_rows: int | None = MAX_ROWS,
        ax: Any = None,
        draw: bool = True,
        **plot_options: Any,
    ) -> Self:
        """Create the display from a fitted estimator.

        Parameters
        ----------
        estimator : fitted opgd estimator with components, or Pipeline that ends in one
            An `OPGDClassifier`, `OPGDClassifierCV`, `OPGDSemiSupervised` or `OPGDMixture`, or a
            baseline with Gaussians on its components.
        X : array-like of shape (n_samples, n_features)
            Samples to draw.
        y : array-like of shape (n_samples,), default=None
            Labels that determine colors and markers; by default the predictions of the model.
            For a mixture, any labels are accepted; its clusters are then drawn in black and
            white.
        axes : pair of int, default=(0, 1)
            Indices of the components, from 0. With a single one, or if the model has only one
            component, a strip plot with one strip per class is drawn.
        level : float, default=0.9
            Probability of a Gaussian inside its ellipse. Ellipses show the projected covariances
            of the model, which are diagonal if ``covariance_type="diag"``.
        decision_regions : bool, default=False
            Whether to tint the plane by the most probable class, according to the marginal
            Gaussians on these two components. For a model with two components these are its
            predictions.
        arrows : int, default=0
            Number of features to draw as arrows, those with the largest effect on the two scores.
            An arrow starts at the mean and shows the change of the scores, by simple regression,
            if the feature increases by `factor` standard deviations. The factor is the same for
            all arrows, so that the longest spans 40% of the plot, and is shown in the legend.
        frame : {"robust", "all"}, default="robust"
            With "robust", a few points that are far from the others do not determine the limits.
            They are drawn as triangles at the border, and the legend shows their number. Without
            such points, nothing is cut off. With "all", the limits include all points.
        max_rows : int or None, default=20000
            Maximum number of samples to draw, or None for all. Larger data are subsampled at
            random with a fixed seed, stratified by class, and the title shows both numbers.
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        draw : bool, default=True
            Whether to draw; if False, only the arrays are computed, and matplotlib is not needed.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        display : ProjectionDisplay
        """
        unwrapped = unwrap_with_axes(estimator)
        estimator, X = unwrapped.estimator, unwrapped.encode(X)
        if np.array_equal(axes, (0, 1)) and len(estimator.components_) == 1:
            axes = (0,)
        pair = check_axes(axes, len(estimator.components_))
        if len(pair) > 2:
            raise ValueError(
                f"axes must be one or two indices, got {axes!r}; use PairsDisplay for more."
            )
        projected = project(estimator, X, y, pair, max_rows)
        display = cls(projected, level=level, frame=frame)
        if (decision_regions or arrows) and len(pair) == 1:
            raise ValueError("decision_regions and arrows need two axes.")
        if check_integer("arrows", arrows):
            display.arrows = make_arrows(estimator, X, pair, arrows, display.limits)
            limits = widen_limits(display.arrows, projected.center, display.limits)
            display.frame = make_frame(projected.scores, limits)
        if decision_regions:
            gaussians, codes = projected.gaussians, projected.gaussian_codes
            display.regions = Regions(*compute_decision_regions(gaussians, codes, display.limits))
        return display.plot(ax, **plot_options) if draw else display

    @property
    def limits(self) -> FloatArray:
        """Minimum and maximum of the plot on each axis."""
        return self.frame.limits

    def plot(
        self,
        ax: Any = None,
        *,
        gaussians: bool = True,
        mark_errors: bool = False,
        legend: bool = True,
    ) -> Self:
        """Draw the scatter plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.
        gaussians : bool, default=True
            Whether to draw the ellipses.
        mark_errors : bool, default=False
            Whether to draw rings around misclassified samples.
        legend : bool, default=True
            Whether to draw a legend, to the right of the axes.

        Returns
        -------
        self : ProjectionDisplay
        """
        projected = self._projected
        if mark_errors and projected.wrong is None:
            raise ValueError("mark_errors needs a classifier and labels y.")
        n_names = min(len(projected.names), MAX_NAMES)
        width = 7.2 + 1.7 * (count_legend_columns(n_names) - 1) if legend else 5.6
        ax = get_or_make_axes(ax, (width, 4.8))
        styles = make_class_styles(len(projected.names))
        outlines = get_gaussian_styles(projected)
        points = projected.scores
        if points.shape[1] == 1:
            points = draw_strip(ax, projected, self.ellipse_lengths[:, 0], outlines, gaussians)
        else:
            self._draw_plane(ax, outlines, gaussians)
        inside = ~self.frame.is_outside
        draw_rows(ax, points[inside], projected.codes[inside], styles)
        if mark_errors and projected.wrong is not None:
            draw_error_rings(ax, points[projected.wrong & inside], len(points))
        draw_rows_outside(ax, points, projected.codes, styles, self.frame)
        set_frame(ax, self.frame.limits, projected.origin)
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
            # the colors stand for labels, so they cannot be used for clusters
            white = Style("#ffffff", "o")
            n_groups = len(projected.gaussian_names)
            tints = make_class_styles(n_groups) if projected.same_groups else [white] * n_groups
            draw_regions(ax, self.regions.grid, self.regions.codes, tints)
        if gaussians:
            centers = self.ellipse_means
            draw_ellipses(ax, centers, self.ellipse_lengths, self.ellipse_angles, outlines)
            names = get_gaussian_badges(projected)
            if names:
                draw_badges(ax, centers, names, outlines)
        if self.arrows is not None:
            tips = projected.center + self.arrows.factor * self.arrows.shifts
            shown = format_names(self.arrows.names, MAX_ARROW_LABEL)
            draw_arrows(ax, projected.center, tips, shown, self.limits)
        ax.set_xlabel(projected.axis_labels[0])
        ax.set_ylabel(projected.axis_labels[1])

    def _make_legend_entries(
        self, styles: list[Style], gaussians: bool, mark_errors: bool
    ) -> tuple[list[Any], list[str]]:
        """Return handles and names of the legend."""
        from matplotlib.lines import Line2D

        projected = self._projected
        handles, names = make_row_handles(format_names(projected.names), styles, projected.codes)
        is_plane = projected.scores.shape[1] == 2
        if gaussians:
            handles.append(Line2D([], [], color=INK, linewidth=1.8))
            shape = "ellipse" if is_plane else "bar"
            names.append(f"{shape}: {100 * self.level:.3g}% region of a\n{name_outline(projected)}")
        if mark_errors:
            ring = {"marker": "o", "markersize": 9, "markerfacecolor": "none"}
            handles.append(Line2D([], [], linestyle="", color=INK, **ring))  # type: ignore[arg-type]
            names.append(f"misclassified\n({projected.n_wrong} of {projected.n_rows} rows)")
        if self.frame.n_outside:
            handles.append(make_outside_handle())
            names.append(f"outside the plot\n({self.frame.n_outside} rows)")
        if self.regions is not None:
            handles.append(Line2D([], [], color="#888888", linewidth=0.8))
            names.append("decision boundary\non these two axes")
        if self.arrows is not None:
            handles.append(
                Line2D([], [], color=INK, marker=r"$\rightarrow$", markersize=14, linestyle="")
            )
            names.append(f"{self.arrows.factor:.2g} standard deviations\nof a column")
        return handles, names


def name_outline(projected: ProjectedRows) -> str:
    """Return what an ellipse stands for."""
    if projected.outlines.merged:
        return "class (as one Gaussian)"
    return "Gaussian of the model" if projected.same_groups else "Gaussian of a cluster"


def get_gaussian_styles(projected: ProjectedRows) -> list[Style]:
    """Return styles of the ellipses: those of their classes, or black if groups differ."""
    codes = projected.outlines.codes
    if not projected.same_groups:
        return [Style(INK, "o")] * len(codes)
    styles = make_class_styles(len(projected.names))
    return [styles[code] for code in codes]


def get_gaussian_badges(projected: ProjectedRows) -> list[str]:
    """Return names to draw at the means, or an empty list if one is too long."""
    names = [name.removeprefix("cluster ") for name in projected.gaussian_names]
    if max(map(len, names)) > MAX_BADGE_LENGTH:
        return []
    return [format_names([names[code]])[0] for code in projected.outlines.codes]
