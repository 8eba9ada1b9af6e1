"""Linear discriminant analysis with reduced rank, and sparse."""

from dataclasses import replace
from typing import Any

import numpy as np

from opgd._base.projection import ProjectionMixin
from opgd._base.support import SupportMixin
from opgd._fit.normal_form import normalize
from opgd._fit.problem import pose
from opgd._utils.validation import check_n_components, check_sparsity, count_kept
from opgd.baselines._base import Baseline, Solution, Task, count_components
from opgd.core.starts import lda_axes


class ReducedRankLDA(SupportMixin, ProjectionMixin, Baseline):
    r"""Linear discriminant analysis on its first components.

    The components are the leading eigenvectors of :math:`\Sigma_W^{-1} \Sigma_B`, the matrix of
    within-class and between-class covariances, which has at most ``n_classes - 1`` nonzero
    eigenvalues; with all of them this is LDA. Samples are assigned to the class whose projected
    mean is nearest, adjusted for the priors:

    .. math::

        \hat y(x) = \arg\max_k \log \pi_k
        - \tfrac{1}{2} \lVert V^\top x - V^\top \mu_k \rVert^2.

    In :math:`\Sigma_B`, classes are weighted by their frequencies, whatever the `priors`. Given
    priors therefore change the predictions but not the components, unlike in ``lda`` of R's MASS.

    With `sparsity` this is sparse linear discriminant analysis: LDA on the features that
    `OPGDClassifier` selects, in the same order. It equals ``OPGDClassifier(n_classes - 1,
    shrinkage=1, ridge=0, init="lda", max_iter=0)`` with the same `sparsity`. Sparse discriminant
    analysis of Clemmensen and others adds an elastic net penalty to optimal scoring instead, which
    shrinks coefficients and removes different features from each component; here features are
    removed from all components, so that they need not be measured.

    Samples may have missing values (nan), in `fit` and at prediction, which are assumed to be
    missing at random; see the guide.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, at most ``min(n_features, n_classes - 1)``. None means all.
    sparsity : float or int, default=0.0
        Share of the features to remove from all components, a float from 0 (none) to below 1, or
        number of features to keep, an int.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The components, with pooled within-class variance 1, the most discriminating first.
    classes_, priors_, means_, covariances_, gaussian_classes_
        As in `OPGDClassifier`.
    projected_means_, projected_variances_, n_components_
        As in `OPGDClassifier`.
    support_, feature_order_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Hastie, Tibshirani & Friedman, "The Elements of Statistical Learning", Section 4.3.3; Hofmeyr,
    Kamper & Melonas, Section 2; Clemmensen, Hastie, Witten & Ersboll, "Sparse Discriminant
    Analysis", Technometrics 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd.baselines import ReducedRankLDA
    >>> X, y = load_wine(return_X_y=True)
    >>> ReducedRankLDA(n_components=1).fit(X, y).transform(X).shape
    (178, 1)
    """

    _allow_missing = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        sparsity: float | int = 0.0,
        priors: Any = None,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.priors = priors

    def _check_parameters(self) -> None:
        check_sparsity(self.sparsity)

    def _solve(self, task: Task) -> Solution:
        prepared, attributes = task.prepared, {}
        if self.sparsity:
            attributes = {"feature_order_": prepared.feature_order}
            prepared = prepared.restrict(count_kept(self.sparsity, self.n_features_in_))
        problem = pose(
            prepared,
            task.priors,
            covariance_type="diag",
            shrinkage=1.0,
        )
        maximum = max(1, len(task.classes) - 1)
        check_n_components(self.n_components)
        if self.n_components is not None and self.n_components > maximum:
            raise ValueError(
                f"n_components={self.n_components} is larger than n_classes - 1 = {maximum}; "
                "OPGDClassifier has no such limit."
            )
        rank = min(problem.coordinates.rank, maximum)
        n_components, notes = count_components(self.n_components, problem.frame, rank)
        directions = normalize(problem, lda_axes(problem.classes, n_components))
        # class covariances are not used, so none needs regularization
        problem = replace(problem, borrowed=np.zeros_like(problem.borrowed))
        return Solution(problem, directions, attributes, notes)
