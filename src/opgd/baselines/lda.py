"""Reduced-rank LDA: the first axes of linear discriminant analysis, and LDA on them."""

from dataclasses import replace
from typing import Any

import numpy as np

from opgd._base.projection import AxesMixin
from opgd._fit.normal_form import normalize
from opgd._fit.problem import pose
from opgd._utils.validation import check_n_components
from opgd.baselines._base import Baseline, Solution, Task, count_components
from opgd.core.starts import lda_axes


class ReducedRankLDA(AxesMixin, Baseline):
    """Linear discriminant analysis scored in its first axes.

    The axes are the leading eigenvectors of Sigma_W^-1 Sigma_B, of which there are at most
    ``n_classes - 1``; with all of them this is LDA. Rows go to the class with the nearest mean on
    the axes, given the priors.

    Parameters
    ----------
    n_components : int, default=None
        Number of axes, at most ``min(n_features, n_classes - 1)``; None means all.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of the rows.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The axes, of pooled within-class variance one, the most telling first.
    classes_, priors_, means_, covariances_, projected_means_, projected_variances_, \
gaussian_classes_, n_components_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Hastie, Tibshirani & Friedman, "The Elements of Statistical Learning", Section 4.3.3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd.baselines import ReducedRankLDA
    >>> X, y = load_wine(return_X_y=True)
    >>> ReducedRankLDA(n_components=1).fit(X, y).transform(X).shape
    (178, 1)
    """

    def __init__(self, n_components: int | None = None, *, priors: Any = None) -> None:
        self.n_components = n_components
        self.priors = priors

    def _solve(self, task: Task) -> Solution:
        problem = pose(
            task.prepared,
            task.priors,
            covariance_type="diag",
            shrinkage=1.0,
        )
        most = max(1, len(task.classes) - 1)
        check_n_components(self.n_components)
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} is more than n_classes - 1 = {most}; "
                "OPGDClassifier has no such limit."
            )
        rank = min(problem.coordinates.rank, most)
        n_components, notes = count_components(self.n_components, problem.frame, rank)
        directions = normalize(problem, lda_axes(problem.classes, n_components))
        # no class has a covariance of its own that could be poor
        problem = replace(problem, borrowed=np.zeros_like(problem.borrowed))
        return Solution(problem, directions, notes=notes)
