"""Regularization of the covariances of a mixture, in any coordinates."""

from dataclasses import dataclass

import numpy as np

from opgd.core.em import UNCONSTRAINED, Constraints
from opgd.core.structures import Structure, estimate_free, estimate_tied, make_prior
from opgd.core.types import FloatArray

LEAST_SHARE = 1e-9
"""Lower bound of a variance as a share of the total one, so that bounds are positive definite."""


@dataclass(frozen=True)
class Regularizer:
    """A weak prior and a lower bound for covariances of clusters of sphered samples."""

    strength: float  # 0: as in the paper, neither a prior nor a bound
    floor: FloatArray | None = None  # (R, R), lower bound

    def constrain(
        self,
        directions: FloatArray,
        n_clusters: int,
        *,
        diagonal: bool,
        structure: Structure = estimate_free,
    ) -> Constraints:
        """Return constraints for covariances of scores on directions (q, R) of sphered samples.

        The likelihood of a single Gaussian is bounded, so that it needs no prior.
        """
        if self.strength == 0 or n_clusters == 1:
            return UNCONSTRAINED
        total = directions @ directions.T
        floor = None
        if self.floor is not None:
            floor = directions @ self.floor @ directions.T + LEAST_SHARE * total
        if diagonal:
            total = np.diag(total).copy()
            floor = None if floor is None else np.diag(floor).copy()
        prior = make_prior(total, n_clusters, self.strength)
        if structure is estimate_tied:  # one covariance, whose prior is divided among the Gaussians
            prior = prior.scaled(1 / n_clusters)
        return Constraints(structure=structure, prior=prior, floor=floor)
