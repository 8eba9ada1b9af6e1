"""Covariances that can be relied on: shrinkage, ridge, and what a singular one borrows.

A class whose covariance says nothing about some directions borrows from the pooled covariance;
the pooled covariance, where it is singular itself, borrows from the identity on standardized
columns. The share that is borrowed is the share of directions without variance, for as few rows as
there are dimensions; with more rows it falls in proportion, since a variance that many rows do not
show is a finding, not a gap.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from opgd.core.coordinates import WITHIN_FLOOR, Coordinates, Frame, whiten
from opgd.core.moments import Moments
from opgd.core.types import FloatArray, IntArray

CLASS_ROWS = 0.2
"""Rows per dimension that a subclass's covariance takes from its class."""
VARIANCE_FLOOR = 1e-6
"""Share of the pooled variance below which a class has none: expanded squares lose digits there."""


@dataclass(frozen=True)
class Whitening:
    """Coordinates whitened by the pooled covariance, and the regularization that goes with them."""

    frame: Frame
    coordinates: Coordinates
    ridge: float
    level: float  # variance that the ridge gives to a standardized feature, tr(Sigma_W) / p
    borrowed: float  # share of the identity in a singular pooled covariance

    def regularize(
        self, gaussians: Moments, shrinkage: float | str = 0.0
    ) -> tuple[Moments, FloatArray]:
        """Apply Friedman's two shrinkages, then fill covariances that are still singular.

            Sigma_c <- (1 - shrinkage) Sigma_c + shrinkage Sigma_W
            Sigma_c <- (1 - ridge) Sigma_c + ridge * level * I      (standardized features)

        Where the pooled covariance had to borrow from the identity before it could be whitened,
        all covariances borrow the same share, so that they still pool to what was whitened.

        Parameters
        ----------
        gaussians : moments of sphered samples
        shrinkage : "auto" estimates one for each Gaussian, see `estimated_shrinkage`

        Returns
        -------
        moments : in whitened coordinates
        borrowed : ndarray of shape (C,), share of the pooled covariance in a singular one
        """
        whitener = self.coordinates.whitener / self.frame.spread[:, None]
        moments = gaussians.mapped(whitener)
        within = moments.within
        shares = np.asarray(
            estimated_shrinkage(moments) if isinstance(shrinkage, str) else shrinkage
        )
        shares = np.broadcast_to(shares, len(moments.weights))[:, None, None]
        covariances = (1 - shares) * moments.covariances + shares * within
        unit = self.unit_covariance
        covariances = (1 - self.ridge) * covariances + self.ridge * unit
        share = self.coordinates.identity_share
        covariances = (1 - share) * covariances + share * unit
        return fill_gaps(replace(moments, covariances=covariances))

    @property
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
    """What a covariance with a share of directions `missing` borrows, for so many rows."""
    share = missing * min(1.0, (n_features + 1) / count)
    return max(share, 2 * VARIANCE_FLOOR) if missing > 0 else 0.0


def unit_variance(frame: Frame, classes: Moments) -> float:
    """tr(Sigma_W) / p on standardized columns, or 1 where there is no within-variance at all."""
    level = float(np.sum(np.diag(classes.within) / frame.spread**2)) / frame.n_active
    return level if level > WITHIN_FLOOR else 1.0


def fill_gaps(moments: Moments) -> tuple[Moments, FloatArray]:
    """Let singular covariances borrow from the pooled one; whitened moments, shares (C,)."""
    covariances, counts = moments.covariances, moments.counts
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


def estimated_shrinkage(moments: Moments) -> FloatArray:
    """Share of the pooled covariance that minimizes the expected squared error, (C,).

    As Ledoit & Wolf, with the pooled covariance W as the target and the sampling error of a
    Gaussian's covariance S, which needs no second pass over the rows (as in OAS):

        share = (tr(S)^2 + tr(S^2)) / n_c / ||S - W||^2,    at most 1

    in whitened coordinates, so that it does not depend on the units of the columns.
    """
    S = moments.covariances
    error = (np.trace(S, axis1=1, axis2=2) ** 2 + np.sum(S * S, axis=(1, 2))) / moments.counts
    distance = np.sum((S - moments.within) ** 2, axis=(1, 2))
    return np.where(error < distance, error / np.where(distance > 0, distance, 1.0), 1.0)


def identity_share(covariance: FloatArray, count: float, n_features: int) -> float:
    """Share of the identity that minimizes the expected squared error of a covariance.

    Oracle approximating shrinkage (Chen, Wiesel, Eldar & Hero) from `count` rows, in closed form.
    """
    trace, squares = float(np.trace(covariance)), float(np.sum(covariance**2))
    distance = squares - trace**2 / n_features
    error = (1 - 2 / n_features) * squares + trace**2
    scaled = (count + 1 - 2 / n_features) * distance
    return 1.0 if error >= scaled else error / scaled


def draw_to_classes(gaussians: Moments, gaussian_classes: IntArray) -> Moments:
    """Draw Gaussians that share a class towards what they have in common.

    A subclass has few rows for a covariance of its own, so it counts as if `CLASS_ROWS` rows per
    dimension had come from the covariance pooled over the class's Gaussians, and one row from the
    mean of the class. A class with a single Gaussian is not changed.
    """
    n_features = gaussians.means.shape[1]
    n_classes = int(gaussian_classes.max()) + 1
    classes = gaussians.merged(gaussian_classes, n_classes)
    alone = np.bincount(gaussian_classes)[gaussian_classes] == 1
    shares = gaussians.weights / classes.weights[gaussian_classes]
    covariances, means = gaussians.covariances.copy(), gaussians.means.copy()
    for c in np.flatnonzero(~alone):
        siblings = gaussian_classes == gaussian_classes[c]
        pooled = np.tensordot(shares[siblings], gaussians.covariances[siblings], axes=1)
        count, extra = gaussians.counts[c], CLASS_ROWS * n_features
        covariances[c] = (count * covariances[c] + extra * pooled) / (count + extra)
        means[c] = (count * means[c] + classes.means[gaussian_classes[c]]) / (count + 1)
    return replace(gaussians, means=means, covariances=covariances)


def missing_share(covariance: FloatArray) -> float:
    """Share of directions in which a whitened covariance has (nearly) no variance."""
    try:
        np.linalg.cholesky(covariance - VARIANCE_FLOOR * np.eye(len(covariance)))
        return 0.0
    except np.linalg.LinAlgError:
        eigenvalues = linalg.eigvalsh(covariance)
        return float(np.mean(eigenvalues < VARIANCE_FLOOR))
