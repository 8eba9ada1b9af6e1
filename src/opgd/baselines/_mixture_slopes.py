"""Dependence of a fitted univariate mixture on the scores to which it was fitted.

At the maximum of the log-likelihood L(z, theta) its derivatives by theta are zero, so by the
implicit function theorem d theta / d z = -H^-1 (d^2 L / d theta d z), where H is the Hessian. The
parameters theta are logits, means and variances of the G Gaussians, P = 3 G in total.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgd.baselines._axis_densities import LineMixture
from opgd.core.types import FloatArray, IntArray

SMALLEST_CURVATURE = 1e-8
"""Curvatures below this fraction of the largest are flat directions, which have no slope."""


@dataclass(frozen=True)
class MixturePoint:
    """Posteriors and derivatives of the log densities of scores under a mixture."""

    mixture: LineMixture
    scores: FloatArray  # (n,)

    @cached_property
    def steps(self) -> FloatArray:
        """Distances of scores from the means in variances, (n, G)."""
        mixture = self.mixture
        return np.asarray((self.scores[:, None] - mixture.means) / mixture.deviations**2)

    @cached_property
    def log_densities(self) -> FloatArray:
        """Log of the mixture density, up to log sqrt(2 pi), (n,)."""
        return np.logaddexp.reduce(self.mixture.log_densities(self.scores), axis=0)

    @cached_property
    def posteriors(self) -> FloatArray:
        """Posteriors of the Gaussians, (n, G)."""
        return np.exp(self.mixture.log_densities(self.scores) - self.log_densities).T

    @cached_property
    def by_parameters(self) -> FloatArray:
        """Derivatives of the log density of each Gaussian by the parameters, (n, G, P)."""
        mixture, steps = self.mixture, self.steps
        identity = np.eye(len(mixture.means))
        by_variances = 0.5 * (steps**2 - 1 / mixture.deviations**2)
        parts = [
            np.broadcast_to(identity - mixture.weights, (len(steps), *identity.shape)),
            steps[:, :, None] * identity,
            by_variances[:, :, None] * identity,
        ]
        return np.concatenate(parts, axis=2)

    def slopes(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return derivatives of sum_i weights_i log f(z_i) by scores (n,) and parameters (P,)."""
        by_scores = -weights * np.sum(self.posteriors * self.steps, axis=1)
        shares = weights[:, None] * self.posteriors
        return by_scores, np.einsum("ng,ngp->p", shares, self.by_parameters)

    def hessian(self) -> FloatArray:
        """Return the second derivatives of the log-likelihood by the parameters, (P, P)."""
        r, t, mixture = self.posteriors, self.by_parameters, self.mixture
        mean = np.einsum("ng,ngp->np", r, t)
        hessian = np.einsum("ng,ngp,ngq->pq", r, t, t, optimize=True) - mean.T @ mean
        n_gaussians, precisions = len(mixture.means), mixture.deviations**-2.0
        logits, means = np.arange(n_gaussians), np.arange(n_gaussians) + n_gaussians
        variances = means + n_gaussians
        weights = mixture.weights
        hessian[np.ix_(logits, logits)] -= len(r) * (np.diag(weights) - np.outer(weights, weights))
        hessian[means, means] -= r.sum(axis=0) * precisions
        crossed = np.sum(r * self.steps, axis=0) * precisions
        hessian[means, variances] -= crossed
        hessian[variances, means] -= crossed
        squares = np.sum(r * (self.steps**2 - 0.5 * precisions), axis=0)
        hessian[variances, variances] -= squares * precisions
        return np.asarray(hessian)

    def crossed(self) -> FloatArray:
        """Return the derivatives of the log-likelihood by each score and the parameters, (n, P)."""
        r, t, mixture = self.posteriors, self.by_parameters, self.mixture
        deviations = self.steps - np.sum(r * self.steps, axis=1, keepdims=True)
        crossed = -np.einsum("ng,ngp->np", r * deviations, t)
        n_gaussians, precisions = len(mixture.means), mixture.deviations**-2.0
        crossed[:, n_gaussians : 2 * n_gaussians] += r * precisions
        crossed[:, 2 * n_gaussians :] += r * self.steps * precisions
        return np.asarray(crossed)


def slopes_through_parameters(
    point: MixturePoint, by_parameters: FloatArray, free: IntArray
) -> FloatArray:
    """Return derivatives by the scores (n,) of a function of the fitted parameters.

    `by_parameters` (P,) are the derivatives of the function by the parameters of the mixture at
    `point`, which was fitted to the scores of `point`. Parameters whose index is not in `free`
    are constant, such as a variance at its lower bound.
    """
    hessian = point.hessian()[np.ix_(free, free)]
    values, vectors = np.linalg.eigh(-hessian)
    inverses = np.zeros_like(values)
    curved = values > SMALLEST_CURVATURE * values.max(initial=0.0)
    inverses[curved] = 1 / values[curved]
    directions = vectors @ (inverses * (vectors.T @ by_parameters[free]))
    return np.asarray(point.crossed()[:, free] @ directions)
