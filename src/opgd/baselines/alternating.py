"""Alternating updates of the components, with fixed Gaussians, and of the Gaussians."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from opgd._base.projection import ProjectionMixin
from opgd._fit.normal_form import order_result
from opgd._fit.problem import Problem, default_n_components, pose
from opgd._fit.subclasses import check_n_subclasses
from opgd._utils.validation import check_integer, check_positive
from opgd._utils.warnings import warn_caller
from opgd.baselines._base import Baseline, Solution, Task, count_components
from opgd.core.gaussians import DiagonalForm, ProjectedGaussians
from opgd.core.solvers import CONVERGED, MAX_ITER, SolverResult, maximize
from opgd.core.starts import lda_axes, normalize_rows
from opgd.core.types import FloatArray


@dataclass(frozen=True)
class HeldForm(DiagonalForm):
    """Form of fixed projected Gaussians, which do not depend on the components."""

    held: ProjectedGaussians

    def theta(self, gaussians: ProjectedGaussians) -> FloatArray:  # noqa: ARG002
        return super().theta(self.held)

    def moment_slopes(
        self,
        statistics: FloatArray,  # noqa: ARG002
        gaussians: ProjectedGaussians,
    ) -> tuple[FloatArray, FloatArray]:
        """Return zeros: the method omits this part of the gradient."""
        return np.zeros_like(gaussians.means), np.zeros_like(gaussians.variances)


def alternate(
    problem: Problem, start: FloatArray, *, n_steps: int, max_iter: int, tol: float
) -> SolverResult:
    """Alternate optimization steps and refits until the objective changes by less than `tol`.

    The history contains the objective of OPGD after each refit.
    """
    objective = problem.objective
    directions, history, n_evaluations = start, [objective.value(start)], 0
    for _ in range(max_iter):
        fixed_objective = replace(objective, form=HeldForm(objective.gaussians(directions)))
        step = maximize(fixed_objective, directions, max_iter=n_steps, tol=tol)
        # the length of directions matters only while the Gaussians are fixed
        directions = normalize_rows(step.directions)
        history.append(objective.value(directions))
        n_evaluations += step.n_evaluations
        if abs(history[-1] - history[-2]) < tol:
            break
    settled = max_iter == 0 or abs(history[-1] - history[-2]) < tol
    message = CONVERGED if settled else MAX_ITER
    n_iter = len(history) - 1
    return SolverResult(directions, history[-1], n_iter, n_evaluations, settled, history, message)


class AlternatingComponents(ProjectionMixin, Baseline):
    r"""Classification likelihood maximized by alternating between components and Gaussians.

    The objective is that of `OPGDClassifier`. Each iteration first takes a gradient step in the
    components :math:`V` for

    .. math::

        \sum_i \log \frac{\pi_{y_i} N(V^\top x_i; m_{y_i}, S_{y_i})}
                         {\sum_k \pi_k N(V^\top x_i; m_k, S_k)}

    with the projected means :math:`m_k` and variances :math:`S_k` held fixed, and then estimates
    these again by maximum likelihood on the new components. The gradient ignores that the Gaussians
    will change, and the second step maximizes a different likelihood, so an iteration can
    *decrease* the objective; see `loss_curve_`. The method is included to demonstrate this. For
    applications, use `OPGDClassifier`.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, from 1 to n_features. None means
        ``min(n_features, max(2, n_classes - 1))``.
    n_subclasses : int, dict or "auto", default=1
        Number of Gaussians per class, as in `OPGDClassifier`. Classes are split once, by k-means;
        the reference runs EM on the components, which is the same for one Gaussian per class.
    n_steps : int, default=1
        Number of optimization steps (L-BFGS, the first along the gradient) in each iteration.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-6
        The iterations stop when the mean objective changes by less than `tol`, up or down.

    Attributes
    ----------
    loss_curve_ : list of float
        Negative mean objective at the start and after each iteration. It may increase.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the last iteration changed the objective by less than `tol`.
    components_ : ndarray of shape (n_components_, n_features)
        The components after the last iteration, which need not be the best ones.
    log_likelihood_, component_log_likelihoods_, component_shares_, n_evaluations_
        As in `OPGDClassifier`.
    classes_, priors_, means_, covariances_, gaussian_classes_
        As in `OPGDClassifier`.
    projected_means_, projected_variances_, n_components_
        As in `OPGDClassifier`.
    n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Peltonen, Goldberger & Kaski, "Fast Semi-supervised Discriminative Component Analysis", IEEE
    Workshop on Machine Learning for Signal Processing 2007; Hofmeyr, Kamper & Melonas, Section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd.baselines import AlternatingComponents
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AlternatingComponents(n_components=2, n_steps=5).fit(X, y)
    >>> bool(model.loss_curve_[-1] > min(model.loss_curve_))  # an earlier iteration was better
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_subclasses: Any = 1,
        n_steps: int = 1,
        priors: Any = None,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.n_subclasses = n_subclasses
        self.n_steps = n_steps
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        check_integer("n_steps", self.n_steps, 1)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)

    def _solve(self, task: Task) -> Solution:
        problem = pose(
            task.prepared,
            task.priors,
            n_subclasses=check_n_subclasses(self.n_subclasses, task.classes),
            covariance_type="diag",
        )
        rank = problem.coordinates.rank
        default = default_n_components(rank, len(task.classes))
        n_components, notes = count_components(self.n_components, problem.frame, rank, default)
        result = alternate(
            problem,
            normalize_rows(lda_axes(problem.classes, n_components)),
            n_steps=self.n_steps,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        if not result.converged:
            warn_caller(
                f"The alternation has not converged after max_iter={self.max_iter} iterations. It "
                "may never converge; see loss_curve_.",
                ConvergenceWarning,
            )
        return Solution(problem, *order_result(problem, result), notes)
