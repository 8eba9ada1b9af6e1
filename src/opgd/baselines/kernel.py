"""Kernel discriminant analysis: every class has the kernel density of its rows."""

from typing import Any

import numpy as np

from opgd._utils.validation import check_positive
from opgd.baselines._bandwidths import likeliest_bandwidth, log_kernel_density
from opgd.baselines._posterior import LabeledSamples, PosteriorClassifier, centered_scores, whitened
from opgd.core.types import AnyArray, FloatArray, IntArray


class KernelDiscriminantAnalysis(PosteriorClassifier):
    """Discriminant analysis with a kernel density for each class.

    With w_i the weights of the rows of class k, and Sigma_W the pooled covariance of the classes,

        f_k(x) = sum_i w_i N(x; x_i, h_k^2 Sigma_W) / sum_i w_i .

    The bandwidth h_k is that under which rows of the class are likeliest when each is left out of
    its own density. Nothing is assumed of the classes, so many rows are needed: as a rule several
    times more for every further column. The model keeps all training rows.

    Parameters
    ----------
    bandwidth : "likelihood" or float, default="likelihood"
        A number is the bandwidth of all classes, in pooled standard deviations.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of the rows.

    Attributes
    ----------
    bandwidths_ : ndarray of shape (n_classes,)
        In pooled standard deviations.
    components_ : ndarray of shape (n_dimensions, n_features)
        Map rows to coordinates in which the pooled covariance is the identity.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Hand, "Kernel Discriminant Analysis", 1982.

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

    def _densities(self, rows: LabeledSamples) -> dict[str, Any]:
        _, whitening, Z = whitened(rows)
        coordinates = whitening.coordinates
        bandwidths = np.empty(rows.n_classes)
        for k in range(rows.n_classes):
            own, weights = Z[rows.codes == k], rows.weights[rows.codes == k]
            deviation = float(np.sqrt(np.mean(class_variances(own, weights, 1.0))))
            bandwidths[k] = chosen_bandwidth(self.bandwidth, own, weights, deviation)
        return {
            "bandwidths_": bandwidths,
            "components_": coordinates.matrix.T,
            "_center": coordinates.center,
            "_rows": Z,
            "_codes": rows.codes,
            "_weights": rows.weights,
        }

    def _log_densities(self, X: AnyArray) -> FloatArray:
        at = centered_scores(X, self._center, self.components_)
        logs = np.empty((len(X), len(self.bandwidths_)))
        for k, bandwidth in enumerate(self.bandwidths_):
            own = self._codes == k
            logs[:, k] = log_kernel_density(at, self._rows[own], self._weights[own], bandwidth)
        return logs


def check_bandwidth(bandwidth: Any) -> None:
    """A number, or the word for choosing one."""
    if isinstance(bandwidth, str):
        if bandwidth != "likelihood":
            raise ValueError(f"bandwidth must be 'likelihood' or a number, got {bandwidth!r}.")
    else:
        check_positive("bandwidth", bandwidth)


def class_variances(own: FloatArray, weights: FloatArray, instead: Any) -> FloatArray:
    """Variances of the columns of weighted rows; `instead` for columns that have none."""
    shares = weights / weights.sum()
    variances: FloatArray = shares @ (own - shares @ own) ** 2
    return np.where(variances > 1e-12 * np.asarray(instead), variances, instead)


def chosen_bandwidth(
    bandwidth: Any, own: FloatArray, weights: FloatArray, deviation: float
) -> float:
    """The number given, or the likeliest for the rows of a class (n, d)."""
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    return likeliest_bandwidth(own, weights, deviation)
