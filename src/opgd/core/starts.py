"""First guesses of the projection, in whitened coordinates (Sigma_W = I).

The projection of a Gaussian discriminant has many local optima, so the first guess matters; the
paper's Section 3.2 argues for one good guess instead of many random ones.
"""

import numpy as np
from scipy import linalg

from opgd.core.coordinates import Coordinates
from opgd.core.moments import Moments
from opgd.core.types import FloatArray


def leading_vectors(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of a symmetric matrix, largest first, and eigenvectors as rows."""
    eigenvalues, vectors = linalg.eigh(matrix)
    return eigenvalues[::-1], vectors[:, ::-1].T


def lda_axes(
    classes: Moments, n_components: int, preference: FloatArray | None = None
) -> FloatArray:
    """The LDA axes, then the SAVE axes of their complement, (n_components, R).

    The LDA axes (at most K-1) see differences of means only. Beyond them Sigma_W^-1 Sigma_B has
    no opinion, so what follows are the directions along which class variances differ most: the
    leading eigenvectors of sum_k pi_k (I - Sigma_k)^2 in the complement. Where that has no opinion
    either (few rows have equal variances in all directions), `preference` (R, R) decides.
    """
    eigenvalues, axes = leading_vectors(classes.between)
    n_lda = int(np.sum(eigenvalues > 1e-10 * (1 + eigenvalues[0])))
    if n_lda >= n_components:
        return axes[:n_components]
    lda, rest = axes[:n_lda], axes[n_lda:]
    departures = np.eye(len(rest)) - rest @ classes.covariances @ rest.T
    save_matrix = np.tensordot(classes.priors, departures @ departures, axes=1)
    if preference is not None:
        own = rest @ preference @ rest.T
        save_matrix += 1e-3 * np.trace(save_matrix) / np.trace(own) * own
    save = leading_vectors(save_matrix)[1] @ rest
    return np.vstack([lda, save])[:n_components]


def save_axes(classes: Moments, n_components: int) -> FloatArray:
    """Sliced average variance: leading eigenvectors of sum_k pi_k (I - Sigma_k)^2, rows sphered.

    Rows are sphered by the total covariance here (Section 2 of the paper), so axes are mapped
    back to whitened coordinates and are not orthogonal there.
    """
    eigenvalues, vectors = leading_vectors(classes.total)
    sphering = (vectors.T / np.sqrt(eigenvalues)) @ vectors
    departures = np.eye(len(sphering)) - sphering @ classes.covariances @ sphering
    save_matrix = np.tensordot(classes.priors, departures @ departures, axes=1)
    return leading_vectors(save_matrix)[1][:n_components] @ sphering


def pca_axes(coordinates: Coordinates, n_components: int) -> FloatArray:
    """Principal components of standardized columns; the basis is sorted by variance."""
    return coordinates.unwhitener.T[:n_components]


def paper_axes(
    coordinates: Coordinates,
    classes: Moments,
    n_components: int,
    total_weight: float = 1e-3,
    start_ridge: float = 1e-6,
) -> FloatArray:
    """Leading eigenvectors of (Sigma_W + start_ridge I)^-1 Sigma_B + total_weight Sigma.

    The paper's equation for its first guess, on standardized columns; `total_weight` is its
    epsilon. The matrix is not symmetric.
    """
    back = coordinates.unwhitener  # whitened to standardized coordinates
    within, between = back.T @ back, back.T @ classes.between @ back
    total = back.T @ classes.total @ back
    ridged = within + start_ridge * np.trace(within) / len(within) * np.eye(len(within))
    matrix = linalg.solve(ridged, between, assume_a="pos") + total_weight * total
    eigenvalues, vectors = linalg.eig(matrix)
    leading = np.argsort(-eigenvalues.real, kind="stable")[:n_components]
    return vectors.real[:, leading].T @ coordinates.unwhitener.T


def random_axes(rank: int, n_components: int, rng: np.random.RandomState) -> FloatArray:
    """Orthonormal directions drawn at random, (n_components, R)."""
    orthonormal: FloatArray = np.linalg.qr(rng.normal(size=(rank, n_components)))[0]
    return orthonormal.T


def unit_rows(directions: FloatArray) -> FloatArray:
    """Rows scaled to length one: pooled within-class variance one."""
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)
