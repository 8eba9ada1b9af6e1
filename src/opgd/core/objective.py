"""The objective of the paper, for labelled, unlabelled and partly labelled rows alike."""

from dataclasses import dataclass

from opgd.core.engines import RowEngine
from opgd.core.gaussians import Form, ProjectedGaussians
from opgd.core.kernels import block_sums, block_value
from opgd.core.moments import Moments
from opgd.core.penalties import Orthonormality
from opgd.core.targets import Targets
from opgd.core.types import FloatArray


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

    engine: RowEngine
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
        theta = self.form.theta(self.gaussians(directions))
        components = directions @ self.whitener.T
        total = self.engine.sum(
            lambda block: block_value(block, components, theta, self.form, self.targets),
            width=theta.shape[1],
        )
        penalty = self.penalty.value_and_gradient(directions)[0] if self.penalty else 0.0
        return total / self.engine.total_weight + penalty

    def value_and_gradient(self, directions: FloatArray) -> tuple[float, FloatArray]:
        """Mean objective and its gradient, (q, R)."""
        gaussians, products = self._project(directions)
        theta = self.form.theta(gaussians)
        components = directions @ self.whitener.T
        sums = self.engine.sum(
            lambda block: block_sums(block, components, theta, self.form, self.targets),
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
