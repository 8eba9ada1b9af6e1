"""Discriminant analysis on common principal components."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from opgd._base.projection import ProjectionMixin
from opgd._fit.units import map_to_features
from opgd._utils.validation import check_integer, check_positive
from opgd._utils.warnings import warn_not_converged
from opgd.baselines._base import (
    Baseline,
    Solution,
    Task,
    build_problem,
    count_components,
)
from opgd.core.coordinates import column_coordinates
from opgd.core.regularization import whiten_classes
from opgd.core.solvers import SolverResult, maximize
from opgd.core.starts import fix_signs, leading_vectors
from opgd.core.types import FloatArray

ITERATIONS_PER_START = 40
MAX_CLASS_STARTS = 3
LEAST_GAIN = 1e-4
"""Difference of mean log-likelihoods by which a later start has to be better than earlier ones."""
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
        with np.errstate(over="ignore"):  # infinite curvature, and a step of 0
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


def initial_axes(covariances: FloatArray, priors: FloatArray) -> list[FloatArray]:
    """Return initial components (R, R): of the pooled covariance first, then of others.

    The likelihood has local maxima. The others are the features themselves, and the principal
    components of the largest classes and of the mean of the matrix logarithms.
    """
    values, vectors = np.linalg.eigh(covariances)  # vectors in columns
    values = np.maximum(values, np.finfo(np.float64).eps * values[:, -1:])  # rounding errors
    logs = (vectors * np.log(values)[:, None]) @ vectors.transpose(0, 2, 1)
    largest = np.argsort(-priors, kind="stable")[:MAX_CLASS_STARTS]
    means = [np.tensordot(priors, matrices, axes=1) for matrices in (covariances, logs)]
    axes = [leading_vectors(matrix)[1] for matrix in [*means, *covariances[largest]]]
    return [*axes, np.eye(covariances.shape[1])]


def fit_common_components(
    covariances: FloatArray, priors: FloatArray, *, n_init: int, max_iter: int, tol: float
) -> tuple[FloatArray, int, bool]:
    """Return common components (R, R), the number of iterations, and whether they converged.

    Searches of ITERATIONS_PER_START iterations start from `n_init` initial components, and the best
    is continued. It is restarted after every ITERATIONS_PER_START iterations with steps computed at
    the current components.
    """

    def climb(axes: FloatArray, budget: int) -> tuple[FloatArray, SolverResult]:
        likelihood = CommonAxesLikelihood(covariances, priors, axes)
        result = maximize(likelihood, np.zeros_like(axes), max_iter=budget, tol=tol)
        return np.linalg.qr(likelihood.axes(result.directions).T)[0].T, result

    starts = initial_axes(covariances, priors)[:n_init]
    if max_iter == 0:
        return starts[0], 0, True
    budget = min(ITERATIONS_PER_START, max_iter)
    axes, result = climb(starts[0], budget)
    for start in starts[1:]:
        other_axes, other = climb(start, budget)
        if other.value > result.value + LEAST_GAIN:
            axes, result = other_axes, other
    n_iter = max(result.n_iter, 1)
    while n_iter < max_iter and not result.converged:
        axes, result = climb(axes, min(ITERATIONS_PER_START, max_iter - n_iter))
        n_iter += max(result.n_iter, 1)
    return axes, n_iter, result.converged


class CommonPrincipalComponents(ProjectionMixin, Baseline):
    r"""Discriminant analysis with common principal components (CPCDA).

    In Flury's model all class covariances have the same eigenvectors,

    .. math::

        \Sigma_k = D^\top \operatorname{diag}(s_{k1}, \dots, s_{kp}) D,

    with one orthonormal :math:`D`, which is estimated by maximum likelihood: not by the algorithm
    of Flury and Gautschi, which rotates pairs of components, but by gradients for all rotations.
    The likelihood has local maxima, so the search starts from several :math:`D` and keeps the best.
    It is the likelihood of the samples, in which the covariance of class :math:`k` has the weight
    :math:`n_k`; Flury's is that of the unbiased class covariances, with the weight
    :math:`n_k - 1`. Flury's model has no order of the components, since the order of the variances
    may differ between classes; here they are in the order of their pooled variance.

    Classes are Gaussians with their own variances on the first components. Singular class
    covariances are regularized with the pooled covariance. Like principal components, the model
    depends on the units of the features; standardize features of different units.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, from 1 to n_features. None means all.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.
    n_init : int, default=6
        Number of starts, at most 6. They are the principal components of the pooled covariance (the
        only start in opgd 0.1.0), of the mean of the logarithms of the class covariances and of the
        three largest classes, and the features themselves.
    max_iter : int, default=500
        Maximum number of iterations of the search for the common components, not counting the
        first 40 of searches from other starts.
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
    Flury, "Common Principal Components in k Groups", JASA 1984; Flury & Gautschi, "An Algorithm for
    Simultaneous Orthogonal Transformation of Several Positive Definite Symmetric Matrices to Nearly
    Diagonal Form", SIAM Journal on Scientific and Statistical Computing 1986; Hofmeyr, Kamper &
    Melonas, Section 4.

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
        n_init: int = 6,
        max_iter: int = 500,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.priors = priors
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        check_integer("n_init", self.n_init, 1)
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
            moments.covariances,
            moments.priors,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
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
