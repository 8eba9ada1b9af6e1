"""The objective of the paper, for labelled, unlabelled and partly labelled rows alike."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from opgd.core.engines import Engine, RowBlock
from opgd.core.gaussians import Form, ProjectedGaussians
from opgd.core.kernels import block_scores, block_sums, block_value
from opgd.core.moments import Moments
from opgd.core.penalties import Orthonormality
from opgd.core.scoring import log_density
from opgd.core.targets import Targets
from opgd.core.types import FloatArray

AxisDensity = Callable[[int], FloatArray]


@dataclass(frozen=True)
class Objective:
    """Mean log posterior of the targeted Gaussians, as a function of the projection.

    Directions U (q, R) live in coordinates in which a row is (x - center) @ whitener, so that
    components = U @ whitener.T act on raw rows. The gradient by U is, with products_c = U Sigma_c,

        gradient = G_Z' (X - center) whitener + G_m' mu + 2 sum_c G_S,c products_c

    Parameters
    ----------
    engine : the rows; its center is subtracted from them
    whitener : ndarray of shape (p, R)
    moments : of the Gaussians, in the coordinates of the directions
    log_priors : ndarray of shape (C,)
    """

    engine: Engine
    whitener: FloatArray
    moments: Moments
    log_priors: FloatArray
    form: Form
    targets: Targets
    penalty: Orthonormality | None = None

    def gaussians(self, directions: FloatArray) -> ProjectedGaussians:
        """The Gaussians inside the projection."""
        return self._project(directions)[0]

    def _project(self, directions: FloatArray) -> tuple[ProjectedGaussians, FloatArray]:
        products = directions @ self.moments.covariances  # (C, q, R)
        means = self.moments.means @ directions.T
        variances = self.form.project(directions, products)
        return ProjectedGaussians(self.log_priors, means, variances), products

    def value(self, directions: FloatArray) -> float:
        """Mean objective at directions (q, R)."""

        def all_axes(density: AxisDensity) -> Iterator[FloatArray]:
            yield reduce(add, map(density, range(len(directions))))

        value = self.values(directions, all_axes)[0]
        penalty = self.penalty.value_and_gradient(directions)[0] if self.penalty else 0.0
        return float(value) + penalty

    def values(
        self, directions: FloatArray, choices: Callable[[AxisDensity], Iterator[FloatArray]]
    ) -> FloatArray:
        """Mean objective, without penalty, of several choices among the axes.

        `choices` gets a function from the index of an axis to its log densities (C, n) on a block,
        and makes of it the sums, (C, n), of which the objective is wanted.
        """
        gaussians = self.gaussians(directions)
        form, targets = self.form, self.targets  # blocks may be far away: self is too much to send
        factors = form.factors(gaussians)
        components = directions @ self.whitener.T

        def block_values(block: RowBlock) -> FloatArray:
            scores = block.workspace.array("scores", len(components), block.n_rows)
            block_scores(block, components, scores)

            def density(j: int) -> FloatArray:
                return log_density(j, scores, gaussians.means, factors, form)

            joints = (own + gaussians.log_priors[:, None] for own in choices(density))
            return np.array([block_value(block, joint, targets) for joint in joints])

        means: FloatArray = self.engine.sum(block_values) / self.engine.total_weight
        return means

    def value_and_gradient(self, directions: FloatArray) -> tuple[float, FloatArray]:
        """Mean objective and its gradient, (q, R)."""
        gaussians, products = self._project(directions)
        form, targets = self.form, self.targets
        theta = form.theta(gaussians)
        components = directions @ self.whitener.T
        sums = self.engine.sum(
            lambda block: block_sums(block, components, theta, form, targets),
            width=2 * theta.shape[1],
        )
        by_mean, by_variance = self.form.moment_slopes(sums.statistics, gaussians)
        gradient = sums.row_slopes @ self.whitener
        gradient += by_mean.T @ self.moments.means
        gradient += 2.0 * self.form.slope_times(by_variance, products)
        weight = self.engine.total_weight
        value, gradient = sums.value / weight, gradient / weight
        if self.penalty is not None:
            penalty, slope = self.penalty.value_and_gradient(directions)
            value, gradient = value + penalty, gradient + slope
        return value, gradient
