"""Scores standardized for every Gaussian by one matrix product, for graphs."""

from dataclasses import dataclass

import numpy as np

from opgd.core.fitted import FittedProjection
from opgd.core.types import FloatArray


@dataclass(frozen=True)
class Standardization:
    """Scores of a sample, standardized for every Gaussian: z = components @ x, y = z @ matrix - b.

    The scores are in units of the smallest standard deviations.
    """

    components: FloatArray  # (q, p)
    matrix: FloatArray  # (q, C q)
    offsets: FloatArray  # b, (C q,)

    @classmethod
    def make(cls, projection: FittedProjection) -> "Standardization":
        """Return the standardization of the scores of centered samples."""
        gaussians = projection.gaussians
        factors = projection.form.factors(gaussians)
        n_gaussians, q = gaussians.means.shape
        if factors.ndim == 2:
            factors = factors[:, :, None] * np.eye(q)
        units = np.abs(factors).max(axis=(0, 1))
        return cls(
            projection.components * units[:, None],
            (factors / units).transpose(2, 0, 1).reshape(q, n_gaussians * q),
            np.einsum("cjl,cl->cj", factors, gaussians.means).ravel(),
        )
