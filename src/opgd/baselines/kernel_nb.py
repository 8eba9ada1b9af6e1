"""Kernel naive Bayes, with features that are independent within classes."""

from typing import Any

import numpy as np

from opgd.baselines._bandwidths import log_kernel_density
from opgd.baselines._posterior import (
    LabeledSamples,
    PosteriorClassifier,
    feature_moments,
    standardize,
)
from opgd.baselines.kernel import check_bandwidth, class_variances, select_bandwidth
from opgd.core.types import AnyArray, FloatArray, IntArray


class KernelNaiveBayes(PosteriorClassifier):
    r"""Naive Bayes with a kernel density estimate for each class and feature.

    The density of class :math:`k` is

    .. math::

        f_k(x) = \prod_j \frac{\sum_{i : y_i = k} w_i N(x_j; x_{ij}, h_{kj}^2)}
                              {\sum_{i : y_i = k} w_i},

    where :math:`w_i` are sample weights. Each bandwidth :math:`h_{kj}` maximizes the leave-one-out
    likelihood of class :math:`k` and feature :math:`j`. In it, equal values count as half a
    reference bandwidth apart, since with ties, which rounded features have, the likelihood would be
    unbounded for narrow kernels; see `KernelDiscriminantAnalysis`. As in
    `sklearn.naive_bayes.GaussianNB`, features are assumed to be independent within classes, but
    their densities can have any shape. The fitted model stores all training samples.

    Kernel density estimates in place of one Gaussian per class and feature are those of the
    references; the selection of bandwidths by likelihood is a choice made here.

    Parameters
    ----------
    bandwidth : "likelihood" or float, default="likelihood"
        "likelihood" selects a bandwidth for each class and feature by the leave-one-out likelihood.
        A float is the bandwidth of all classes and features, in pooled standard deviations;
        increase it for smoother densities.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.

    Attributes
    ----------
    bandwidths_ : ndarray of shape (n_classes, n_features)
        Bandwidths in the units of the features; 0 for constant features, which are not used.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    John & Langley, "Estimating Continuous Distributions in Bayesian Classifiers", 1995; Hastie,
    Tibshirani & Friedman, "The Elements of Statistical Learning", Section 6.6.3; Hofmeyr, Kamper &
    Melonas, Section 2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd.baselines import KernelNaiveBayes
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelNaiveBayes().fit(X, y)
    >>> model.bandwidths_.shape
    (3, 4)
    """

    _center: FloatArray
    _scale: FloatArray
    _rows: FloatArray
    _codes: IntArray
    _weights: FloatArray
    bandwidths_: FloatArray

    def __init__(self, bandwidth: Any = "likelihood", *, priors: Any = None) -> None:
        self.bandwidth = bandwidth
        self.priors = priors

    def _check_parameters(self) -> None:
        check_bandwidth(self.bandwidth)

    def _fit_densities(self, samples: LabeledSamples) -> dict[str, Any]:
        center, scale = pooled_scale(samples)
        varying = np.flatnonzero(scale > 0)
        Z = standardize(samples.X, center, np.where(scale > 0, scale, 1.0))
        bandwidths = np.zeros((samples.n_classes, len(scale)))
        for k in range(samples.n_classes):
            in_class = samples.codes == k
            points, weights = Z[in_class], samples.weights[in_class]
            deviations = np.sqrt(class_variances(points, weights, np.ones(len(scale))))
            for j in varying:
                bandwidths[k, j] = select_bandwidth(
                    self.bandwidth, points[:, [j]], weights, float(deviations[j])
                )
        return {
            "bandwidths_": bandwidths * scale,
            "_center": center,
            "_scale": scale,
            "_rows": Z,
            "_codes": samples.codes,
            "_weights": samples.weights,
        }

    def _log_densities(self, X: AnyArray) -> FloatArray:
        varying = np.flatnonzero(self._scale > 0)
        at = standardize(X[:, varying], self._center[varying], self._scale[varying])
        logs = np.zeros((len(X), len(self.bandwidths_)))
        for k, bandwidths in enumerate(self.bandwidths_):
            points, weights = self._rows[self._codes == k], self._weights[self._codes == k]
            for column, j in enumerate(varying):
                logs[:, k] += log_kernel_density(
                    at[:, [column]],
                    points[:, [j]],
                    weights,
                    bandwidths[j] / self._scale[j],
                )
        return logs


def pooled_scale(samples: LabeledSamples) -> tuple[FloatArray, FloatArray]:
    """Return the means of the features, and their pooled within-class standard deviations.

    A feature that is constant within all classes has its overall standard deviation instead, and a
    constant feature has zero.
    """
    center, scale = feature_moments(samples.X, samples.weights)
    Z, shares = standardize(samples.X, center, scale), samples.weights / samples.weights.sum()
    varies = shares @ Z**2 > 0.5  # the variance is 1, or 0 for constant features
    means = np.zeros((samples.n_classes, len(scale)))
    np.add.at(means, samples.codes, shares[:, None] * Z)
    within = shares @ (Z - (means / samples.shares[:, None])[samples.codes]) ** 2
    within[within <= 1e-12] = 1.0
    return center, np.where(varies, scale * np.sqrt(within), 0.0)
