"""Regularized discriminant analysis, between LDA and QDA."""

from dataclasses import replace
from typing import Any

import numpy as np

from opgd._fit.units import map_to_features
from opgd._utils.validation import check_share
from opgd.baselines._base import Baseline, Solution, Task, build_problem
from opgd.core.coordinates import span_coordinates
from opgd.core.regularization import VARIANCE_FLOOR, whiten_classes
from opgd.core.types import FloatArray


class RegularizedDiscriminantAnalysis(Baseline):
    r"""Regularized discriminant analysis, between LDA and QDA.

    The class covariances :math:`\hat\Sigma_k` are shrunk toward the pooled covariance
    :math:`\Sigma_W`, and then toward a multiple of the identity:

    .. math::

        \tilde\Sigma_k &= \alpha \hat\Sigma_k + (1 - \alpha) \Sigma_W, \\
        \Sigma_k &= (1 - \gamma) \tilde\Sigma_k
                    + \gamma \frac{\operatorname{tr} \tilde\Sigma_k}{p} I.

    With ``gamma=0``, ``alpha=0`` is LDA and ``alpha=1`` is QDA (with divisors :math:`n_k` of the
    covariances, not :math:`n_k - 1`). Friedman mixes sums of squares and class sizes instead of
    covariances in the first step, so that large classes are shrunk less than small ones. The
    formula here is that of Hofmeyr, Kamper & Melonas and of Hastie, Tibshirani & Friedman, in which
    `alpha` is the weight of the class whatever its size. The second step is Friedman's and depends
    on the units of the features; standardize features of different units. Friedman also selects
    both parameters, by an estimate of the misclassification risk; use a search such as
    `GridSearchCV` for this.

    Samples may have missing values (nan), in `fit` and at prediction, which are assumed to be
    missing at random; see the guide.

    Parameters
    ----------
    alpha : float, default=0.5
        Weight of the class covariance against the pooled covariance, from 0 to 1. Decrease it when
        classes have few samples.
    gamma : float, default=0.0
        Weight of the identity matrix, from 0 to 1. Increase it when features are many or nearly
        collinear.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.

    Attributes
    ----------
    classes_, priors_, means_, covariances_, gaussian_classes_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Friedman, "Regularized Discriminant Analysis", JASA 1989; Hastie, Tibshirani & Friedman, "The
    Elements of Statistical Learning", eq. 4.13; Hofmeyr, Kamper & Melonas, Section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd.baselines import RegularizedDiscriminantAnalysis
    >>> X, y = load_wine(return_X_y=True)
    >>> bool(RegularizedDiscriminantAnalysis(alpha=0.5).fit(X, y).score(X, y) > 0.98)
    True
    """

    _allow_missing = True

    _advice = "set alpha or gamma to choose the amount of shrinkage"

    def __init__(self, alpha: float = 0.5, gamma: float = 0.0, *, priors: Any = None) -> None:
        self.alpha = alpha
        self.gamma = gamma
        self.priors = priors

    def _check_parameters(self) -> None:
        check_share("alpha", self.alpha)
        check_share("gamma", self.gamma)

    def _class_log_joint(self, X: Any, priors: Any = None) -> FloatArray:
        log_joint = super()._class_log_joint(X, priors)
        log_factors = self._projection.gaussians.log_priors - np.log(self.priors_)
        basis = self._coordinates.basis
        active = basis.any(axis=1)
        n_off_span = int(active.sum()) - basis.shape[1]
        if self.gamma > 0 and n_off_span > 0 and isinstance(log_joint, np.ndarray):
            # a missing feature leaves one direction less orthogonal to the span of the samples
            n_missing = np.isnan(self._check_rows(X)[:, active]).sum(axis=1)
            log_joint -= np.outer(np.minimum(n_missing / n_off_span, 1.0), log_factors)
        return log_joint

    def _solve(self, task: Task) -> Solution:
        frame, classes = task.prepared.frame, task.prepared.classes
        if self.gamma > 0:
            return self._solve_with_identity(task)
        whitening = whiten_classes(frame, classes)
        moments, borrowed = whitening.regularize(classes, 1 - self.alpha)
        coordinates = whitening.coordinates
        problem = build_problem(task, coordinates, moments, "full", borrowed, whitening.borrowed)
        return Solution(problem, np.eye(coordinates.rank))

    def _solve_with_identity(self, task: Task) -> Solution:
        """Return the solution for gamma > 0, in orthonormal coordinates of the samples' span.

        Orthogonal to the span, all variances of a class equal its multiple of the identity, so that
        only their product enters the log joint density.
        """
        frame = task.prepared.frame
        coordinates = span_coordinates(frame)
        matrix = coordinates.whitener / frame.spread[:, None]
        moments = map_to_features(task.prepared.classes, matrix)
        covariances = self.alpha * moments.covariances + (1 - self.alpha) * moments.within
        traces = np.trace(covariances, axis1=1, axis2=2)
        least = VARIANCE_FLOOR * np.trace(moments.total)  # for classes without variance
        levels = self.gamma * np.maximum(traces, least) / frame.n_active
        covariances = (1 - self.gamma) * covariances
        covariances += levels[:, None, None] * np.eye(coordinates.rank)
        log_factors = -0.5 * (frame.n_active - coordinates.rank) * np.log(levels)
        problem = build_problem(
            task,
            coordinates,
            replace(moments, covariances=covariances),
            "full",
            borrowed=np.zeros(moments.n_groups),
            log_factors=log_factors,
        )
        return Solution(problem, np.eye(coordinates.rank))
