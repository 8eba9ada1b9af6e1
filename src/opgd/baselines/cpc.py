"""Discriminant analysis on common principal components."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from opgd._base.projection import ProjectionMixin
from opgd._utils.validation import check_integer, check_positive
from opgd._utils.warnings import warn_not_converged
from opgd.baselines._base import (
    Baseline,
    Solution,
    Task,
    build_problem,
    count_components,
    map_to_features,
)
from opgd.core.coordinates import column_coordinates
from opgd.core.regularization import whiten_classes
from opgd.core.solvers import maximize
from opgd.core.starts import fix_signs, leading_vectors
from opgd.core.types import FloatArray

ITERATIONS_PER_START = 40
LEAST_CURVATURE = 1e-2
"""Lower bound of the curvature, which is zero for components of equal variances."""


@dataclass(frozen=True)
class CommonAxesLikelihood:
    """Flury's log-likelihood of common orthonormal components D (rows).

        value = -1/2 sum_k pi_k sum_j log (d_j Sigma_k d_j'),   D = Q(A) D_0,  Q = (I - A)(I + A)^-1

    A is the skew-symmetric part of an unconstrained matrix, scaled by a step for each pair of
    components. The Cayley transform Q parametrizes the rotations near D_0 without constraints; the
    steps precondition the problem. At components that diagonalize all covariances, the curvature of
    the rotation of components j and l is sum_k pi_k (s_kj - s_kl)^2 / (s_kj s_kl), where s are the
    variances.
    """

    covariances: FloatArray  # (K, R, R)
    priors: FloatArray  # (K,)
    start: FloatArray  # (R, R), D_0

    @cached_property
    def steps(self) -> FloatArray:
        """Step of each pair of components, (R, R), symmetric."""
        s = np.einsum("jr,krs,js->kj", self.start, self.covariances, self.start, optimize=True)
        ratios = s[:, :, None] / s[:, None, :]  # (K, R, R)
        curvature = np.tensordot(self.priors, ratios + ratios.transpose(0, 2, 1) - 2, axes=1)
        steps: FloatArray = 1.0 / np.sqrt(np.maximum(curvature, LEAST_CURVATURE))
        return steps

    def axes(self, free: FloatArray) -> FloatArray:
        """Return D, (R, R), with orthonormal rows."""
        return self._rotation(free)[0] @ self.start

    def _rotation(self, free: FloatArray) -> tuple[FloatArray, FloatArray]:
        skew = 0.5 * (free - free.T) * self.steps
        identity = np.eye(len(skew))
        inverse = np.asarray(np.linalg.inv(identity + skew), dtype=np.float64)
        return (identity - skew) @ inverse, inverse

    def value(self, free: FloatArray) -> float:
        """Return the mean log-likelihood, up to a constant."""
        return self.value_and_gradient(free)[0]

    def value_and_gradient(self, free: FloatArray) -> tuple[float, FloatArray]:
        """Return the value, and its gradient with respect to the unconstrained matrix, (R, R)."""
        rotation, inverse = self._rotation(free)
        axes = rotation @ self.start
        products = axes @ self.covariances  # (K, R, R)
        variances = np.einsum("kjr,jr->kj", products, axes)
        value = -0.5 * float(self.priors @ np.log(variances).sum(axis=1))
        by_axes = -np.einsum("k,kjr->jr", self.priors, products / variances[:, :, None])
        # dQ = -(I + Q) dA (I + A)^-1
        slope = -(np.eye(len(rotation)) + rotation).T @ by_axes @ self.start.T @ inverse.T
        return value, 0.5 * (slope - slope.T) * self.steps


def fit_common_components(
    covariances: FloatArray, priors: FloatArray, *, max_iter: int, tol: float
) -> tuple[FloatArray, int, bool]:
    """Return common components (R, R), the number of iterations, and whether they converged.

    The search starts from the principal components of the pooled covariance, and is restarted after
    every ITERATIONS_PER_START iterations with steps computed at the current components.
    """
    axes = leading_vectors(np.tensordot(priors, covariances, axes=1))[1]
    n_iter, converged = 0, max_iter == 0
    while n_iter < max_iter and not converged:
        likelihood = CommonAxesLikelihood(covariances, priors, axes)
        budget = min(ITERATIONS_PER_START, max_iter - n_iter)
        result = maximize(likelihood, np.zeros_like(axes), max_iter=budget, tol=tol)
        axes = np.linalg.qr(likelihood.axes(result.directions).T)[0].T
        n_iter, converged = n_iter + max(result.n_iter, 1), result.converged
    return axes, n_iter, converged


class CommonPrincipalComponents(ProjectionMixin, Baseline):
    r"""Discriminant analysis with common principal components (CPCDA).

    In Flury's model all class covariances have the same eigenvectors,

    .. math::

        \Sigma_k = D^\top \operatorname{diag}(s_{k1}, \dots, s_{kp}) D,

    with one orthonormal :math:`D`, which is estimated by maximum likelihood. Classes are Gaussians
    with their own variances on the first components. Singular class covariances are regularized
    with the pooled covariance. Like principal components, the model depends on the units of the
    features; standardize features of different units.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, from 1 to n_features. None means all.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.
    max_iter : int, default=500
        Maximum number of iterations of the search for the common components.
    tol : float, default=1e-6
        The search has converged when no entry of the gradient of the mean log-likelihood exceeds
        `tol` in absolute value.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The common principal components, orthonormal, by descending pooled variance.
    common_variances_ : ndarray of shape (n_classes, n_components_)
        Variances of the classes on the components.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the search reached `tol`.
    covariances_ : ndarray of shape (n_classes, n_features, n_features)
        Class covariances, without the constraint of common components.
    classes_, priors_, means_, gaussian_classes_
        As in `OPGDClassifier`.
    projected_means_, projected_variances_, n_components_
        As in `OPGDClassifier`.
    n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Flury, "Common Principal Components in k Groups", JASA 1984.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd.baselines import CommonPrincipalComponents
    >>> X, y = load_iris(return_X_y=True)
    >>> CommonPrincipalComponents(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        priors: Any = None,
        max_iter: int = 500,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)

    def _solve(self, task: Task) -> Solution:
        frame = task.prepared.frame
        whitening = whiten_classes(frame, task.prepared.classes)
        regular, borrowed = whitening.regularize(task.prepared.classes)
        coordinates = column_coordinates(frame)
        to_columns = whitening.coordinates.unwhitener @ coordinates.whitener
        moments = map_to_features(regular, to_columns)
        n_components, notes = count_components(self.n_components, frame, coordinates.rank)
        axes, n_iter, converged = fit_common_components(
            moments.covariances, moments.priors, max_iter=self.max_iter, tol=self.tol
        )
        if not converged:
            warn_not_converged("The common components have", self.max_iter)
        pooled = np.einsum("jr,rs,js->j", axes, moments.within, axes)
        directions = axes[np.argsort(-pooled, kind="stable")[:n_components]]
        directions = fix_signs(coordinates, directions)
        problem = build_problem(task, coordinates, moments, "diag", borrowed, whitening.borrowed)
        attributes = {
            "common_variances_": problem.objective.gaussians(directions).variances,
            "n_iter_": n_iter,
            "converged_": converged,
        }
        return Solution(problem, directions, attributes, notes)
