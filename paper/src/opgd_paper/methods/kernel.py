"""Discriminant analysis with kernel density estimates, of all features or of one at a time."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import KernelDensity

from opgd_paper.methods._base import DensityClassifier, FloatArray, IntArray
from opgd_paper.methods._support import whiten_classes

FACTORS = np.geomspace(0.125, 4.0, 16)
"""Candidate bandwidths, as multiples of the normal reference bandwidth."""
TIE = 1e-6
"""Distance below which samples count as equal, as a fraction of the distance they count with."""
TIE_SHARE = 0.5
"""Distance with which equal samples count in each dimension, in reference bandwidths."""
BLOCK_CELLS = 2**20


def reference_bandwidth(n_samples: float, n_features: int, deviation: float = 1.0) -> float:
    """Return the bandwidth with minimal mean integrated squared error for Gaussian samples."""
    return deviation * float(4 / ((n_features + 2) * n_samples)) ** (1 / (n_features + 4))


def log_kernel_density(at: FloatArray, samples: FloatArray, bandwidth: float) -> FloatArray:
    """Return the log density at points (m, d), with Gaussian kernels on samples (n, d)."""
    logs: FloatArray = KernelDensity(bandwidth=bandwidth).fit(samples).score_samples(at)
    return logs


def leave_one_out_likelihoods(
    samples: FloatArray, bandwidths: FloatArray, tie_distance: float
) -> FloatArray:
    """Return the mean log density of samples under the kernels of the others, (n_bandwidths,).

        log f_-i(x_i) = log [ sum_{j != i} K_h(|x_i - x_j|) / (n - 1) ]

    up to a constant. Distances less than the rounding error of samples are replaced by
    `tie_distance`: with ties, which rounded values have, the likelihood would be unbounded as h
    goes to zero.
    """
    n = len(samples)
    sums = np.zeros(len(bandwidths))
    for rows in np.array_split(np.arange(n), 1 + n**2 // BLOCK_CELLS):
        distances = cdist(samples[rows], samples, "sqeuclidean")
        distances[distances <= (TIE * tie_distance) ** 2] = tie_distance**2
        distances[np.arange(len(rows)), rows] = np.inf
        nearest = distances.min(axis=1)
        for number, bandwidth in enumerate(bandwidths):
            kernels = np.exp((nearest[:, None] - distances) / (2 * bandwidth**2))
            logs = np.log(kernels.sum(axis=1) / (n - 1)) - nearest / (2 * bandwidth**2)
            sums[number] += logs.sum()
    return np.asarray(sums / n - samples.shape[1] * np.log(bandwidths))


def select_bandwidth(bandwidth: Any, samples: FloatArray, deviation: float) -> float:
    """Return `bandwidth` if it is a number, else the one of largest leave-one-out likelihood.

    Of ties, the largest. Equal samples count as half a reference bandwidth apart in each dimension.
    """
    if not isinstance(bandwidth, str):
        if not bandwidth > 0:
            raise ValueError(f"bandwidth must be above 0, got {bandwidth!r}.")
        return float(bandwidth)
    if bandwidth != "likelihood":
        raise ValueError(f"bandwidth must be 'likelihood' or a number, got {bandwidth!r}.")
    n_features = samples.shape[1]
    reference = reference_bandwidth(len(samples), n_features, deviation)
    if not np.any(np.ptp(samples, axis=0) > 0):  # identical samples
        return reference
    candidates = reference * FACTORS[::-1]
    tie_distance = TIE_SHARE * reference * np.sqrt(n_features)
    values = leave_one_out_likelihoods(samples, candidates, tie_distance)
    return float(candidates[int(np.argmax(values))])


def class_deviations(samples: FloatArray) -> FloatArray:
    """Return the standard deviation of each feature, or one where it is zero."""
    variances = samples.var(axis=0)
    return np.sqrt(np.where(variances > 1e-12, variances, 1.0))


class KernelDiscriminantAnalysis(DensityClassifier):
    r"""Discriminant analysis with a kernel density estimate for each class.

    The density of class :math:`k` is

    .. math::

        f_k(x) = \frac{1}{n_k} \sum_{i : y_i = k} N(x; x_i, h_k^2 \Sigma_W),

    where :math:`\Sigma_W` is the pooled within-class covariance. The bandwidth :math:`h_k`
    maximizes the leave-one-out likelihood

    .. math::

        \sum_{i : y_i = k} \log \frac{1}{n_k - 1} \sum_{j \ne i} N(x_i; x_j, h_k^2 \Sigma_W),

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
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Class prior probabilities. None means the class frequencies.

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
    >>> from opgd_paper.methods import KernelDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelDiscriminantAnalysis().fit(X, y)
    >>> model.bandwidths_.shape
    (3,)
    """

    components_: FloatArray
    bandwidths_: FloatArray

    def __init__(self, bandwidth: Any = "likelihood", *, priors: Any = None) -> None:
        self.bandwidth = bandwidth
        self.priors = priors

    def _fit_densities(self, X: FloatArray, codes: IntArray) -> None:
        whitened = whiten_classes(X, codes)
        self.components_, self._center = whitened.matrix.T, whitened.center
        self._samples = [whitened.Z[codes == k] for k in range(len(self.classes_))]
        deviations = [float(np.sqrt(np.mean(class_deviations(Z) ** 2))) for Z in self._samples]
        self.bandwidths_ = np.array(
            [
                select_bandwidth(self.bandwidth, Z, deviation)
                for Z, deviation in zip(self._samples, deviations, strict=True)
            ]
        )

    def _log_densities(self, X: FloatArray) -> FloatArray:
        at = (X - self._center) @ self.components_.T
        logs = [
            log_kernel_density(at, samples, bandwidth)
            for samples, bandwidth in zip(self._samples, self.bandwidths_, strict=True)
        ]
        return np.stack(logs, axis=1)


class KernelNaiveBayes(DensityClassifier):
    r"""Naive Bayes with a kernel density estimate for each class and feature.

    The density of class :math:`k` is

    .. math::

        f_k(x) = \prod_j \frac{1}{n_k} \sum_{i : y_i = k} N(x_j; x_{ij}, h_{kj}^2).

    Each bandwidth :math:`h_{kj}` maximizes the leave-one-out
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
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Class prior probabilities. None means the class frequencies.

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
    >>> from opgd_paper.methods import KernelNaiveBayes
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelNaiveBayes().fit(X, y)
    >>> model.bandwidths_.shape
    (3, 4)
    """

    bandwidths_: FloatArray

    def __init__(self, bandwidth: Any = "likelihood", *, priors: Any = None) -> None:
        self.bandwidth = bandwidth
        self.priors = priors

    def _fit_densities(self, X: FloatArray, codes: IntArray) -> None:
        self._center, self._scale = X.mean(axis=0), pooled_scale(X, codes)
        self._varying = np.flatnonzero(self._scale > 0)
        if len(self._varying) == 0:
            raise ValueError("All features of X are constant; at least one must vary.")
        Z = self._standardize(X)
        self._samples = [Z[codes == k] for k in range(len(self.classes_))]
        self.bandwidths_ = np.zeros((len(self.classes_), X.shape[1]))
        for k, samples in enumerate(self._samples):
            deviations = class_deviations(samples)
            for column, j in enumerate(self._varying):
                self.bandwidths_[k, j] = self._scale[j] * select_bandwidth(
                    self.bandwidth, samples[:, [column]], float(deviations[column])
                )

    def _standardize(self, X: FloatArray) -> FloatArray:
        """Return the features that vary, centered, in pooled standard deviations."""
        steps = X[:, self._varying] - self._center[self._varying]
        return np.asarray(steps / self._scale[self._varying])

    def _log_densities(self, X: FloatArray) -> FloatArray:
        at = self._standardize(X)
        logs = np.zeros((len(X), len(self.classes_)))
        for k, samples in enumerate(self._samples):
            for column, j in enumerate(self._varying):
                bandwidth = self.bandwidths_[k, j] / self._scale[j]
                logs[:, k] += log_kernel_density(at[:, [column]], samples[:, [column]], bandwidth)
        return logs


def pooled_scale(X: FloatArray, codes: IntArray) -> FloatArray:
    """Return the pooled within-class standard deviations of the features.

    A feature that is constant within all classes has its overall standard deviation instead, and a
    constant feature has zero.
    """
    overall = X.std(axis=0)
    varies = overall > 8 * np.finfo(float).eps * np.abs(X.mean(axis=0))
    means = np.array([X[codes == k].mean(axis=0) for k in range(int(codes.max()) + 1)])
    within = np.mean((X - means[codes]) ** 2, axis=0)
    scale = np.where(within > 1e-12 * overall**2, np.sqrt(within), overall)
    return np.where(varies, scale, 0.0)
