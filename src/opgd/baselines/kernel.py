"""Kernel discriminant analysis, with a kernel density estimate for each class."""

from typing import Any

import numpy as np

from opgd._utils.validation import check_positive
from opgd.baselines._bandwidths import likeliest_bandwidth, log_kernel_density
from opgd.baselines._posterior import (
    LabeledSamples,
    PosteriorClassifier,
    center_and_project,
    whiten_samples,
)
from opgd.core.types import AnyArray, FloatArray, IntArray


class KernelDiscriminantAnalysis(PosteriorClassifier):
    r"""Discriminant analysis with a kernel density estimate for each class.

    The density of class :math:`k` is

    .. math::

        f_k(x) = \frac{\sum_{i : y_i = k} w_i N(x; x_i, h_k^2 \Sigma_W)}{\sum_{i : y_i = k} w_i},

    where :math:`w_i` are sample weights and :math:`\Sigma_W` is the pooled within-class covariance.
    The bandwidth :math:`h_k` maximizes the leave-one-out likelihood

    .. math::

        \sum_{i : y_i = k} w_i \log
            \frac{\sum_{j \ne i} w_j N(x_i; x_j, h_k^2 \Sigma_W)}{\sum_{j \ne i} w_j},

    with sums over the other samples :math:`j` of the class, among sixteen multiples, from 1/8 to 4,
    of the reference bandwidth, which is best for Gaussian samples. Equal samples count as half a
    reference bandwidth apart in each dimension, since ties would make the likelihood unbounded for
    narrow kernels. The method assumes nothing about the shape of the classes and therefore needs
    many samples, as a rule several times more for each additional feature. The fitted model stores
    all training samples.

    Kernel density estimates as class densities are those of the references; the shape
    :math:`\Sigma_W`, common to all classes, and the selection of :math:`h_k` are choices made here.
    The R package ``ks`` estimates a full bandwidth matrix for each class by plug-in or
    cross-validation methods instead.

    Parameters
    ----------
    bandwidth : "likelihood" or float, default="likelihood"
        "likelihood" selects a bandwidth for each class by the leave-one-out likelihood. A float is
        the bandwidth of all classes, in pooled standard deviations; increase it for smoother
        densities.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.

    Attributes
    ----------
    bandwidths_ : ndarray of shape (n_classes,)
        Bandwidths of the classes, in pooled standard deviations.
    components_ : ndarray of shape (n_dimensions, n_features)
        Map to coordinates in which the pooled within-class covariance is the identity.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Hand, "Kernel Discriminant Analysis", 1982; Hastie, Tibshirani & Friedman, "The Elements of
    Statistical Learning", Section 6.6.2; Hofmeyr, Kamper & Melonas, Section 2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd.baselines import KernelDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelDiscriminantAnalysis().fit(X, y)
    >>> model.bandwidths_.shape
    (3,)
    """

    _center: FloatArray
    _rows: FloatArray
    _codes: IntArray
    _weights: FloatArray
    components_: FloatArray
    bandwidths_: FloatArray

    def __init__(self, bandwidth: Any = "likelihood", *, priors: Any = None) -> None:
        self.bandwidth = bandwidth
        self.priors = priors

    def _check_parameters(self) -> None:
        check_bandwidth(self.bandwidth)

    def _fit_densities(self, samples: LabeledSamples) -> dict[str, Any]:
        _, whitening, Z = whiten_samples(samples)
        coordinates = whitening.coordinates
        bandwidths = np.empty(samples.n_classes)
        for k in range(samples.n_classes):
            in_class = samples.codes == k
            points, weights = Z[in_class], samples.weights[in_class]
            deviation = float(np.sqrt(np.mean(class_variances(points, weights, 1.0))))
            bandwidths[k] = select_bandwidth(self.bandwidth, points, weights, deviation)
        return {
            "bandwidths_": bandwidths,
            "components_": coordinates.matrix.T,
            "_center": coordinates.center,
            "_rows": Z,
            "_codes": samples.codes,
            "_weights": samples.weights,
        }

    def _log_densities(self, X: AnyArray) -> FloatArray:
        at = center_and_project(X, self._center, self.components_)
        logs = np.empty((len(X), len(self.bandwidths_)))
        for k, bandwidth in enumerate(self.bandwidths_):
            points, weights = self._rows[self._codes == k], self._weights[self._codes == k]
            logs[:, k] = log_kernel_density(at, points, weights, bandwidth)
        return logs


def check_bandwidth(bandwidth: Any) -> None:
    """Raise an error unless `bandwidth` is "likelihood" or a positive number."""
    if isinstance(bandwidth, str):
        if bandwidth != "likelihood":
            raise ValueError(f"bandwidth must be 'likelihood' or a number, got {bandwidth!r}.")
    else:
        check_positive("bandwidth", bandwidth)


def class_variances(points: FloatArray, weights: FloatArray, default: Any) -> FloatArray:
    """Return the weighted variance of each feature, or `default` where it is zero."""
    shares = weights / weights.sum()
    variances: FloatArray = shares @ (points - shares @ points) ** 2
    return np.where(variances > 1e-12 * np.asarray(default), variances, default)


def select_bandwidth(
    bandwidth: Any, points: FloatArray, weights: FloatArray, deviation: float
) -> float:
    """Return `bandwidth` if it is a number, or else the best one for the points (n, d)."""
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    return likeliest_bandwidth(points, weights, deviation)
