"""Mixtures of a few Gaussians for each class along an axis, fitted by the core's EM."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from opgd.baselines._axis_densities import Groups, LineMixture, variance_and_slope
from opgd.core.em import Constraints, fit_mixture
from opgd.core.engines import RowEngine
from opgd.core.gaussians import FORMS, ProjectedGaussians
from opgd.core.types import FloatArray, IntArray

LEAST_VARIANCE = 1e-2
"""Below it two rows that happen to fall together would be a Gaussian of their own."""
ROWS_PER_GAUSSIAN = 5
EM_ITERATIONS = 30
EM_TOL = 1e-7
"""Of log-likelihood per row: the search compares values that differ by little."""


@dataclass(frozen=True)
class MixtureDensities:
    """A few Gaussians for each class; the density of all rows has as many as one class.

    At the likeliest parameters the likelihood of a sample does not change with them, so its slopes
    by the scores are those with parameters held.
    """

    n_gaussians: int
    borrowed: FloatArray  # (K,), what classes with a singular covariance borrow

    def log_ratio(self, groups: Groups) -> tuple[float, list[FloatArray]]:
        together = np.concatenate(groups)
        null = self._fitted([together], np.zeros(1))[0]
        value, slopes = 0.0, []
        for scores, density in zip(groups, self.densities(groups), strict=True):
            own, own_slopes = density.held_likelihood(scores)
            other, other_slopes = null.held_likelihood(scores)
            value += own - other
            slopes.append(own_slopes - other_slopes)
        return value, slopes

    def densities(self, groups: Groups) -> list[LineMixture]:
        return self._fitted(groups, self.borrowed)

    def _fitted(self, groups: Groups, borrowed: FloatArray) -> list[LineMixture]:
        """EM for all groups at once, each with Gaussians of its own."""
        sizes = np.array([len(scores) for scores in groups])
        numbers = np.clip(sizes // ROWS_PER_GAUSSIAN, 1, self.n_gaussians)
        classes: IntArray = np.repeat(np.arange(len(groups)), numbers)
        shares = (sizes / numbers / sizes.sum())[classes]
        starts = [_spread(*own) for own in zip(groups, borrowed, numbers, strict=True)]
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
                least=LEAST_VARIANCE, share=borrowed[classes], added=borrowed[classes, None]
            ),
        )
        found = result.gaussians
        weights = np.exp(found.log_priors)
        weights /= np.bincount(classes, weights)[classes]
        return [
            LineMixture(weights[own], found.means[own, 0], np.sqrt(found.variances[own, 0]))
            for own in (classes == k for k in range(len(groups)))
        ]


def _spread(scores: FloatArray, borrowed: float, number: int) -> tuple[FloatArray, FloatArray]:
    """Means and variances to begin with: those of a Gaussian cut into equal parts, (number,).

    They follow from moments alone, so that the outcome changes smoothly with the axis.
    """
    variance = variance_and_slope(scores, borrowed)[0]
    offsets = ndtri((np.arange(number) + 0.5) / number)
    rest = 1.0 - float(np.mean(offsets**2))
    return scores.mean() + np.sqrt(variance) * offsets, np.full(number, variance * rest)
