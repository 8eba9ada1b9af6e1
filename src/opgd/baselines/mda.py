"""Mixture discriminant analysis, with several Gaussians in each class."""

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
from opgd.core.structures import estimate_free, estimate_tied


class MixtureDiscriminantAnalysis(Baseline):
    r"""Mixture discriminant analysis: each class is a mixture of Gaussians.

    The density of class :math:`k` is

    .. math::

        f_k(x) = \sum_g w_{kg} N(x; \mu_{kg}, \Sigma),

    fitted by EM, which is initialized by k-means within each class, from one deterministic start
    (in the authors' software, from several random ones). In Hastie and Tibshirani's
    model all Gaussians of all classes share the covariance :math:`\Sigma`
    (``covariance_type="tied"``), and one Gaussian per class gives LDA. With
    ``covariance_type="full"`` each Gaussian has its own covariance, and one per class gives QDA.
    The references also reduce the rank of the means and replace the M-step by a flexible or
    penalized regression, which is not implemented.

    Parameters
    ----------
    n_subclasses : int, dict or "auto", default=3
        Number of Gaussians per class: one number for all classes, a dict with labels as keys, or
        "auto", as in `OPGDClassifier`.
    covariance_type : {"tied", "full"}, default="tied"
        One covariance for all Gaussians, or one for each.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.
    max_iter : int, default=200
        Maximum number of EM iterations.
    tol : float, default=1e-5
        EM has converged when an iteration increases the log-likelihood per sample by less than
        `tol`.

    Attributes
    ----------
    means_ : ndarray of shape (n_gaussians, n_features)
        Means of the Gaussians.
    covariances_ : ndarray of shape (n_gaussians, n_features, n_features)
        Covariances of the Gaussians.
    weights_ : ndarray of shape (n_gaussians,)
        Weights of the Gaussians, as shares of all samples.
    gaussian_classes_ : ndarray of shape (n_gaussians,)
        Index into `classes_` of the class of each Gaussian.
    n_iter_ : int
        Number of EM iterations.
    converged_ : bool
        Whether EM reached `tol`.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Hastie & Tibshirani, "Discriminant Analysis by Gaussian Mixtures", JRSS B 1996; Hastie,
    Tibshirani & Friedman, "The Elements of Statistical Learning", Section 12.7.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd.baselines import MixtureDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> MixtureDiscriminantAnalysis(n_subclasses=2).fit(X, y).means_.shape
    (6, 4)
    """

    _advice = "set covariance_type or n_subclasses to control this"

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
        objective, identity = problem.objective, np.eye(problem.coordinates.rank)
        start = objective.gaussians(identity)
        # EM uses class frequencies; the priors are restored afterwards
        log_ratios = np.log(task.prepared.classes.priors / task.priors)
        frequency_offsets = log_ratios[problem.gaussian_classes]
        result = fit_mixture(
            task.prepared.frame.engine,
            objective.whitener.T,
            replace(start, log_priors=start.log_priors + frequency_offsets),
            objective.form,
            max_iter=self.max_iter,
            tol=self.tol,
            gaussian_classes=problem.gaussian_classes,
            constraints=self._constraints(task, problem),
        )
        if not result.converged:
            warn_not_converged("The EM has", self.max_iter)
        fitted = result.gaussians
        moments = replace(objective.moments, means=fitted.means, covariances=fitted.variances)
        weights = np.exp(fitted.log_priors)
        log_priors = fitted.log_priors - frequency_offsets
        objective = replace(objective, moments=moments, log_priors=log_priors)
        attributes = {
            "weights_": weights / weights.sum(),
            "n_iter_": max(result.n_iter, 1),
            "converged_": result.converged,
        }
        return Solution(replace(problem, objective=objective), identity, attributes)

    def _constraints(self, task: Task, problem: Problem) -> Constraints:
        """Return the regularization of the covariances, which is the same in each M-step."""
        coordinates = problem.coordinates
        whitening = whiten_classes(task.prepared.frame, task.prepared.classes)
        unit = coordinates.identity_share * whitening.unit_covariance
        borrowed = problem.borrowed[:, None, None]
        return Constraints(
            structure=estimate_tied if self.covariance_type == "tied" else estimate_free,
            least=VARIANCE_FLOOR,
            share=1 - (1 - problem.borrowed) * (1 - coordinates.identity_share),
            added=(1 - borrowed) * unit + borrowed * np.eye(coordinates.rank),
        )
