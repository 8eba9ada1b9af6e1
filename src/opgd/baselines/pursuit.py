"""Projection pursuit by likelihood ratios of class densities (Zhu and Hastie)."""

from typing import Any

from opgd._utils.validation import check_choice, check_positive
from opgd.baselines._axis_densities import (
    AxisDensities,
    CommonVariance,
    GaussianDensities,
    KernelDensities,
)
from opgd.baselines._pursuit import Pursuit
from opgd.core.types import FloatArray

DENSITIES = ["kernel", "gaussian", "common"]


class LikelihoodRatioPursuit(Pursuit):
    r"""Projection pursuit by the likelihood ratio of class densities on one component.

    The first component maximizes (eq. 4 of the paper)

    .. math::

        \log \mathrm{LR}(v) = \sum_i \log \frac{f_{y_i}(v^\top x_i)}{f(v^\top x_i)},

    where :math:`f_k` is the density estimate of class :math:`k`, and :math:`f` that of all samples.
    Kernel densities are evaluated without the kernel of sample :math:`i` itself, whose share is
    larger in the density of its class than in that of all samples. Then the scores of each class on
    this component are transformed to standard normal, :math:`\Phi^{-1}(F_k(v^\top x))`, so that the
    component no longer discriminates, and the next one is computed from the transformed samples.

    The classifier uses the original samples and multiplies the densities on the components, that
    is, it assumes that scores on different components are independent within classes. The reference
    integrates the components with projection pursuit density estimation instead. Kernels with the
    normal reference bandwidth, evaluated without the sample itself, are choices made here.

    Parameters
    ----------
    n_components : int, default=None
        Number of components. None means 2, or 1 if the samples span only one dimension.
    density : {"kernel", "gaussian", "common"}, default="kernel"
        Class densities: Gaussian kernel density estimates, one Gaussian per class, or Gaussians
        with a common variance, for which the components are those of LDA.
    bandwidth : float, default=1.0
        Bandwidth of the kernels, as a multiple of the normal reference rule. Increase it for
        smoother densities.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.
    max_iter : int, default=200
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
    Zhu & Hastie, "Feature Extraction for Nonparametric Discriminant Analysis", JCGS 2003;
    Hofmeyr, Kamper & Melonas, Section 2; Friedman, "Exploratory Projection Pursuit", JASA 1987, for
    the removal of structure by a transformation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd.baselines import LikelihoodRatioPursuit
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LikelihoodRatioPursuit(n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    >>> bool(model.log_ratios_[0] > model.log_ratios_[1])
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        density: str = "kernel",
        bandwidth: float = 1.0,
        priors: Any = None,
        max_iter: int = 200,
        tol: float = 1e-5,
    ) -> None:
        self.n_components = n_components
        self.density = density
        self.bandwidth = bandwidth
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("density", self.density, DENSITIES)
        check_positive("bandwidth", self.bandwidth)

    def _density_family(self, borrowed: FloatArray) -> AxisDensities:
        if self.density == "kernel":
            return KernelDensities(borrowed, float(self.bandwidth))
        return GaussianDensities(borrowed) if self.density == "gaussian" else CommonVariance()
