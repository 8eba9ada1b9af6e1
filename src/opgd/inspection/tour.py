"""The way from the plane of principal components to the plane of the first two axes.

Planes are spanned by coefficients on standardized columns. With orthonormal principal vectors F_a
and F_b of the two planes and the angles theta between them, the shortest way is

    F(t) = F_a sin((1 - t) theta) / sin(theta) + F_b sin(t theta) / sin(theta),

and the picture at t is Z F(t) M(t), where Z are standardized rows, and M(t) turns and stretches
inside the plane: from the principal components themselves at 0 to the scores at 1. Since Z F_a and
Z F_b are the principal components and the scores up to 2 x 2 matrices, so is all of the way.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.decomposition import PCA

from opgd.core.types import FloatArray

PARALLEL = 1e-6
"""Angles below this are none: sines cannot be divided by."""


@dataclass(frozen=True)
class Tour:
    """Picture at t: pca @ A(t) + scores @ B(t), by 2 x 2 matrices that tour.js makes of these."""

    from_pca: FloatArray  # (2, 2), principal components to principal vectors
    from_scores: FloatArray  # (2, 2), centered scores to principal vectors
    angles: FloatArray  # (2,), between the planes, radians
    turns: FloatArray  # (2,), inside the plane, at 0 and at 1
    stretch: FloatArray  # (2, 2), symmetric; at 1


def compute_principal_axes(standardized: FloatArray) -> FloatArray:
    """Compute coefficients of the first two principal components, (2, p), or of a single one."""
    count = min(2, *standardized.shape)
    axes: FloatArray = PCA(count, random_state=0).fit(standardized).components_
    return axes


def make_tour(pca_axes: FloatArray, axes: FloatArray) -> tuple[Tour, FloatArray]:
    """Return the tour, and principal axes with the signs that need the least turning, (2, p).

    Parameters
    ----------
    pca_axes : ndarray of shape (2, p), orthonormal
    axes : ndarray of shape (2, p)
        Standardized coefficients of two axes, in general neither orthogonal nor of length one.
    """
    basis, triangle = np.linalg.qr(axes.T)  # axes.T = basis @ triangle
    options = []
    for signs in ([1, 1], [1, -1], [-1, 1], [-1, -1]):
        signed = pca_axes * np.array(signs)[:, None]
        left, cosines, right = np.linalg.svd(signed @ basis)
        # pca @ left and (scores @ triangle^-1) @ right.T are along principal vectors
        turn, stretch = linalg.polar(right @ triangle)
        start = left.T
        if np.linalg.det(start) < 0:  # both vectors of a pair may be reversed
            start, turn, left, right = _reverse(start, turn, left, right)
        if np.linalg.det(turn) < 0 and cosines[1] < PARALLEL:  # at right angles, also one alone
            _, turn, _, right = _reverse(start, turn, left, right)
        if np.linalg.det(turn) < 0:
            continue  # no rotation leads from one to the other
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
    return float(np.arctan2(rotation[0, 1], rotation[0, 0]))  # row vectors are turned


def to_plain_data(tour: Tour) -> dict[str, Any]:
    """Return a tour as plain lists, for the page."""
    return {name: np.asarray(value).tolist() for name, value in vars(tour).items()}
