"""Univariate Gaussian mixtures of the scores of each class, fitted by EM."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from opgd.baselines._axis_densities import ClassScores, LineMixture, variance_and_slope
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
    """Mixtures of a few Gaussians per class; the density of all samples has as many.

    At the maximum the derivatives of the likelihood with respect to the parameters are zero, so its
    derivatives with respect to the scores are those with fixed parameters.
    """

    n_gaussians: int
    borrowed: FloatArray  # (K,), weight of the pooled variance, for singular classes

    def log_ratio(self, groups: ClassScores) -> tuple[float, list[FloatArray]]:
        null = self._fit_mixtures([np.concatenate(groups)], np.zeros(1))[0]
        value, slopes = 0.0, []
        for scores, density in zip(groups, self.densities(groups), strict=True):
            class_value, class_slopes = density.log_likelihood(scores)
            null_value, null_slopes = null.log_likelihood(scores)
            value += class_value - null_value
            slopes.append(class_slopes - null_slopes)
        return value, slopes

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
