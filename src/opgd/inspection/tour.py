"""Rotation from the plane of two principal components to the plane of the first two axes.

Planes are spanned by coefficients on standardized columns. With orthonormal principal vectors F_a
and F_b of the two planes and the principal angles theta between them, the geodesic is

    F(t) = F_a sin((1 - t) theta) / sin(theta) + F_b sin(t theta) / sin(theta),

and the points at t are Z F(t) M(t), where Z are standardized rows, and M(t) rotates and scales
within the plane, from the principal components at t = 0 to the scores at t = 1. Z F_a and Z F_b are
the principal components and the scores times 2 x 2 matrices, so the points at any t are computed
from the two by 2 x 2 matrices.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.decomposition import PCA

from opgd.core.types import FloatArray

PARALLEL = 1e-6
"""Planes with a smaller angle are treated as parallel, to avoid division by its sine."""


@dataclass(frozen=True)
class Tour:
    """Parameters of the tour: tour.js draws pca @ A(t) + scores @ B(t), with A and B 2 x 2."""

    from_pca: FloatArray  # (2, 2), principal components to principal vectors
    from_scores: FloatArray  # (2, 2), centered scores to principal vectors
    angles: FloatArray  # (2,), principal angles between the planes, radians
    turns: FloatArray  # (2,), rotation within the plane at t = 0 and t = 1, radians
    stretch: FloatArray  # (2, 2), symmetric, at t = 1


def compute_principal_axes(standardized: FloatArray) -> FloatArray:
    """Compute coefficients of the first two principal components, (2, p), or (1, p)."""
    count = min(2, *standardized.shape)
    axes: FloatArray = PCA(count, random_state=0).fit(standardized).components_
    return axes


def make_tour(pca_axes: FloatArray, axes: FloatArray) -> tuple[Tour, FloatArray]:
    """Return the tour, and the principal axes with the signs that minimize the rotation, (2, p).

    Parameters
    ----------
    pca_axes : ndarray of shape (2, p), orthonormal
    axes : ndarray of shape (2, p)
        Standardized coefficients of two axes, in general not orthonormal.
    """
    basis, triangle = np.linalg.qr(axes.T)  # axes.T = basis @ triangle
    options = []
    for signs in ([1, 1], [1, -1], [-1, 1], [-1, -1]):
        signed = pca_axes * np.array(signs)[:, None]
        left, cosines, right = np.linalg.svd(signed @ basis)
        # pca @ left and (scores @ triangle^-1) @ right.T are along principal vectors
        turn, stretch = linalg.polar(right @ triangle)
        start = left.T
        if np.linalg.det(start) < 0:  # a pair of principal vectors can be reversed together
            start, turn, left, right = _reverse(start, turn, left, right)
        if (
            np.linalg.det(turn) < 0 and cosines[1] < PARALLEL
        ):  # orthogonal vectors can be reversed separately
            _, turn, _, right = _reverse(start, turn, left, right)
        if np.linalg.det(turn) < 0:
            continue  # a reflection, not a rotation
        begin, end = _get_angle(start), _get_angle(turn)
        end += 2 * np.pi * np.round((begin - end) / (2 * np.pi))
        tour = Tour(
            from_pca=left,
            from_scores=np.linalg.inv(triangle) @ right.T,
            angles=np.arccos(np.clip(cosines, 0.0, 1.0)),
            turns=np.array([begin, end]),
            stretch=stretch,
        )
        options.append((abs(end - begin), tour, signed))
    _, tour, signed = min(options, key=lambda option: option[0])
    return tour, signed


def _reverse(
    start: FloatArray, turn: FloatArray, left: FloatArray, right: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    flip = np.diag([1.0, -1.0])
    return flip @ start, flip @ turn, left @ flip, flip @ right


def _get_angle(rotation: FloatArray) -> float:
    return float(np.arctan2(rotation[0, 1], rotation[0, 0]))  # for row vectors


def to_plain_data(tour: Tour) -> dict[str, Any]:
    """Return a tour as plain lists for the report page."""
    return {name: np.asarray(value).tolist() for name, value in vars(tour).items()}
