"""Projection pursuit with Gaussian mixtures as class densities (Calo)."""

from typing import Any

from opgd._utils.validation import check_choice, check_integer
from opgd.baselines._axis_densities import AxisDensities
from opgd.baselines._mixture_densities import MixtureDensities
from opgd.baselines._pursuit import Pursuit
from opgd.core.types import FloatArray


class GaussianMixturePursuit(Pursuit):
    r"""Projection pursuit by the likelihood ratio of class mixtures on one component.

    This is `LikelihoodRatioPursuit` with mixtures of Gaussians as densities,

    .. math::

        f_k(z) = \sum_g w_{kg} N(z; m_{kg}, s_{kg}^2).

    For each direction that is tried, :math:`f_k` is fitted by EM to the scores of class :math:`k`.
    The density of all samples, the null density, is the mixture :math:`\sum_k \pi_k f_k` of the
    class densities with the class frequencies :math:`\pi_k`, so that the ratio is the posterior
    probability of the classes over :math:`\pi_k`, and is 1 for classes that do not differ.
    Variances are at least 0.01 of the pooled variance, and a class has at most one Gaussian per
    five samples. As in `LikelihoodRatioPursuit`, the classifier multiplies the densities on the
    components.

    Mixtures as class densities, and components found one at a time, are those of the references;
    the ratio and the transformation between components are those of `LikelihoodRatioPursuit`.
    Hofmeyr, Kamper & Melonas call the mixture of the class densities the ideal null density.

    Parameters
    ----------
    n_components : int, default=None
        Number of components. None means 2, or 1 if the samples span only one dimension.
    n_subclasses : int, default=2
        Number of Gaussians of each class on a component.
    null : {"classes", "pooled"}, default="classes"
        Null density: the mixture of the class densities, or ("pooled") a mixture of
        `n_subclasses` Gaussians fitted to all samples. With many classes the latter is a poor fit
        in directions in which all classes are apart, and the ratio then measures this misfit.
        "pooled" was used in opgd 0.1.0.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.
    max_iter : int, default=100
        Maximum number of iterations of the search for each component.
    tol : float, default=1e-5
        A search has converged when an iteration increases the mean log-likelihood ratio by less
        than `tol`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The components in the order of the search, with pooled within-class variance 1.
    log_ratios_ : ndarray of shape (n_components_,)
        Mean log-likelihood ratio of each component, on the transformed samples of its search.
    gaussian_classes_ : ndarray of shape (n_gaussians,)
        Index into `classes_` of the class of each Gaussian (or kernel) of the densities on a
        component.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of iterations of the longest search.
    converged_ : bool
        Whether all searches reached `tol`.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Calo, "Gaussian Mixture Model Classification: A Projection Pursuit Approach", Computational
    Statistics & Data Analysis 2007; Hofmeyr, Kamper & Melonas, Section 2.

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
        null: str = "classes",
        priors: Any = None,
        max_iter: int = 100,
        tol: float = 1e-5,
    ) -> None:
        self.n_components = n_components
        self.n_subclasses = n_subclasses
        self.null = null
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_subclasses", self.n_subclasses, 1)
        check_choice("null", self.null, ["classes", "pooled"])

    def _density_family(self, borrowed: FloatArray) -> AxisDensities:
        return MixtureDensities(int(self.n_subclasses), borrowed, self.null)
