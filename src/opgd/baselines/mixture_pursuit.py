"""Calo's pursuit: axes on which mixtures of Gaussians of the classes differ most."""

from typing import Any

from opgd._utils.validation import check_integer
from opgd.baselines._axis_densities import AxisDensities
from opgd.baselines._mixture_densities import MixtureDensities
from opgd.baselines._pursuit import Pursuit
from opgd.core.types import FloatArray


class GaussianMixturePursuit(Pursuit):
    """Projection pursuit by the likelihood ratio of class mixtures along an axis.

    As `LikelihoodRatioPursuit`, with

        f_k(z) = sum_g w_kg N(z; m_kg, s_kg^2)

    fitted by EM to the scores of class k for every axis that is tried, and f, with as many
    Gaussians, to those of all rows. No variance is below 0.01 of the pooled one; a class has no
    more Gaussians than one for five of its rows.

    Parameters
    ----------
    n_components : int, default=None
        Number of axes; None means two, or one where rows differ in one dimension only.
    n_subclasses : int, default=2
        Gaussians for each class along an axis.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of the rows.
    max_iter : int, default=100
        Most iterations of the search for one axis.
    tol : float, default=1e-5
        A search ends when an iteration brings less of the mean log ratio.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The axes in the order in which they were found, of pooled within-class variance one.
    log_ratios_ : ndarray of shape (n_components_,)
        Mean log ratio of each axis, of the rows with which it was sought.
    gaussian_classes_ : ndarray of shape (n_gaussians,)
        Classes of the Gaussians along an axis.
    n_components_ : int
        Number of axes.
    n_iter_ : int
        Iterations of the longest search.
    converged_ : bool
        Whether all searches ended by `tol`.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Calo, "Gaussian Mixture Model Classification: A Projection Pursuit Approach", Computational
    Statistics & Data Analysis 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd.baselines import GaussianMixturePursuit
    >>> X, y = load_iris(return_X_y=True)
    >>> GaussianMixturePursuit(n_components=1).fit(X, y).transform(X).shape
    (150, 1)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_subclasses: int = 2,
        priors: Any = None,
        max_iter: int = 100,
        tol: float = 1e-5,
    ) -> None:
        self.n_components = n_components
        self.n_subclasses = n_subclasses
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_subclasses", self.n_subclasses, 1)

    def _kind(self, borrowed: FloatArray) -> AxisDensities:
        return MixtureDensities(int(self.n_subclasses), borrowed)
