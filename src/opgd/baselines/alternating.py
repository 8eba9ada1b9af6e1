"""Alternating components: a step of the axes with the Gaussians held, then the Gaussians again."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from opgd._base.projection import AxesMixin
from opgd._fit.normal_form import order_result
from opgd._fit.problem import Problem, default_n_components, pose
from opgd._fit.subclasses import check_n_subclasses
from opgd._utils.validation import check_integer, check_positive
from opgd._utils.warnings import warn_caller
from opgd.baselines._base import Baseline, Solution, Task, count_components
from opgd.core.gaussians import DiagonalForm, ProjectedGaussians
from opgd.core.solvers import CONVERGED, MAX_ITER, SolverResult, maximize
from opgd.core.starts import lda_axes, unit_rows
from opgd.core.types import FloatArray


@dataclass(frozen=True)
class HeldForm(DiagonalForm):
    """Gaussians that stay what they are when the axes move."""

    held: ProjectedGaussians

    def theta(self, gaussians: ProjectedGaussians) -> FloatArray:  # noqa: ARG002
        return super().theta(self.held)

    def moment_slopes(
        self,
        statistics: FloatArray,  # noqa: ARG002
        gaussians: ProjectedGaussians,
    ) -> tuple[FloatArray, FloatArray]:
        """None: this is what the method leaves out of the gradient."""
        return np.zeros_like(gaussians.means), np.zeros_like(gaussians.variances)


def alternate(
    problem: Problem, start: FloatArray, *, n_steps: int, max_iter: int, tol: float
) -> SolverResult:
    """Steps and refits in turn, until the likelihood after a refit stays as it is.

    The values in the history are those after the refits: OPGD's objective.
    """
    objective = problem.objective
    directions, history, n_evaluations = start, [objective.value(start)], 0
    for _ in range(max_iter):
        held = replace(objective, form=HeldForm(objective.gaussians(directions)))
        step = maximize(held, directions, max_iter=n_steps, tol=tol)
        # lengths matter to Gaussians that are held, and to nothing afterwards
        directions = unit_rows(step.directions)
        history.append(objective.value(directions))
        n_evaluations += step.n_evaluations
        if abs(history[-1] - history[-2]) < tol:
            break
    settled = max_iter == 0 or abs(history[-1] - history[-2]) < tol
    message = CONVERGED if settled else MAX_ITER
    n_iter = len(history) - 1
    return SolverResult(directions, history[-1], n_iter, n_evaluations, settled, history, message)


class AlternatingComponents(AxesMixin, Baseline):
    """Axes for the classification likelihood, with a gradient that leaves out the Gaussians.

    The objective is OPGD's. In turn, the axes take a gradient step for

        sum_i log [ pi_{y_i} N(V'x_i; m_{y_i}, S_{y_i}) / sum_k pi_k N(V'x_i; m_k, S_k) ]

    with projected means m and variances S held where they are, and then these are estimated again
    on the new axes, by maximum likelihood. The step does not see that Gaussians will follow, and
    the refit asks for another likelihood, so the two together can *lower* the objective; see
    `loss_curve_`. The method is here to show this. For results, use `OPGDClassifier`.

    Parameters
    ----------
    n_components : int, default=None
        Number of axes; None means ``min(n_features, max(2, n_classes - 1))``.
    n_subclasses : int, dict or "auto", default=1
        Gaussians per class, as in `OPGDClassifier`: a split by k-means, made once. (The reference
        runs EM on the axes; with one Gaussian per class there is no difference.)
    n_steps : int, default=1
        Steps (of L-BFGS, the first along the gradient) between refits.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of the rows.
    max_iter : int, default=100
        Most turns.
    tol : float, default=1e-6
        Ends when a turn changes the mean objective by less, up or down.

    Attributes
    ----------
    loss_curve_ : list of float
        Minus the mean objective at the start and after every refit. It may rise.
    n_iter_ : int
        Turns.
    converged_ : bool
        Whether the last one changed the objective by less than `tol`.
    components_, log_likelihood_, component_log_likelihoods_, component_shares_, n_evaluations_, \
classes_, priors_, means_, covariances_, projected_means_, projected_variances_, \
gaussian_classes_, n_components_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`; of the axes after the last turn, which need not be the best.

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
    >>> bool(model.loss_curve_[-1] > min(model.loss_curve_))  # it has been better
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
            unit_rows(lda_axes(problem.classes, n_components)),
            n_steps=self.n_steps,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        if not result.converged:
            warn_caller(
                f"The turns have not settled after max_iter={self.max_iter}. They may never do: "
                "see loss_curve_.",
                ConvergenceWarning,
            )
        return Solution(problem, *order_result(problem, result), notes)
