"""Ellipses, decision regions and marginal densities of projected Gaussians."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from opgd.core.gaussians import FORMS, ProjectedGaussians
from opgd.core.scoring import log_sum_by_group, scores_log_joint
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.projected import Outlines, ProjectedRows

GRID = 300
"""Points along each side of the grid of decision regions."""
N_POINTS = 200
"""Points at which marginal densities are computed."""


def compute_region_radius(level: float, n_axes: int) -> float:
    """Compute the Mahalanobis radius that contains the probability `level` of a Gaussian."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1 (exclusive), got {level!r}.")
    return float(np.sqrt(chdtri(n_axes, 1 - level)))


def compute_ellipses(covariances: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Compute semi-axes (C, 2), the longer first, and the angle of the longer in degrees, (C,)."""
    values, vectors = np.linalg.eigh(covariances)
    lengths = compute_region_radius(level, 2) * np.sqrt(values[:, ::-1])
    longer = vectors[:, :, -1]
    return lengths, np.degrees(np.arctan2(longer[:, 1], longer[:, 0])) % 180


def compute_extents(outlines: Outlines, radius: float) -> FloatArray:
    """Compute the lower ends of ellipses on each axis and the upper ones, (2 * n, n_axes)."""
    extent = radius * np.sqrt(np.diagonal(outlines.covariances, axis1=1, axis2=2))
    return np.vstack([outlines.means - extent, outlines.means + extent])


@dataclass(frozen=True, eq=False)
class Regions:
    """The most probable class at each point of a grid on two axes.

    Attributes
    ----------
    grid : ndarray of shape (2, 300)
        Coordinates on the two axes.
    codes : ndarray of shape (300, 300)
        Most probable class, with the second coordinate along the first dimension.
    log_joint : ndarray of shape (n_classes, 300, 300)
        Log densities times priors of the classes.
    """

    grid: FloatArray
    codes: IntArray
    log_joint: AnyArray

    def compute_log_odds(self, code: int) -> AnyArray:
        """Compute log odds of a class against the most probable other class, (300, 300).

        They are zero on the boundary of the region of the class.
        """
        others = np.delete(self.log_joint, code, axis=0)
        return self.log_joint[code] - others.max(axis=0)


def compute_decision_regions(
    gaussians: ProjectedGaussians, groups: IntArray, limits: FloatArray
) -> Regions:
    """Compute the most probable class at each point of a grid on two axes."""
    grid = np.linspace(limits[0], limits[1], GRID).T
    points = np.stack([axis.ravel() for axis in np.meshgrid(*grid)])  # (2, GRID * GRID)
    form = FORMS["full"]
    joint = scores_log_joint(points, gaussians, form.factors(gaussians), form)
    by_class = log_sum_by_group(joint, groups)
    by_class = by_class.reshape(len(by_class), GRID, GRID)
    return Regions(grid, np.argmax(by_class, axis=0), by_class.astype(np.float32))


def compute_marginal_densities(
    projected: ProjectedRows, limits: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute points within limits, (200, q), and marginal densities times priors, (K, 200, q)."""
    means = projected.means
    deviations = np.sqrt(np.diagonal(projected.covariances, axis1=1, axis2=2))  # (C, q)
    points = np.linspace(limits[0], limits[1], N_POINTS)
    densities = np.zeros((len(projected.gaussian_names), *points.shape))
    priors = np.exp(projected.log_priors) / np.exp(projected.log_priors).sum()
    for code, prior, mean, deviation in zip(
        projected.gaussian_codes, priors, means, deviations, strict=True
    ):
        z = (points - mean) / deviation
        densities[code] += prior * np.exp(-0.5 * z * z) / (deviation * np.sqrt(2 * np.pi))
    return points, densities
