"""Regularized discriminant analysis: between LDA and QDA."""

from dataclasses import replace
from typing import Any

import numpy as np

from opgd._utils.validation import check_share
from opgd.baselines._base import Baseline, Solution, Task, mapped_to_columns, problem_of
from opgd.core.coordinates import span_coordinates
from opgd.core.regularization import VARIANCE_FLOOR, whiten_classes


class RegularizedDiscriminantAnalysis(Baseline):
    """Quadratic discriminant analysis with covariances drawn to the pooled one.

        Sigma_k <- alpha Sigma_k + (1 - alpha) Sigma_W
        Sigma_k <- (1 - gamma) Sigma_k + gamma (tr Sigma_k / p) I

    ``alpha=0`` is LDA and ``alpha=1`` QDA (covariances divide by the number of rows). The second
    step is Friedman's and depends on the units of the columns; standardize them if these differ.

    Parameters
    ----------
    alpha : float, default=0.5
        Share of a class's own covariance.
    gamma : float, default=0.0
        Share of the identity.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of the rows.

    Attributes
    ----------
    classes_, priors_, means_, covariances_, gaussian_classes_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Friedman, "Regularized Discriminant Analysis", JASA 1989; Hofmeyr, Kamper & Melonas, Section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd.baselines import RegularizedDiscriminantAnalysis
    >>> X, y = load_wine(return_X_y=True)
    >>> bool(RegularizedDiscriminantAnalysis(alpha=0.5).fit(X, y).score(X, y) > 0.98)
    True
    """

    _advice = "alpha or gamma"

    def __init__(self, alpha: float = 0.5, gamma: float = 0.0, *, priors: Any = None) -> None:
        self.alpha = alpha
        self.gamma = gamma
        self.priors = priors

    def _check_parameters(self) -> None:
        check_share("alpha", self.alpha)
        check_share("gamma", self.gamma)

    def _solve(self, task: Task) -> Solution:
        frame, classes = task.prepared.frame, task.prepared.classes
        if self.gamma > 0:
            return self._with_identity(task)
        whitening = whiten_classes(frame, classes)
        moments, borrowed = whitening.regularize(classes, 1 - self.alpha)
        coordinates = whitening.coordinates
        problem = problem_of(task, coordinates, moments, "full", borrowed, whitening.borrowed)
        return Solution(problem, np.eye(coordinates.rank))

    def _with_identity(self, task: Task) -> Solution:
        """The same with gamma; in coordinates in which the identity of the columns is one.

        Rows are seen on the plane that training rows span. Across it all variances are those of the
        identity, so only their product counts, by class.
        """
        frame = task.prepared.frame
        coordinates = span_coordinates(frame)
        matrix = coordinates.whitener / frame.spread[:, None]
        moments = mapped_to_columns(task.prepared.classes, matrix)
        covariances = self.alpha * moments.covariances + (1 - self.alpha) * moments.within
        traces = np.trace(covariances, axis1=1, axis2=2)
        least = VARIANCE_FLOOR * np.trace(moments.total)  # where no rows of a class differ
        levels = self.gamma * np.maximum(traces, least) / frame.n_active
        covariances = (1 - self.gamma) * covariances
        covariances += levels[:, None, None] * np.eye(coordinates.rank)
        across = -0.5 * (frame.n_active - coordinates.rank) * np.log(levels)
        problem = problem_of(
            task,
            coordinates,
            replace(moments, covariances=covariances),
            "full",
            borrowed=np.zeros(moments.n_groups),
            log_factors=across,
        )
        return Solution(problem, np.eye(coordinates.rank))
