"""Structures of the covariances of a mixture, and a conjugate prior for them.

An M-step maximizes, over the covariances that a structure allows,

    sum_c -1/2 w_c log|Sigma_c| - 1/2 tr(W_c Sigma_c^-1)

where w_c is the weight of Gaussian c and W_c its scatter about its mean. An inverse Wishart prior
adds a constant to every w_c and to every W_c, so that the same formulas give the posterior mode.
Names in brackets are those of mclust: equal or variable volume, shape and orientation.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from opgd.core.types import FloatArray

Structure = Callable[[FloatArray, FloatArray], FloatArray]
"""Map scatters (C, q, q) or (C, q) and weights (C,) to covariances of the same shape."""
SHAPE_ITERATIONS = 5


@dataclass(frozen=True)
class CovariancePrior:
    """Inverse Wishart prior of each covariance, as additional samples of the Gaussian.

    log density = -1/2 count log|Sigma| - 1/2 tr(scatter Sigma^-1) + constant
    """

    count: float  # number of additional samples
    scatter: FloatArray  # (q, q), or (q,) for diagonal covariances

    def log_density(self, variances: FloatArray) -> float:
        """Return the sum over Gaussians of the log density, without its constant."""
        if variances.ndim == 2:
            logs, traces = np.log(variances), self.scatter / variances
            return float(-0.5 * np.sum(self.count * logs + traces))
        logs = np.linalg.slogdet(variances)[1]
        traces = np.trace(np.linalg.solve(variances, self.scatter[None]), axis1=1, axis2=2)
        return float(-0.5 * np.sum(self.count * logs + traces))

    def scaled(self, factor: float) -> "CovariancePrior":
        """Return the prior for sample weights multiplied by `factor`."""
        return CovariancePrior(factor * self.count, factor * self.scatter)


def make_prior(total: FloatArray, n_gaussians: int, strength: float) -> CovariancePrior:
    """Return a weak prior from the variances (q,) or the covariance (q, q) of all samples.

    It counts as `strength` additional samples of each Gaussian. Their covariance is the one of all
    samples over C^(2/q), as if the volume of the samples were divided among the C Gaussians
    (Fraley & Raftery 2007). Their prior has the same scale, but q + 2 degrees of freedom, that is,
    counts as 2q + 3 samples with the scatter of one: with many features, covariances would be too
    small.
    """
    scatter = total / n_gaussians ** (2 / len(total))
    return CovariancePrior(strength, strength * scatter)


def estimate_free(scatters: FloatArray, weights: FloatArray) -> FloatArray:
    """Return a covariance for each Gaussian (VVV; VVI if diagonal)."""
    return scatters / weights.reshape(-1, *[1] * (scatters.ndim - 1))


def estimate_tied(scatters: FloatArray, weights: FloatArray) -> FloatArray:
    """Return one covariance for all Gaussians (EEE; EEI if diagonal)."""
    return np.broadcast_to(scatters.sum(axis=0) / weights.sum(), scatters.shape).copy()


def estimate_spherical(scatters: FloatArray, weights: FloatArray) -> FloatArray:
    """Return one variance for each Gaussian, the same in all directions (VII)."""
    q = scatters.shape[1]
    sums = scatters.sum(axis=1) if scatters.ndim == 2 else np.trace(scatters, axis1=1, axis2=2)
    identity = np.ones(q) if scatters.ndim == 2 else np.eye(q)
    return estimate_free(sums[(..., *[None] * (scatters.ndim - 1))] * identity / q, weights)


def estimate_rotated(scatters: FloatArray, weights: FloatArray) -> FloatArray:
    """Return covariances of equal volume and shape, with their own orientations (EEV)."""
    spreads, vectors = np.linalg.eigh(scatters)
    variances = spreads.sum(axis=0) / weights.sum()
    return (vectors * variances) @ vectors.transpose(0, 2, 1)


def estimate_equal_shape(scatters: FloatArray, weights: FloatArray) -> FloatArray:
    """Return covariances of equal shape, with their own volumes and orientations (VEV)."""
    spreads, vectors = np.linalg.eigh(scatters)  # (C, q)
    q = spreads.shape[1]
    volumes = spreads.sum(axis=1) / (q * weights)
    for _ in range(SHAPE_ITERATIONS):
        shape = np.sum(spreads / volumes[:, None], axis=0)
        shape /= np.exp(np.log(shape).mean())
        volumes = np.sum(spreads / shape, axis=1) / (q * weights)
    return (vectors * (volumes[:, None] * shape)[:, None, :]) @ vectors.transpose(0, 2, 1)


@dataclass(frozen=True)
class StructureKind:
    """A structure with its number of free parameters."""

    estimate: Structure
    count_parameters: Callable[[int, int], int]  # of C covariances in q dimensions
    diagonal: bool = False
    affine: bool = False  # whether an invertible linear map of the samples changes nothing


def _count_full(q: int) -> int:
    return q * (q + 1) // 2


STRUCTURES: dict[str, StructureKind] = {
    "full": StructureKind(estimate_free, lambda C, q: C * _count_full(q), affine=True),
    "tied": StructureKind(estimate_tied, lambda _, q: _count_full(q), affine=True),
    "rotated": StructureKind(estimate_rotated, lambda C, q: C * _count_full(q) - (C - 1) * q),
    "equal_shape": StructureKind(
        estimate_equal_shape, lambda C, q: C * _count_full(q) - (C - 1) * (q - 1)
    ),
    "diag": StructureKind(estimate_free, lambda C, q: C * q, diagonal=True),
    "spherical": StructureKind(estimate_spherical, lambda C, _: C, diagonal=True),
}
"""Structures of the first mixture."""
