"""Univariate Gaussian mixtures of the scores of each class, fitted by EM."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from opgd.baselines._axis_densities import ClassScores, LineMixture, variance_and_slope
from opgd.baselines._mixture_slopes import MixturePoint, slopes_through_parameters
from opgd.core.em import Constraints, fit_mixture
from opgd.core.engines import RowEngine
from opgd.core.gaussians import FORMS, ProjectedGaussians
from opgd.core.types import FloatArray, IntArray

MIN_VARIANCE = 1e-2
"""Lower bound, which prevents a Gaussian from collapsing on a few nearby scores."""
SAMPLES_PER_GAUSSIAN = 5
EM_ITERATIONS = 30
EM_TOL = 1e-7
"""Tolerance of the log-likelihood per sample; small, since nearby directions are compared."""


@dataclass(frozen=True)
class MixtureDensities:
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
        result = fit_mixture(
            RowEngine(np.concatenate(groups)[:, None], np.repeat(np.arange(len(groups)), sizes)),
            np.ones((1, 1)),
            ProjectedGaussians(
                np.log(shares),
                np.concatenate([means for means, _ in starts])[:, None],
                np.concatenate([variances for _, variances in starts])[:, None],
            ),
            FORMS["diag"],
            max_iter=EM_ITERATIONS,
            tol=EM_TOL,
            gaussian_classes=classes,
            constraints=Constraints(
                least=MIN_VARIANCE, share=borrowed[classes], added=borrowed[classes, None]
            ),
        )
        fitted = result.gaussians
        weights = np.exp(fitted.log_priors)
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
