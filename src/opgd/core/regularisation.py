"""Covariances that can be relied on: shrinkage, ridge, and what a singular one borrows.

A class whose covariance says nothing about some directions borrows from the pooled covariance;
the pooled covariance, where it is singular itself, borrows from the identity on standardised
columns. The share that is borrowed is the share of directions without variance, so it depends on
ranks alone: a row of weight five counts as five rows.
"""

import numpy as np
from scipy import linalg

from opgd.core.coordinates import WITHIN_FLOOR, Coordinates, Frame, whiten
from opgd.core.moments import Moments
from opgd.core.types import FloatArray

VARIANCE_FLOOR = 1e-6
"""Share of the pooled variance below which a class has none: expanded squares lose digits there."""


def whitened_coordinates(
    frame: Frame, classes: Moments, ridge: float = 0.0
) -> tuple[Coordinates, float]:
    """Whiten by the (ridged) pooled covariance of classes, given as moments of sphered rows.

    Returns the coordinates and the share of the identity that a singular pooled covariance had to
    borrow.
    """
    unit = unit_variance(frame, classes) * frame.identity
    within = (1 - ridge) * classes.within + ridge * unit
    missing = int(np.sum(linalg.eigvalsh(within) < WITHIN_FLOOR))
    share = 0.0
    if missing:
        share = 1.0 - (len(within) - missing) / frame.n_active
        within = (1 - share) * within + share * unit
    return whiten(frame, within), share


def unit_variance(frame: Frame, classes: Moments) -> float:
    """tr(Sigma_W) / p on standardised columns, or 1 where there is no within-variance at all."""
    level = float(np.sum(np.diag(classes.within) / frame.spread**2)) / frame.n_active
    return level if level > WITHIN_FLOOR else 1.0


def regularise(
    frame: Frame,
    coordinates: Coordinates,
    gaussians: Moments,
    *,
    level: float,
    shrinkage: float = 0.0,
    ridge: float = 0.0,
) -> tuple[Moments, FloatArray]:
    """Friedman's two shrinkages, then borrowing where a covariance is still singular.

        Sigma_c <- (1 - shrinkage) Sigma_c + shrinkage Sigma_W
        Sigma_c <- (1 - ridge) Sigma_c + ridge * level * I      (standardised columns)

    Parameters
    ----------
    gaussians : of sphered rows
    level : variance that the ridge gives to a standardised column, tr(Sigma_W) / p

    Returns
    -------
    moments : in whitened coordinates
    borrowed : ndarray of shape (C,), share of the pooled covariance added to a singular one
    """
    covariances = (1 - shrinkage) * gaussians.covariances + shrinkage * gaussians.within
    covariances = (1 - ridge) * covariances + ridge * level * frame.identity
    whitener = coordinates.whitener / frame.spread[:, None]
    moments = Moments(gaussians.weights, gaussians.means, covariances).mapped(whitener)
    borrowed = np.array([missing_share(covariance) for covariance in moments.covariances])
    shares = borrowed[:, None, None]
    covariances = (1 - shares) * moments.covariances + shares * np.eye(coordinates.rank)
    return Moments(moments.weights, moments.means, covariances), borrowed


def missing_share(covariance: FloatArray) -> float:
    """Share of directions in which a whitened covariance has (nearly) no variance."""
    try:
        np.linalg.cholesky(covariance - VARIANCE_FLOOR * np.eye(len(covariance)))
        return 0.0
    except np.linalg.LinAlgError:
        eigenvalues = linalg.eigvalsh(covariance)
        return float(np.mean(eigenvalues < VARIANCE_FLOOR))
