"""Changes of variables that make the curvature of an objective nearly the same in all directions.

With H the negative Hessian at a point, a search in the variables Z with U = H^(-1/2) Z needs few
iterations, because the Hessian by Z is the identity. H is never formed: Lanczos' method gives its
action on a subspace from products with vectors, and each product is a difference of two gradients,
on a subsample if there are many samples.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from opgd.core.solvers import Smooth
from opgd.core.types import FloatArray

DIFFERENCE = 1e-6
"""Length of the step of a difference of gradients, as a fraction of the length of the point."""
LEAST_CURVATURE = 0.02
"""Curvatures below this fraction of the largest one, and negative ones, are not reliable."""
SIMILAR = 0.25
"""Largest relative difference of the values on a subsample and on all samples."""
RESIDUAL = 1e-8
"""Relative length below which a residual consists of errors of the differences."""


@dataclass(frozen=True)
class Scaling:
    """The symmetric, positive definite map `rest` * I + sum_j (factors[j] - rest) v_j v_j'."""

    vectors: FloatArray  # (k, d), orthonormal
    factors: FloatArray  # (k,)
    rest: float

    def apply(self, flat: FloatArray) -> FloatArray:
        """Return the image of a vector (d,)."""
        inside = (self.factors - self.rest) * (self.vectors @ flat)
        image: FloatArray = self.rest * flat + inside @ self.vectors
        return image

    def times(self, scale: float) -> "Scaling":
        """Return the map multiplied by a positive number."""
        return Scaling(self.vectors, scale * self.factors, scale * self.rest)


def estimate_scaling(
    objective: Smooth, n_products: int, at: FloatArray, value: float, gradient: FloatArray
) -> tuple[Scaling | None, int]:
    """Approximate the inverse square root of the negative Hessian, on a subsample.

    Returns None if the value on the subsample differs much from that on all samples: then its
    curvature does so too. Also returns the number of evaluations.

    Parameters
    ----------
    objective : the objective on a subsample
    n_products : maximum number of Hessian-vector products; each costs one evaluation
    at : point of shape (q, R)
    value, gradient : those of the objective on all samples; the gradient is the initial vector, so
        that the first step of a search is that of Newton's method with conjugate gradients
    """
    sample_value, sample_gradient = objective.value_and_gradient(at)
    if not abs(sample_value - value) <= SIMILAR * abs(value):  # also if it is not a number
        return None, 1
    step = DIFFERENCE * float(np.linalg.norm(at))

    def hessian_times(flat: FloatArray) -> FloatArray:
        ahead = objective.value_and_gradient(at + step * flat.reshape(at.shape))[1]
        return (ahead - sample_gradient).ravel() / step

    basis, products = span_krylov_space(hessian_times, gradient.ravel(), n_products)
    matrix = basis @ products.T
    curvatures, turn = np.linalg.eigh(-0.5 * (matrix + matrix.T))
    sizes = np.abs(curvatures)
    if not 0 < sizes.max() < np.inf:
        return None, 1 + len(basis)
    sizes = np.maximum(sizes, LEAST_CURVATURE * sizes.max())
    # directions outside the subspace: the geometric mean of the curvatures inside
    rest = float(np.exp(-0.5 * np.log(sizes).mean()))
    return Scaling(turn.T @ basis, 1.0 / np.sqrt(sizes), rest), 1 + len(basis)


def span_krylov_space(
    multiply: Callable[[FloatArray], FloatArray], first: FloatArray, most: int
) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis (k, d) of first, H first, H^2 first, ..., and its products.

    The dimension k is `most`, or smaller if the space is.
    """
    basis = np.empty((min(most, len(first)), len(first)))
    products = np.empty_like(basis)
    residual = first
    for k in range(len(basis)):
        basis[k] = residual / np.linalg.norm(residual)
        products[k] = residual = multiply(basis[k])
        for _ in range(2):  # once leaves rounding errors
            residual = residual - (basis[: k + 1] @ residual) @ basis[: k + 1]
        if np.linalg.norm(residual) <= RESIDUAL * np.linalg.norm(products[k]):
            return basis[: k + 1], products[: k + 1]
    return basis, products
