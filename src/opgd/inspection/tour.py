"""Planes that the tour of a report shows: of axes, principal components and discriminants.

A plane is given by two rows of coefficients on standardized columns. The rotation between planes
is computed in the page, by `report/templates/tour.js`, because it can start from any plane.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.decomposition import PCA

from opgd.baselines import ReducedRankLDA
from opgd.core.types import FloatArray, IntArray

MAX_CONDITION = 1e10
MAX_AXES = 4
"""Planes of all pairs of this many axes are offered."""
MAX_ROWS = 20_000
"""Maximum number of rows from which discriminants are computed."""


@dataclass(frozen=True)
class Plane:
    """Two directions in the space of standardized columns."""

    name: str
    coefficients: FloatArray  # (2, p)

    @property
    def is_flat(self) -> bool:
        """Whether the directions are nearly parallel."""
        return bool(np.linalg.cond(self.coefficients) > MAX_CONDITION)


def compute_principal_axes(standardized: FloatArray) -> FloatArray:
    """Compute coefficients of the first two principal components, (2, p), or (1, p)."""
    count = min(2, *standardized.shape)
    with np.errstate(invalid="ignore"):  # of the variance of a single row, which is not used
        axes: FloatArray = PCA(count, random_state=0).fit(standardized).components_
    return axes


def list_planes(
    standardized: FloatArray, axes: FloatArray, pca_axes: FloatArray, codes: IntArray
) -> list[Plane]:
    """Return the planes of pairs of axes, of principal components and of linear discriminants.

    Parameters
    ----------
    standardized : ndarray of shape (n, p)
    axes : ndarray of shape (q, p)
        Coefficients of the axes of the model on standardized columns.
    pca_axes : ndarray of shape (2, p) or (1, p)
    codes : ndarray of shape (n,)
        Groups of the rows, -1 without a group.
    """
    planes = [
        Plane(f"axes {i + 1} and {j + 1}", axes[[i, j]])
        for i, j in combinations(range(min(len(axes), MAX_AXES)), 2)
    ]
    if len(axes) == 1:
        planes.append(Plane("axis 1 and principal component 1", np.vstack([axes[0], pca_axes[0]])))
    if len(pca_axes) == 2:
        planes.append(Plane("principal components 1 and 2", pca_axes))
    discriminants = _compute_discriminants(standardized, codes)
    if discriminants is not None:
        planes.append(Plane("linear discriminants 1 and 2", discriminants))
    return [plane for plane in planes if not plane.is_flat]


def _compute_discriminants(standardized: FloatArray, codes: IntArray) -> FloatArray | None:
    """Return the first two linear discriminants, None with fewer than three groups."""
    labeled = np.flatnonzero(codes >= 0)
    labeled = labeled[:: max(1, len(labeled) // MAX_ROWS)]
    n_groups = len(np.unique(codes[labeled]))
    if n_groups < 3 or standardized.shape[1] < 2 or len(labeled) <= n_groups:
        return None
    lda = ReducedRankLDA(2).fit(standardized[labeled], codes[labeled])
    coefficients: FloatArray = lda.components_
    return coefficients if len(coefficients) == 2 else None
