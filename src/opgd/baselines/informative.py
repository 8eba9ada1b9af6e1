"""Informative components: the classification likelihood with isotropic Gaussians."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opgd._base.projection import ProjectionMixin
from opgd._fit.problem import default_n_components, pose
from opgd._fit.subclasses import check_n_subclasses
from opgd._utils.validation import check_integer, check_positive
from opgd._utils.warnings import warn_not_converged
from opgd.baselines._base import Baseline, Solution, Task, count_components
from opgd.core.gaussians import DiagonalForm
from opgd.core.objective import Objective
from opgd.core.solvers import maximize
from opgd.core.starts import fix_signs, lda_axes
from opgd.core.types import FloatArray


@dataclass(frozen=True)
class IsotropicForm(DiagonalForm):
    """Form of Gaussians with one fixed variance on all components."""

    variance: float

    def project(self, directions: FloatArray, products: FloatArray) -> FloatArray:
        return np.full((len(products), len(directions)), self.variance)

    def slope_times(self, slopes: FloatArray, products: FloatArray) -> FloatArray:  # noqa: ARG002
        return np.zeros(products.shape[1:])


@dataclass(frozen=True)
class SpanLikelihood:
    """Objective of orthonormal components V, as a function of any vectors U = L V with their span.

    The isotropic model depends only on the span, so only the part of a step that leaves the span
    changes the objective:

        gradient by U = L^-T (gradient by V) (I - V'V)
    """

    objective: Objective

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


class InformativeComponents(ProjectionMixin, Baseline):
    r"""Informative components: classification likelihood with isotropic Gaussians.

    The components :math:`V` maximize the objective of `OPGDClassifier` with one fixed variance
    :math:`s` for all Gaussians and components,

    .. math::

        \sum_i \log \frac{\pi_{y_i} N(V^\top x_i; V^\top \mu_{y_i}, s I)}
                         {\sum_k \pi_k N(V^\top x_i; V^\top \mu_k, s I)},

    where :math:`V` is orthonormal in coordinates in which the pooled covariance is the identity (in
    the reference, in the original features). Classes may have several Gaussians, whose means are
    the k-means centers within the class. With all components and one Gaussian per class this is
    LDA.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, from 1 to n_features. None means
        ``min(n_features, max(2, n_classes - 1))``.
    n_subclasses : int, dict or "auto", default=1
        Number of Gaussians per class, as in `OPGDClassifier`.
    variance : float, default=1.0
        The variance :math:`s`, in units of the pooled variance.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.
    max_iter : int, default=500
        Maximum number of iterations. With 0 the initial (LDA) components are kept.
    tol : float, default=1e-6
        The search has converged when no entry of the gradient of the mean objective exceeds `tol`
        in absolute value.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The components, uncorrelated within classes and with pooled within-class variance 1. Within
        their span they are the LDA components, the most discriminating first.
    log_likelihood_ : float
        Maximized objective.
    loss_curve_ : list of float
        Negative mean objective before the search and after each iteration.
    n_iter_, n_evaluations_ : int
        Number of iterations and of evaluations of the objective.
    converged_ : bool
        Whether the search reached `tol`.
    projected_variances_ : ndarray of shape (n_gaussians, n_components_)
        `variance` in every entry.
    classes_, priors_, means_, covariances_, projected_means_, gaussian_classes_, n_components_
        As in `OPGDClassifier`.
    n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Peltonen & Kaski, "Discriminative Components of Data", IEEE Transactions on Neural Networks
    2005; Hofmeyr, Kamper & Melonas, Section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd.baselines import InformativeComponents
    >>> X, y = load_wine(return_X_y=True)
    >>> InformativeComponents(n_components=1).fit(X, y).transform(X).shape
    (178, 1)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_subclasses: Any = 1,
        variance: float = 1.0,
        priors: Any = None,
        max_iter: int = 500,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.n_subclasses = n_subclasses
        self.variance = variance
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        check_positive("variance", self.variance)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)

    def _solve(self, task: Task) -> Solution:
        problem = pose(
            task.prepared,
            task.priors,
            n_subclasses=check_n_subclasses(self.n_subclasses, task.classes),
            covariance_type="diag",
        )
        coordinates = problem.coordinates
        rank = coordinates.rank
        default = default_n_components(rank, len(task.classes))
        n_components, notes = count_components(self.n_components, problem.frame, rank, default)
        objective = replace(problem.objective, form=IsotropicForm(float(self.variance)))
        likelihood = SpanLikelihood(objective)
        start = lda_axes(problem.classes, n_components)
        result = maximize(likelihood, start, max_iter=self.max_iter, tol=self.tol)
        if not result.converged:
            warn_not_converged("The components have", self.max_iter)
        span = likelihood.axes(result.directions)[0]
        directions = lda_axes(problem.classes.mapped(span.T), n_components) @ span
        directions = fix_signs(coordinates, directions)
        # class covariances are not used, so none needs regularization
        problem = replace(problem, objective=objective, borrowed=np.zeros_like(problem.borrowed))
        attributes = {
            "log_likelihood_": float(result.value * objective.engine.total_weight),
            "n_iter_": max(result.n_iter, int(self.max_iter > 0)),
            "n_evaluations_": result.n_evaluations,
            "converged_": result.converged,
            "loss_curve_": [-value for value in result.history],
        }
        return Solution(problem, directions, attributes, notes)
