"""ProjectionDisplay: scatter plot of rows and Gaussians on two axes."""

from dataclasses import fields, replace
from typing import Any, Self

import numpy as np

from opgd._utils.validation import check_integer
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.estimators import check_axes
from opgd.inspection.frames import choose_frame, make_frame
from opgd.inspection.pipelines import unwrap_with_axes
from opgd.inspection.projected import ProjectedRows, project
from opgd.inspection.regions import (
    Regions,
    compute_decision_regions,
    compute_ellipses,
    compute_extents,
    compute_region_radius,
)
from opgd.plotting._annotations import draw_arrows, draw_ellipses, draw_labels, draw_regions
from opgd.plotting._arrows import Arrows, label_arrows, make_arrows, widen_limits
from opgd.plotting._drawing import (
    count_legend_columns,
    draw_legend_outside,
    get_or_make_axes,
    set_frame,
    tidy,
)
from opgd.plotting._legend import get_gaussian_names, get_gaussian_styles, make_legend_entries
from opgd.plotting._scatter import (
    MAX_NAMES,
    draw_error_rings,
    draw_rows,
    draw_rows_outside,
)
from opgd.plotting._strip import draw_strip
from opgd.plotting._styles import Style, get_theme, make_class_styles

MAX_ROWS = 20_000
"""Maximum number of samples to draw by default."""


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
        Limits of the plot (`limits`), and which drawn samples are outside (`is_outside`).
    n_outside : int
        Number of samples in `X` outside the plot.
    limits : ndarray of shape (2, 2)
        Minimum and maximum (rows) of the plot on each axis (columns).
    regions : Regions or None
        Decision regions, with `grid`, `codes` and `log_joint`.
    arrows : Arrows or None
        Arrows of features, with `names`, `shifts`, `factor` and `similar`.
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
        limits: FloatArray | None = None,
    ) -> None:
        for field in fields(projected):
            if not field.name.startswith("all_"):
                setattr(self, field.name, getattr(projected, field.name))
        # scores that are not drawn are released
        self._projected = replace(projected, all_scores=projected.scores, all_codes=projected.codes)
        self.level = level
        n_axes, outlines = projected.scores.shape[1], projected.outlines
        self.ellipse_means, self.ellipse_codes = outlines.means, outlines.codes
        if limits is None:
            limits = choose_limits(projected, level, frame)
        self.frame = make_frame(projected.scores, limits)
        self.n_outside = make_frame(projected.all_scores, limits).n_outside
        if n_axes == 2:
            ellipses = compute_ellipses(outlines.covariances, level)
            self.ellipse_lengths, self.ellipse_angles = ellipses
        else:
            radius = compute_region_radius(level, n_axes)
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
            baseline with components.
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
            Of features with nearly the same direction only the largest is drawn, followed by the
            number of the others, such as "radius (+3)", and features with an effect of less than
            15% of the largest are not drawn. An arrow starts at the mean and shows the change of
            the scores, by simple regression, if the feature increases by `factor` standard
            deviations. The factor is the same for all arrows, so that the longest spans 40% of the
            plot, and is shown in the legend.
        frame : {"robust", "all"}, default="robust"
            With "robust", a few points that are far from the others do not determine the limits.
            They are drawn as triangles at the border, and the legend shows their number. Without
            such points, nothing is cut off. With "all", the limits include all points.
        max_rows : int or None, default=20000
            Maximum number of samples to draw, or None for all. Larger data are subsampled at
            random with a fixed seed, stratified by class, and the title shows both numbers.
            Limits are computed from all samples.
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
        if (decision_regions or arrows) and len(pair) == 1:
            raise ValueError("decision_regions and arrows need two axes.")
        limits = choose_limits(projected, level, frame)
        parts: dict[str, Any] = {}
        if check_integer("arrows", arrows):
            parts["arrows"] = make_arrows(estimator, X, pair, arrows, limits)
            limits = widen_limits(parts["arrows"], projected.center, limits)
        if decision_regions:
            gaussians, codes = projected.gaussians, projected.gaussian_codes
            parts["regions"] = compute_decision_regions(gaussians, codes, limits)
        display = cls(projected, level=level, limits=limits, **parts)
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
        is_new = ax is None
        n_strips = len(projected.names) if projected.scores.shape[1] == 1 else 0
        ax = get_or_make_axes(ax, (width, max(4.8, 1.2 + 0.26 * n_strips)))
        if legend:
            entries = make_legend_entries(
                projected,
                get_theme(ax),
                n_outside=self.n_outside,
                level=self.level if gaussians else None,
                mark_errors=mark_errors,
                regions=self.regions,
                arrows=self.arrows,
            )
            draw_legend_outside(ax, *entries, projected.kind)
        self._draw_rows(ax, gaussians, mark_errors)
        set_frame(ax, self.limits, projected.origin)
        tidy(ax)
        if projected.scores.shape[1] == 2:
            if is_new:  # names are placed in the final layout
                ax.figure.get_layout_engine().execute(ax.figure)
            self._draw_names(ax, gaussians)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_rows(self, ax: Any, gaussians: bool, mark_errors: bool) -> None:
        projected = self._projected
        points, inside = projected.scores, ~self.frame.is_outside
        styles = make_class_styles(len(projected.names))
        outlines = get_gaussian_styles(projected, get_theme(ax))
        if points.shape[1] == 1:
            points = draw_strip(ax, projected, self.ellipse_lengths[:, 0], outlines, gaussians)
        else:
            self._draw_plane(ax, outlines, gaussians)
        draw_rows(ax, points[inside], projected.codes[inside], styles)
        if mark_errors and projected.wrong is not None:
            draw_error_rings(ax, points[projected.wrong & inside], len(points))
        draw_rows_outside(ax, points, projected.codes, styles, self.frame)
        if projected.n_rows > len(projected.scores):
            ax.set_title(f"{len(projected.scores)} of {projected.n_rows} rows drawn", fontsize=10)

    def _draw_plane(self, ax: Any, outlines: list[Style], gaussians: bool) -> None:
        projected = self._projected
        if self.regions is not None:
            # the colors stand for labels, so they cannot be used for clusters
            blank = Style(get_theme(ax).paper, "o")
            n_groups = len(projected.gaussian_names)
            tints = make_class_styles(n_groups) if projected.same_groups else [blank] * n_groups
            draw_regions(ax, self.regions, tints)
        if gaussians:
            centers = self.ellipse_means
            draw_ellipses(ax, centers, self.ellipse_lengths, self.ellipse_angles, outlines)
        ax.set_xlabel(projected.axis_labels[0])
        ax.set_ylabel(projected.axis_labels[1])

    def _draw_names(self, ax: Any, gaussians: bool) -> None:
        """Draw the names of the Gaussians, and the arrows of features."""
        projected = self._projected
        names = get_gaussian_names(projected) if gaussians else []
        boxes = None
        if names:
            styles = get_gaussian_styles(projected, get_theme(ax))
            boxes = draw_labels(ax, self.ellipse_means, names, styles)
        if self.arrows is not None:
            tips = projected.center + self.arrows.factor * self.arrows.shifts
            draw_arrows(ax, projected.center, tips, label_arrows(self.arrows), boxes)


def choose_limits(projected: ProjectedRows, level: float, frame: str) -> FloatArray:
    """Choose limits for all rows and the ellipses, (2, n_axes)."""
    radius = compute_region_radius(level, min(projected.scores.shape[1], 2))
    extents = compute_extents(projected.outlines, radius)
    return choose_frame(projected.all_scores, projected.all_codes, extents, frame).limits
