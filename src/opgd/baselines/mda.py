"""Mixture discriminant analysis: several Gaussians in every class."""

from dataclasses import replace
from typing import Any

import numpy as np

from opgd._fit.problem import Problem, pose
from opgd._fit.subclasses import check_n_subclasses
from opgd._utils.validation import check_choice, check_integer, check_positive
from opgd._utils.warnings import warn_not_converged
from opgd.baselines._base import Baseline, Solution, Task
from opgd.core.em import Constraints, fit_mixture
from opgd.core.regularization import VARIANCE_FLOOR, whiten_classes


class MixtureDiscriminantAnalysis(Baseline):
    """Every class is a mixture of Gaussians, fitted by EM from k-means inside the class.

    In Hastie & Tibshirani's model all Gaussians of all classes share one covariance; with one
    Gaussian per class that is LDA. With ``covariance_type="full"`` each has its own, and one per
    class is QDA.

    Parameters
    ----------
    n_subclasses : int, dict or "auto", default=3
        Gaussians per class, the same for all or by label, or chosen as in `OPGDClassifier`.
    covariance_type : {"tied", "full"}, default="tied"
        One covariance for all Gaussians, or one for each.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of the rows.
    max_iter : int, default=200
        Most iterations of the EM.
    tol : float, default=1e-5
        The EM ends when an iteration brings less log-likelihood per row.

    Attributes
    ----------
    means_ : ndarray of shape (n_gaussians, n_features)
        Means of the Gaussians.
    covariances_ : ndarray of shape (n_gaussians, n_features, n_features)
        Their covariances.
    weights_ : ndarray of shape (n_gaussians,)
        Their shares of all rows.
    gaussian_classes_ : ndarray of shape (n_gaussians,)
        Index into `classes_` of the class that each belongs to.
    n_iter_ : int
        Iterations of the EM.
    converged_ : bool
        Whether it ended by `tol`.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Hastie & Tibshirani, "Discriminant Analysis by Gaussian Mixtures", JRSS B 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd.baselines import MixtureDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> MixtureDiscriminantAnalysis(n_subclasses=2).fit(X, y).means_.shape
    (6, 4)
    """

    _advice = "covariance_type or n_subclasses"

    def __init__(
        self,
        n_subclasses: Any = 3,
        *,
        covariance_type: str = "tied",
        priors: Any = None,
        max_iter: int = 200,
        tol: float = 1e-5,
    ) -> None:
        self.n_subclasses = n_subclasses
        self.covariance_type = covariance_type
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        check_choice("covariance_type", self.covariance_type, ["tied", "full"])
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)

    def _solve(self, task: Task) -> Solution:
        problem = pose(
            task.prepared,
            task.priors,
            n_subclasses=check_n_subclasses(self.n_subclasses, task.classes),
            covariance_type="full",
            shrinkage=1.0 if self.covariance_type == "tied" else 0.0,
        )
        objective, everywhere = problem.objective, np.eye(problem.coordinates.rank)
        start = objective.gaussians(everywhere)
        by_share = np.log(task.prepared.classes.priors / task.priors)[problem.gaussian_classes]
        result = fit_mixture(
            task.prepared.frame.engine,
            objective.whitener.T,
            replace(start, log_priors=start.log_priors + by_share),
            objective.form,
            max_iter=self.max_iter,
            tol=self.tol,
            gaussian_classes=problem.gaussian_classes,
            constraints=self._constraints(task, problem),
        )
        if not result.converged:
            warn_not_converged("The EM has", self.max_iter)
        found = result.gaussians
        moments = replace(objective.moments, means=found.means, covariances=found.variances)
        weights = np.exp(found.log_priors)
        objective = replace(objective, moments=moments, log_priors=found.log_priors - by_share)
        more = {
            "weights_": weights / weights.sum(),
            "n_iter_": max(result.n_iter, 1),
            "converged_": result.converged,
        }
        return Solution(replace(problem, objective=objective), everywhere, more)

    def _constraints(self, task: Task, problem: Problem) -> Constraints:
        """What the pooled covariance, and singular Gaussians, borrow; the same in every M-step."""
        coordinates = problem.coordinates
        whitening = whiten_classes(task.prepared.frame, task.prepared.classes)
        unit = coordinates.identity_share * whitening.unit_covariance
        borrowed = problem.borrowed[:, None, None]
        return Constraints(
            tied=self.covariance_type == "tied",
            least=VARIANCE_FLOOR,
            share=1 - (1 - problem.borrowed) * (1 - coordinates.identity_share),
            added=(1 - borrowed) * unit + borrowed * np.eye(coordinates.rank),
        )
