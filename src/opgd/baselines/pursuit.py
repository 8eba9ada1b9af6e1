"""Zhu & Hastie's pursuit: axes on which nonparametric class densities differ most."""

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

KINDS = ["kernel", "gaussian", "common"]


class LikelihoodRatioPursuit(Pursuit):
    """Projection pursuit by the likelihood ratio of class densities along an axis.

    The first axis maximizes (eq. 4 of the paper)

        log LR(v) = sum_i log f_{y_i}(v'x_i) - log f(v'x_i)

    with densities f_k of the classes and f of all rows, of one kind. Then the rows of every class
    are moved along the axis so that they are standard normal there, Phi^-1(F_k(v'x)), and the
    next axis is sought with these rows, on which the first has nothing left to say. In the
    classifier, scores of (unmoved) rows on different axes count as independent inside a class.

    Parameters
    ----------
    n_components : int, default=None
        Number of axes; None means two, or one where rows differ in one dimension only.
    density : {"kernel", "gaussian", "common"}, default="kernel"
        Gaussian kernels on the rows; one Gaussian for each class; or Gaussians with one variance,
        with which the axes are those of LDA.
    bandwidth : float, default=1.0
        Width of the kernels, as a multiple of the normal reference rule.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of the rows.
    max_iter : int, default=200
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
        Classes of the Gaussians (of the kernels) that make up the densities along an axis.
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
    Zhu & Hastie, "Feature Extraction for Nonparametric Discriminant Analysis", JCGS 2003;
    Friedman, "Exploratory Projection Pursuit", JASA 1987, for the way rows are moved.

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
        check_choice("density", self.density, KINDS)
        check_positive("bandwidth", self.bandwidth)

    def _kind(self, borrowed: FloatArray) -> AxisDensities:
        if self.density == "kernel":
            return KernelDensities(borrowed, float(self.bandwidth))
        return GaussianDensities(borrowed) if self.density == "gaussian" else CommonVariance()
