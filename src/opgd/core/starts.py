"""Initial components of the projection, in whitened coordinates (Sigma_W = I).

The objective has many local optima, so the result depends on the start; Section 3.2 of the paper
argues for one good start instead of many random ones.
"""

import numpy as np
from scipy import linalg

from opgd.core.coordinates import Coordinates
from opgd.core.moments import Moments
from opgd.core.types import FloatArray


def leading_vectors(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of a symmetric matrix, largest first, and eigenvectors as rows."""
    eigenvalues, vectors = linalg.eigh(matrix)
    return eigenvalues[::-1], vectors[:, ::-1].T


def lda_axes(
    classes: Moments, n_components: int, preference: FloatArray | None = None
) -> FloatArray:
    """Return the LDA axes, then SAVE axes of their complement, (n_components, R).

    The LDA axes (at most K-1) depend on differences of means only, and Sigma_W^-1 Sigma_B vanishes
    on their complement. They are followed by the directions of the complement along which class
    variances differ most: the leading eigenvectors of sum_k pi_k (I - Sigma_k)^2. A matrix
    `preference` (R, R), added with a small weight, decides where these eigenvalues are equal, as
    with few samples.
    """
    eigenvalues, axes = leading_vectors(classes.between)
    n_lda = int(np.sum(eigenvalues > 1e-10 * (1 + eigenvalues[0])))
    if n_lda >= n_components:
        return axes[:n_components]
    lda, rest = axes[:n_lda], axes[n_lda:]
    departures = np.eye(len(rest)) - rest @ classes.covariances @ rest.T
    save_matrix = np.tensordot(classes.priors, departures @ departures, axes=1)
    if preference is not None:
        tie_breaker = rest @ preference @ rest.T
        save_matrix += 1e-3 * np.trace(save_matrix) / np.trace(tie_breaker) * tie_breaker
    save = leading_vectors(save_matrix)[1] @ rest
    return np.vstack([lda, save])[:n_components]


def save_axes(classes: Moments, n_components: int) -> FloatArray:
    """Return the axes of sliced average variance estimation (SAVE), (n_components, R).

    They are the leading eigenvectors of sum_k pi_k (I - Sigma_k)^2 for samples sphered by the total
    covariance (Section 2 of the paper), mapped back to whitened coordinates, where they are not
    orthogonal.
    """
    eigenvalues, vectors = leading_vectors(classes.total)
    sphering = (vectors.T / np.sqrt(eigenvalues)) @ vectors
    departures = np.eye(len(sphering)) - sphering @ classes.covariances @ sphering
    save_matrix = np.tensordot(classes.priors, departures @ departures, axes=1)
    return leading_vectors(save_matrix)[1][:n_components] @ sphering


def pca_axes(coordinates: Coordinates, n_components: int) -> FloatArray:
    """Return the principal components of standardized features, (n_components, R).

    The basis of the coordinates is sorted by variance, so these are its first vectors.
    """
    return coordinates.unwhitener.T[:n_components]


def paper_axes(
    coordinates: Coordinates,
    classes: Moments,
    n_components: int,
    total_weight: float = 1e-3,
    start_ridge: float = 1e-6,
) -> FloatArray:
    """Return the leading eigenvectors of (Sigma_W + start_ridge I)^-1 Sigma_B + total_weight Sigma.

    This is the paper's initialization, on standardized features; `total_weight` is its epsilon.
    The matrix is not symmetric.
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
    """Draw random orthonormal directions, (n_components, R)."""
    orthonormal: FloatArray = np.linalg.qr(rng.normal(size=(rank, n_components)))[0]
    return orthonormal.T


def spread_axes(
    coordinates: Coordinates, classes: Moments, n_components: int, rng: np.random.RandomState
) -> FloatArray:
    """Draw random directions with the total covariance of the samples, (n_components, R).

    Directions along which the class means differ are more probable than others. The draws refer to
    a basis that does not depend on the units or the order of the features: eigenvectors of
    Sigma_B + sum_k pi_k (I - Sigma_k)^2, with fixed signs.
    """
    departures = np.eye(coordinates.rank) - classes.covariances
    matrix = classes.between + np.tensordot(classes.priors, departures @ departures, axes=1)
    basis = fix_signs(coordinates, leading_vectors(matrix)[1])
    spread = np.sqrt(np.einsum("ij,jk,ik->i", basis, classes.total, basis))
    return rng.normal(size=(n_components, len(spread))) * spread @ basis


def fix_signs(coordinates: Coordinates, directions: FloatArray) -> FloatArray:
    """Flip directions so that the largest loading on standardized features is positive."""
    loadings = directions @ coordinates.whitener.T @ coordinates.basis.T
    largest = loadings[np.arange(len(loadings)), np.argmax(np.abs(loadings), axis=1)]
    return directions * np.where(largest < 0, -1.0, 1.0)[:, None]


def normalize_rows(directions: FloatArray) -> FloatArray:
    """Scale directions to length one, that is, to pooled within-class variance one."""
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)
