"""Penalties on the projection."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from opgd.core.types import FloatArray


class Penalty(Protocol):
    """What the objective adds to the mean log posterior; a penalty is negative."""

    def value_and_gradient(self, directions: FloatArray, /) -> tuple[float, FloatArray]:
        """Return the value and the gradient, (q, R), at directions (q, R)."""
        ...


@dataclass(frozen=True)
class Orthonormality:
    """- strength ||U M U' - I||^2: components should be orthonormal in the metric M.

    The paper's Section 5 has M = I in the space of the data and strength n for the sum over rows,
    which is strength 1 for the mean used here.
    """

    strength: float
    metric: FloatArray  # (R, R), symmetric

    def value_and_gradient(self, directions: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient at directions (q, R)."""
        products = directions @ self.metric
        departure = products @ directions.T - np.eye(len(directions))
        value = -self.strength * float(np.sum(departure**2))
        return value, -4.0 * self.strength * departure @ products
