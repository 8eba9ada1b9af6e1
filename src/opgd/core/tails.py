r"""Multivariate t distributions in place of the Gaussians of a density.

Clusters of real data have more samples far from their centers than Gaussians have. A t distribution
with the center of Gaussian c, its covariance times a scale a_c, and n_c degrees of freedom has the
log density, in R dimensions and with d^2 the squared distance from Gaussian c,

    log t_c(x) = log |2 pi Sigma_c|^-1/2 + R/2 log(2 / (n_c a_c)) + log G((n_c + R) / 2)
                 - log G(n_c / 2) - (n_c + R) / 2 log(1 + d^2 / (n_c a_c))
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import gammaln

from opgd.core.types import AnyArray, FloatArray

DEGREES = np.geomspace(1.0, 200.0, 25)
"""Degrees of freedom to select from; with the largest, tails hardly differ from normal ones."""
LEAST_WEIGHT = 1e-10
"""Fraction of the total weight below which a distribution is not updated."""


@dataclass(frozen=True)
class Tails:
    """Scales and degrees of freedom of t distributions, one for each Gaussian."""

    scales: FloatArray  # (C,)
    degrees: FloatArray  # (C,)

    @classmethod
    def make_nearly_normal(cls, n_gaussians: int) -> Self:
        """Return the tails closest to those of Gaussians."""
        return cls(np.ones(n_gaussians), np.full(n_gaussians, DEGREES[-1]))

    def log_joint(self, distances: FloatArray, at_means: FloatArray, rank: int) -> FloatArray:
        """Return log(pi_c t_c(x)), (n, C).

        `distances` (n, C) are squared, and `at_means` (C,) are the log joints of the Gaussians at
        their means, in `rank` dimensions.
        """
        change = _log_constants(self.scales, self.degrees, rank)
        stretched = np.log1p(distances / (self.degrees * self.scales))
        joint: FloatArray = at_means + change - 0.5 * (self.degrees + rank) * stretched
        return joint

    def re_estimate(self, distances: FloatArray, posteriors: FloatArray, rank: int) -> Self:
        """Compute an M-step from squared distances and weighted posteriors, (n, C).

        The likelihood does not decrease: scales are updated for given degrees of freedom, then the
        best degrees of freedom are selected, of which the last ones are an option.
        """
        weights = posteriors.sum(axis=0)
        occupied = weights > LEAST_WEIGHT * weights.sum()
        reduced = distances / (1 + distances / (self.degrees * self.scales))
        sums = np.sum(posteriors * reduced, axis=0)
        factors = (1 + rank / self.degrees) / (rank * np.maximum(weights, np.finfo(float).tiny))
        scales = np.where(occupied & (sums > 0), factors * sums, self.scales)
        values = [
            weights * _log_constants(scales, degrees, rank)
            - 0.5
            * (degrees + rank)
            * np.sum(posteriors * np.log1p(distances / (degrees * scales)), axis=0)
            for degrees in DEGREES
        ]
        best = DEGREES[np.argmax(values, axis=0)]
        return type(self)(scales, np.where(occupied, best, self.degrees))


def _log_constants(scales: FloatArray, degrees: AnyArray, rank: int) -> FloatArray:
    """Return log t_c less that of the Gaussian, both at the mean, (C,)."""
    constants: FloatArray = gammaln(0.5 * (degrees + rank)) - gammaln(0.5 * degrees)
    return constants + 0.5 * rank * np.log(2.0 / (degrees * scales))
