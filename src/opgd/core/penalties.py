"""Penalties on the projection."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from opgd.core.types import FloatArray


class Penalty(Protocol):
    """A term that is added to the mean log posterior; it is negative."""

    def value_and_gradient(self, directions: FloatArray, /) -> tuple[float, FloatArray]:
        """Return the value and the gradient, (q, R), at directions (q, R)."""
        ...


@dataclass(frozen=True)
class Orthonormality:
    """Penalty -strength ||U M U' - I||^2 on components that are not orthonormal in the metric M.

    Section 5 of the paper has M = I in the space of the data and strength n for the sum over
    samples, which is strength 1 for the mean used here.
    """

    strength: float
    metric: FloatArray  # (R, R), symmetric

    def value_and_gradient(self, directions: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and the gradient, (q, R), at directions (q, R)."""
        products = directions @ self.metric
        departure = products @ directions.T - np.eye(len(directions))
        value = -self.strength * float(np.sum(departure**2))
        return value, -4.0 * self.strength * departure @ products
