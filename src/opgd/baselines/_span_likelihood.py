"""Objectives that depend only on the span of the components."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from opgd.core.types import FloatArray


class ComponentObjective(Protocol):
    """Function of orthonormal directions (q, R), with its gradient."""

    def value(self, directions: FloatArray) -> float: ...

    def value_and_gradient(self, directions: FloatArray) -> tuple[float, FloatArray]: ...


@dataclass(frozen=True)
class SpanLikelihood:
    """Objective of orthonormal components V, as a function of any vectors U = L V with their span.

    The isotropic model depends only on the span, so only the part of a step that leaves the span
    changes the objective:

        gradient by U = L^-T (gradient by V) (I - V'V)
    """

    objective: ComponentObjective

    def axes(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return V and L."""
        basis, factor = np.linalg.qr(at.T)
        return basis.T, factor.T

    def value(self, at: FloatArray) -> float:
        return self.objective.value(self.axes(at)[0])

    def value_and_gradient(self, at: FloatArray) -> tuple[float, FloatArray]:
        axes, factor = self.axes(at)
        value, gradient = self.objective.value_and_gradient(axes)
        leaving = gradient - gradient @ axes.T @ axes
        return value, np.asarray(np.linalg.solve(factor.T, leaving), dtype=np.float64)
