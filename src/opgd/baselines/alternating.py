"""Alternating updates of the components, with fixed Gaussians, and of the Gaussians."""

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from opgd._base.projection import ProjectionMixin
from opgd._fit.normal_form import order_result
from opgd._fit.problem import Prepared, Problem, default_n_components, frame_samples, pose
from opgd._fit.self_training import estimate_class_moments
from opgd._fit.subclasses import check_n_subclasses
from opgd._utils.labels import encode_partly_labeled
from opgd._utils.validation import check_integer, check_positive, check_sample_weight
from opgd._utils.warnings import warn_caller
from opgd.baselines._base import Baseline, Solution, Task, count_components
from opgd.baselines._subspace_mixture import SubspaceMixture
from opgd.core.engines import Engine
from opgd.core.gaussians import ProjectedGaussians
from opgd.core.solvers import CONVERGED, MAX_ITER, SolverResult, maximize
from opgd.core.starts import lda_axes, normalize_rows
from opgd.core.targets import Mixed
from opgd.core.types import AnyArray, FloatArray, IntArray


def alternate(
    mixture: SubspaceMixture, start: FloatArray, *, n_steps: int, max_iter: int, tol: float
) -> tuple[SolverResult, ProjectedGaussians]:
    """Alternate optimization steps and EM until the objective changes by less than `tol`.

    The history contains the objective after each EM.
    """
    directions = start
    gaussians = mixture.fit(directions, mixture.problem.objective.gaussians(directions))
    history, n_evaluations = [mixture.value(directions, gaussians)], 0
    for _ in range(max_iter):
        step = maximize(mixture.hold(gaussians), directions, max_iter=n_steps, tol=tol)
        # the length of directions matters only while the Gaussians are fixed
        scale = 1 / np.linalg.norm(step.directions, axis=1)
        directions = scale[:, None] * step.directions
        rescaled = replace(
            gaussians, means=scale * gaussians.means, variances=scale**2 * gaussians.variances
        )
        gaussians = mixture.fit(directions, rescaled)
        history.append(mixture.value(directions, gaussians))
        n_evaluations += step.n_evaluations
        if abs(history[-1] - history[-2]) < tol:
            break
    settled = max_iter == 0 or abs(history[-1] - history[-2]) < tol
    message = CONVERGED if settled else MAX_ITER
    n_iter = len(history) - 1
    result = SolverResult(directions, history[-1], n_iter, n_evaluations, settled, history, message)
    return result, gaussians


class AlternatingComponents(ProjectionMixin, Baseline):
    r"""Classification likelihood maximized by alternating between components and Gaussians.

    The objective is that of `OPGDClassifier`. Each iteration first takes a gradient step in the
    components :math:`V` for

    .. math::

        \sum_i \log \frac{\pi_{y_i} f_{y_i}(V^\top x_i)}{\sum_k \pi_k f_k(V^\top x_i)}, \qquad
        f_k(z) = \sum_g w_{kg} N(z; m_{kg}, S_{kg}),

    with the mixtures :math:`f_k` of the classes held fixed, and then fits these again on the new
    components, by EM from the previous ones. For one Gaussian per class and labeled samples, EM is
    the maximum likelihood estimate. The gradient ignores that the mixtures will change, and EM
    maximizes a different likelihood, so an iteration can *decrease* the objective; see
    `loss_curve_`. The method is included to demonstrate this. For applications, use
    `OPGDClassifier`.

    Unlabeled samples (see `unlabeled`) take part in EM with their posterior probabilities, and in
    the objective with the largest posterior probability of a Gaussian, as in `OPGDSemiSupervised`.
    The reference also has one objective for labeled and unlabeled samples, but the term of the
    latter is a choice made here, as are diagonal covariances :math:`S_{kg}`, for comparison with
    OPGD, and L-BFGS. Its pairwise constraints between unlabeled samples are not implemented.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, from 1 to n_features. None means
        ``min(n_features, max(2, n_classes - 1))``.
    n_subclasses : int, dict or "auto", default=1
        Number of Gaussians per class, as in `OPGDClassifier`. EM starts from k-means clusters in
        each class.
    n_steps : int, default=1
        Number of optimization steps (L-BFGS, the first along the gradient) in each iteration.
    n_em_steps : int, default=10
        Maximum number of EM steps in each iteration.
    unlabeled : label, default=None
        Label in `y` that marks unlabeled samples, such as -1. None means that all samples are
        labeled.
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
        n_em_steps: int = 10,
        unlabeled: Any = None,
        priors: Any = None,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.n_subclasses = n_subclasses
        self.n_steps = n_steps
        self.n_em_steps = n_em_steps
        self.unlabeled = unlabeled
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        check_integer("n_steps", self.n_steps, 1)
        check_integer("n_em_steps", self.n_em_steps, 1)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        if np.ndim(self.unlabeled) or isinstance(self.unlabeled, Mapping | Set):
            raise TypeError(f"unlabeled must be a single label or None, got {self.unlabeled!r}.")

    def _check_labeled(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[AnyArray, AnyArray, IntArray, FloatArray | None]:
        if self.unlabeled is None:
            return super()._check_labeled(X, y, sample_weight)
        X, labels = self._check_X_y(X, y)
        weights = check_sample_weight(sample_weight, X)
        if weights is not None:
            X, labels, weights = X[weights > 0], labels[weights > 0], weights[weights > 0]
        return X, *encode_partly_labeled(labels, self.unlabeled), weights

    def _prepare(self, engine: Engine, n_classes: int) -> Prepared:
        frame = frame_samples(engine)
        return Prepared(frame, estimate_class_moments(frame, n_classes, n_rounds=0)[0])

    def _solve(self, task: Task) -> Solution:
        problem = self._pose(task)
        rank = problem.coordinates.rank
        default = default_n_components(rank, len(task.classes))
        n_components, notes = count_components(self.n_components, problem.frame, rank, default)
        mixture = SubspaceMixture(problem, self.n_em_steps)
        result, gaussians = alternate(
            mixture,
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
        if problem.objective.engine.partly_labeled or len(gaussians.means) > len(task.classes):
            problem = mixture.describe(task.prepared, result.directions, gaussians)
        return Solution(problem, *order_result(problem, result), notes)

    def _pose(self, task: Task) -> Problem:
        """Return the problem; classes are split into Gaussians by their labeled samples."""
        prepared, numbers = task.prepared, check_n_subclasses(self.n_subclasses, task.classes)
        engine = prepared.frame.engine
        if engine.partly_labeled:
            labeled = engine.select_rows(engine.find_rows(lambda labels: labels >= 0))
            prepared = replace(prepared, frame=replace(prepared.frame, engine=labeled))
        problem = pose(prepared, task.priors, n_subclasses=numbers, covariance_type="diag")
        if not engine.partly_labeled:
            return problem
        targets = Mixed(problem.gaussian_classes)
        objective = replace(problem.objective, engine=engine, targets=targets)
        return replace(problem, frame=task.prepared.frame, objective=objective)
