"""The objective of the paper, for labeled, unlabeled and partly labeled samples."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from opgd.core.engines import Engine, RowBlock
from opgd.core.gaussians import Form, ProjectedGaussians
from opgd.core.kernels import block_scores, block_sums, block_value
from opgd.core.moments import Moments
from opgd.core.penalties import Penalty
from opgd.core.scoring import log_density
from opgd.core.targets import Targets
from opgd.core.types import FloatArray

MANY_GAUSSIANS = 100
"""Number of Gaussians above which blocks are smaller, so that their log joints fit into memory."""
AxisDensity = Callable[[int], FloatArray]
"""Map a component to log densities (C, n) of a block, in a buffer that the next call overwrites."""


@dataclass(frozen=True)
class Objective:
    """Mean log posterior of the targeted Gaussians, as a function of the projection.

    Directions U (q, R) refer to coordinates (x - center) @ whitener of a sample x, so that
    components = U @ whitener.T refer to x. With products_c = U Sigma_c, the gradient by U is

        gradient = G_Z' (X - center) whitener + G_m' mu + 2 sum_c G_S,c products_c

    Parameters
    ----------
    engine : the samples; its center is subtracted from them
    whitener : ndarray of shape (p, R)
    moments : moments of the Gaussians, in the coordinates of the directions
    log_priors : ndarray of shape (C,)
    """

    engine: Engine
    whitener: FloatArray
    moments: Moments
    log_priors: FloatArray
    form: Form
    targets: Targets
    penalty: Penalty | None = None

    def gaussians(self, directions: FloatArray) -> ProjectedGaussians:
        """Return the Gaussians inside the projection."""
        return self._project(directions)[0]

    def theta(self, directions: FloatArray) -> FloatArray:
        """Return the coefficients (C, F) of the log joints; see `opgd.core.gaussians`."""
        return self.form.theta(self.gaussians(directions))

    def _project(self, directions: FloatArray) -> tuple[ProjectedGaussians, FloatArray]:
        products = directions @ self.moments.covariances  # (C, q, R)
        means = self.moments.means @ directions.T
        variances = self.form.project(directions, products)
        return ProjectedGaussians(self.log_priors, means, variances), products

    def value(self, directions: FloatArray) -> float:
        """Return the mean objective at directions (q, R)."""
        penalty = self.penalty.value_and_gradient(directions)[0] if self.penalty else 0.0
        return self.likelihood(directions) + penalty

    def likelihood(self, directions: FloatArray) -> float:
        """Return the mean objective without penalty."""

        def all_axes(density: AxisDensity) -> Iterator[FloatArray]:
            yield sum_densities(density, range(len(directions)))

        return float(self.values(directions, all_axes)[0])

    def values(
        self, directions: FloatArray, choices: Callable[[AxisDensity], Iterator[FloatArray]]
    ) -> FloatArray:
        """Return the mean objective, without penalty, for several subsets of the directions.

        `choices` yields one array of log densities (C, n) per subset, summed from the log densities
        on single components.
        """
        gaussians = self.gaussians(directions)
        form, targets = self.form, self.targets  # functions sent to a cluster must not hold self
        factors = form.factors(gaussians)
        components = directions @ self.whitener.T

        def block_values(block: RowBlock) -> FloatArray:
            scores = block.workspace.array("scores", len(components), block.n_rows)
            block_scores(block, components, scores)
            buffer, joint = (
                block.workspace.array(name, len(factors), block.n_rows)
                for name in ("density", "joint")
            )

            def density(j: int) -> FloatArray:
                return log_density(j, scores, gaussians.means, factors, form, buffer)

            def value(log_densities: FloatArray) -> float:
                np.add(log_densities, gaussians.log_priors[:, None], out=joint)
                return block_value(block, joint, targets)

            return np.array([value(log_densities) for log_densities in choices(density)])

        sums: FloatArray = self.engine.sum(block_values, width=joint_width(len(factors)))
        means: FloatArray = sums / self.engine.total_weight
        return means

    def value_and_gradient(self, directions: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean objective and its gradient, (q, R)."""
        gaussians, products = self._project(directions)
        form, targets = self.form, self.targets
        theta = form.theta(gaussians)
        components = directions @ self.whitener.T
        sums = self.engine.sum(
            lambda block: block_sums(block, components, theta, form, targets),
            width=max(2 * theta.shape[1], joint_width(len(theta))),
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


def joint_width(n_gaussians: int) -> int:
    """Return the buffer cells per row of log joints, as in `Engine.sum`; few Gaussians need none.

    Blocks of other sizes would change the last digits of sums.
    """
    return 3 * n_gaussians if n_gaussians > MANY_GAUSSIANS else 0


def sum_densities(density: AxisDensity, axes: Iterable[int]) -> FloatArray:
    """Sum log densities over components, (C, n); `axes` must not be empty."""
    first, *others = axes
    total = density(first).copy()
    for j in others:
        total += density(j)
    return total
