"""Regularization of covariances: shrinkage, ridge, and repair of singular covariances.

A singular class covariance is shrunk toward the pooled covariance; a singular pooled covariance is
shrunk toward the identity on standardized features. With as few samples as dimensions, the amount
of shrinkage (the borrowed share) is the share of directions without variance. With more samples it
decreases in proportion, since many samples without variance in a direction are evidence that the
variance is small.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from opgd.core.coordinates import WITHIN_FLOOR, Coordinates, Frame, whiten
from opgd.core.moments import Moments
from opgd.core.types import FloatArray, IntArray

CLASS_ROWS = 0.2
"""Number of samples per dimension by which a subclass covariance is shrunk to its class."""
VARIANCE_FLOOR = 1e-6
"""Fraction of the pooled variance below which a variance counts as zero, for lack of digits."""


@dataclass(frozen=True)
class Whitening:
    """Coordinates whitened by the pooled covariance, and regularization in these coordinates."""

    frame: Frame
    coordinates: Coordinates
    ridge: float
    level: float  # variance that the ridge gives to a standardized feature, tr(Sigma_W) / p
    borrowed: float  # share of the identity in a singular pooled covariance

    def whiten(self, gaussians: Moments) -> Moments:
        """Return moments of sphered samples in whitened coordinates."""
        return gaussians.mapped(self.coordinates.whitener / self.frame.spread[:, None])

    def regularize(
        self, gaussians: Moments, shrinkage: float | str = 0.0
    ) -> tuple[Moments, FloatArray]:
        """Whiten moments of sphered samples and regularize them by `regularize_whitened`."""
        return self.regularize_whitened(self.whiten(gaussians), shrinkage)

    def regularize_whitened(
        self, moments: Moments, shrinkage: float | str = 0.0
    ) -> tuple[Moments, FloatArray]:
        """Apply Friedman's two shrinkages, then repair covariances that are still singular.

            Sigma_c <- (1 - shrinkage) Sigma_c + shrinkage Sigma_W
            Sigma_c <- (1 - ridge) Sigma_c + ridge * level * I      (standardized features)

        If the pooled covariance was singular and had to be shrunk toward the identity, all
        covariances are shrunk by the same share, so that they still pool to the covariance that was
        whitened.

        Parameters
        ----------
        moments : moments in whitened coordinates
        shrinkage : share of the pooled covariance; "auto" estimates one for each Gaussian by
            `estimate_shrinkage`

        Returns
        -------
        moments : regularized moments in whitened coordinates
        borrowed : ndarray of shape (C,), share of the pooled covariance in a singular one
        """
        shares = np.asarray(
            estimate_shrinkage(moments) if isinstance(shrinkage, str) else shrinkage
        )
        shares = np.broadcast_to(shares, len(moments.weights))[:, None, None]
        covariances = (1 - shares) * moments.covariances
        covariances += shares * moments.within
        for share in (self.ridge, self.coordinates.identity_share):
            if share > 0:
                covariances *= 1 - share
                covariances += share * self.unit_covariance
        return repair_singular(replace(moments, covariances=covariances))

    @cached_property
    def unit_covariance(self) -> FloatArray:
        """Return the identity on standardized features, times `level`, whitened, (R, R)."""
        whitener = self.coordinates.whitener / self.frame.spread[:, None]
        return self.level * whitener.T @ self.frame.identity @ whitener


def whiten_classes(frame: Frame, classes: Moments, ridge: float = 0.0) -> Whitening:
    """Whiten by the (ridged) pooled covariance of classes, given as moments of sphered samples."""
    level = unit_variance(frame, classes)
    unit = level * frame.identity
    within = (1 - ridge) * classes.within + ridge * unit
    rank = int(np.sum(linalg.eigvalsh(within) >= WITHIN_FLOOR))
    share = 0.0
    if rank < len(within):
        share = borrowed_share(1.0 - rank / frame.n_active, classes.counts.sum(), frame.n_active)
        within = (1 - share) * within + share * unit
    return Whitening(frame, whiten(frame, within, share), ridge, level, share)


def borrowed_share(missing: float, count: float, n_features: int) -> float:
    """Return the share that a covariance borrows, by its share of directions without variance."""
    share = missing * min(1.0, (n_features + 1) / count)
    return max(share, 2 * VARIANCE_FLOOR) if missing > 0 else 0.0


def unit_variance(frame: Frame, classes: Moments) -> float:
    """Return tr(Sigma_W) / p on standardized features, or 1 if Sigma_W is zero."""
    level = float(np.sum(np.diag(classes.within) / frame.spread**2)) / frame.n_active
    return level if level > WITHIN_FLOOR else 1.0


def repair_singular(moments: Moments) -> tuple[Moments, FloatArray]:
    """Shrink singular covariances toward the pooled one; return moments and shares (C,).

    The moments must be in whitened coordinates.
    """
    covariances, counts = moments.covariances, moments.counts
    if are_regular(covariances):
        return moments, np.zeros(len(counts))
    rank = moments.means.shape[1]
    gap = borrowed_share(missing_share(moments.within), float(counts.sum()), rank)
    pooled = (1 - gap) * moments.within + gap * np.eye(rank)
    borrowed = np.array(
        [
            borrowed_share(missing_share(covariance), count, rank)
            for covariance, count in zip(covariances, counts, strict=True)
        ]
    )
    shares = borrowed[:, None, None]
    return replace(moments, covariances=(1 - shares) * covariances + shares * pooled), borrowed


def estimate_shrinkage(moments: Moments) -> FloatArray:
    """Estimate the share of the pooled covariance that minimizes the squared error, (C,).

    This is the estimator of Ledoit & Wolf with the pooled covariance W as the target, and with the
    sampling error of a Gaussian's covariance S, which needs no second pass over the samples (as in
    OAS):

        share = (tr(S)^2 + tr(S^2)) / n_c / ||S - W||^2,    at most 1

    in whitened coordinates, so that it does not depend on the units of the features.
    """
    S = moments.covariances
    error = (np.trace(S, axis1=1, axis2=2) ** 2 + np.sum(S * S, axis=(1, 2))) / moments.counts
    distance = np.sum((S - moments.within) ** 2, axis=(1, 2))
    return np.where(error < distance, error / np.where(distance > 0, distance, 1.0), 1.0)


def identity_share(covariance: FloatArray, count: float, n_features: int) -> float:
    """Return the share of the identity that minimizes the squared error of a covariance.

    This is the closed form of oracle approximating shrinkage (Chen, Wiesel, Eldar & Hero) for
    `count` samples.
    """
    trace, squares = float(np.trace(covariance)), float(np.sum(covariance**2))
    distance = squares - trace**2 / n_features
    error = (1 - 2 / n_features) * squares + trace**2
    scaled = (count + 1 - 2 / n_features) * distance
    return 1.0 if error >= scaled else error / scaled


def shrink_to_classes(gaussians: Moments, gaussian_classes: IntArray) -> Moments:
    """Shrink the Gaussians of a class toward the class.

    A subclass may have too few samples for a covariance. Its estimate includes `CLASS_ROWS`
    additional samples per dimension with the covariance pooled over the Gaussians of the class, and
    one additional sample at the mean of the class. A class with a single Gaussian is not changed.
    """
    numbers = np.bincount(gaussian_classes)
    if np.all(numbers <= 1):
        return gaussians
    classes = gaussians.merge(gaussian_classes, len(numbers))
    shares = gaussians.weights / classes.weights[gaussian_classes]
    extra = CLASS_ROWS * gaussians.means.shape[1]
    covariances, means = gaussians.covariances.copy(), gaussians.means.copy()
    for k in np.flatnonzero(numbers > 1):
        members = gaussian_classes == k
        counts = gaussians.counts[members, None]
        means[members] = (counts * means[members] + classes.means[k]) / (counts + 1)
        pooled = np.tensordot(shares[members], covariances[members], axes=1)
        counts = counts[:, :, None]
        covariances[members] = (counts * covariances[members] + extra * pooled) / (counts + extra)
    return replace(gaussians, means=means, covariances=covariances)


def are_regular(covariances: FloatArray) -> bool:
    """Return whether no whitened covariance has a direction with (nearly) no variance."""
    try:
        np.linalg.cholesky(covariances - VARIANCE_FLOOR * np.eye(covariances.shape[1]))
    except np.linalg.LinAlgError:
        return False
    return True


def missing_share(covariance: FloatArray) -> float:
    """Return the share of directions in which a whitened covariance has (nearly) no variance."""
    lifted = covariance.copy()
    lifted.flat[:: len(lifted) + 1] -= VARIANCE_FLOOR
    # LAPACK directly: no exception if the matrix is not positive definite, which is frequent
    if linalg.lapack.dpotrf(lifted, clean=0, overwrite_a=1)[1] == 0:
        return 0.0
    return float(np.mean(linalg.eigvalsh(covariance) < VARIANCE_FLOOR))
