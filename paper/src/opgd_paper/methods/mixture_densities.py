"""Univariate Gaussian mixtures of the scores of each class, fitted by EM, and their derivatives.

At the maximum of the log-likelihood L(z, theta) its derivatives by theta are zero, so by the
implicit function theorem d theta / d z = -H^-1 (d^2 L / d theta d z), where H is the Hessian. The
parameters theta are logits, means and variances of the G Gaussians, P = 3 G in total.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from opgd_paper.methods._base import FloatArray, IntArray
from opgd_paper.methods._support import AxisGaussians, fit_mixture
from opgd_paper.methods.densities import AxisDensities, ClassScores, LineMixture, variance_and_slope

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


MIN_VARIANCE = 1e-2
"""Lower bound, which prevents a Gaussian from collapsing on a few nearby scores."""
SAMPLES_PER_GAUSSIAN = 5
EM_ITERATIONS = 30
EM_TOL = 1e-7
"""Tolerance of the log-likelihood per sample; small, since nearby directions are compared."""


@dataclass(frozen=True)
class MixtureDensities(AxisDensities):
    """Mixtures of a few Gaussians per class, and a null density of all samples.

    The null density is the mixture of the class densities ("classes"), or a mixture with as many
    Gaussians as one class, fitted to all samples ("pooled"). At the maximum the derivatives of a
    likelihood with respect to its parameters are zero, so its derivatives with respect to the
    scores are those with fixed parameters. This does not apply to the mixture of the class
    densities, which are not fitted to all samples; there the parameters' slopes are added. Those of
    variances that are shrunk or at their lower bound are omitted.
    """

    n_gaussians: int
    borrowed: FloatArray  # (K,), weight of the pooled variance, for singular classes
    null: str = "classes"

    def log_ratio(self, groups: ClassScores) -> tuple[float, list[FloatArray]]:
        densities = self.densities(groups)
        parts = [d.log_likelihood(scores) for d, scores in zip(densities, groups, strict=True)]
        compute_null = self._class_mixture if self.null == "classes" else self._pooled_mixture
        null, null_slopes = compute_null(groups, densities)
        value = sum(part for part, _ in parts) - null
        return value, [s - null for (_, s), null in zip(parts, null_slopes, strict=True)]

    def _pooled_mixture(
        self,
        groups: ClassScores,
        densities: list[LineMixture],  # noqa: ARG002
    ) -> tuple[float, list[FloatArray]]:
        """Return the log-likelihood of one mixture for all samples, and its derivatives."""
        null = self._fit_mixtures([np.concatenate(groups)], np.zeros(1))[0]
        parts = [null.log_likelihood(scores) for scores in groups]
        return sum(value for value, _ in parts), [slopes for _, slopes in parts]

    def _class_mixture(
        self, groups: ClassScores, densities: list[LineMixture]
    ) -> tuple[float, list[FloatArray]]:
        """Return the log-likelihood of sum_k pi_k f_k, and its derivatives."""
        sizes, scores = np.array([len(group) for group in groups]), np.concatenate(groups)
        points = [MixturePoint(density, scores) for density in densities]
        log_joint = np.array([point.log_densities for point in points])
        log_joint += np.log(sizes / sizes.sum())[:, None]
        logs = np.logaddexp.reduce(log_joint, axis=0)
        slopes, through = np.zeros(len(scores)), []
        for k, point in enumerate(points):
            by_scores, by_parameters = point.slopes(np.exp(log_joint[k] - logs))
            slopes += by_scores
            fitted = MixturePoint(densities[k], groups[k])
            free = self._free_parameters(densities[k], float(self.borrowed[k]))
            through.append(slopes_through_parameters(fitted, by_parameters, free))
        slopes += np.concatenate(through)
        return float(logs.sum()), np.split(slopes, np.cumsum(sizes)[:-1])

    def _free_parameters(self, density: LineMixture, borrowed: float) -> IntArray:
        """Return the indices of parameters that are neither shrunk nor at a bound."""
        free = (density.deviations**2 > 2 * MIN_VARIANCE) & (borrowed == 0)
        return np.flatnonzero(np.append(np.ones(2 * len(free), dtype=bool), free))

    def densities(self, groups: ClassScores) -> list[LineMixture]:
        return self._fit_mixtures(groups, self.borrowed)

    def _fit_mixtures(self, groups: ClassScores, borrowed: FloatArray) -> list[LineMixture]:
        """Fit one mixture to each group, by a single run of EM."""
        sizes = np.array([len(scores) for scores in groups])
        numbers = np.clip(sizes // SAMPLES_PER_GAUSSIAN, 1, self.n_gaussians)
        classes: IntArray = np.repeat(np.arange(len(groups)), numbers)
        shares = (sizes / numbers / sizes.sum())[classes]
        starts = [
            _initial_gaussians(scores, share, number)
            for scores, share, number in zip(groups, borrowed, numbers, strict=True)
        ]
        start = AxisGaussians(
            np.log(shares),
            np.concatenate([means for means, _ in starts])[:, None],
            np.concatenate([variances for _, variances in starts])[:, None],
            classes,
        )
        codes = np.repeat(np.arange(len(groups)), sizes)
        fitted = fit_mixture(
            np.concatenate(groups)[:, None],
            start,
            codes[:, None] == classes,
            max_iter=EM_ITERATIONS,
            tol=EM_TOL,
            least=MIN_VARIANCE,
            share=borrowed[classes],
        )
        weights = np.exp(fitted.log_weights)
        weights /= np.bincount(classes, weights)[classes]
        return [
            LineMixture(weights[mask], fitted.means[mask, 0], np.sqrt(fitted.variances[mask, 0]))
            for mask in (classes == k for k in range(len(groups)))
        ]


def _initial_gaussians(
    scores: FloatArray, borrowed: float, number: int
) -> tuple[FloatArray, FloatArray]:
    """Return initial means and variances (number,): a Gaussian divided into equal parts.

    They depend only on moments, so that the result changes smoothly with the direction.
    """
    variance = variance_and_slope(scores, borrowed)[0]
    offsets = ndtri((np.arange(number) + 0.5) / number)
    remainder = 1.0 - float(np.mean(offsets**2))
    return scores.mean() + np.sqrt(variance) * offsets, np.full(number, variance * remainder)
