"""Kernel naive Bayes: kernel densities of the columns, independent inside a class."""

from typing import Any

import numpy as np

from opgd.baselines._bandwidths import log_kernel_density
from opgd.baselines._posterior import (
    LabeledSamples,
    PosteriorClassifier,
    column_moments,
    standardized,
)
from opgd.baselines.kernel import check_bandwidth, chosen_bandwidth, class_variances
from opgd.core.types import AnyArray, FloatArray, IntArray


class KernelNaiveBayes(PosteriorClassifier):
    """Naive Bayes with a kernel density for each class and column.

    With w_i the weights of the rows of class k,

        f_k(x) = prod_j  sum_i w_i N(x_j; x_ij, h_kj^2) / sum_i w_i .

    Each bandwidth h_kj is that under which the entries of class and column are likeliest when each
    is left out of its own density. Columns count as independent inside a class, as in
    scikit-learn's `GaussianNB`, but may have any shape. The model keeps all training rows.

    Parameters
    ----------
    bandwidth : "likelihood" or float, default="likelihood"
        A number is the bandwidth of all classes and columns, in pooled standard deviations.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of the rows.

    Attributes
    ----------
    bandwidths_ : ndarray of shape (n_classes, n_features)
        In the units of the columns; zero for a constant column, which is not used.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    John & Langley, "Estimating Continuous Distributions in Bayesian Classifiers", 1995.

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

    def _densities(self, rows: LabeledSamples) -> dict[str, Any]:
        center, scale = pooled_scale(rows)
        used = np.flatnonzero(scale > 0)
        Z = standardized(rows.X, center, np.where(scale > 0, scale, 1.0))
        bandwidths = np.zeros((rows.n_classes, len(scale)))
        for k in range(rows.n_classes):
            own, weights = Z[rows.codes == k], rows.weights[rows.codes == k]
            deviations = np.sqrt(class_variances(own, weights, np.ones(len(scale))))
            for j in used:
                column = own[:, [j]]
                bandwidths[k, j] = chosen_bandwidth(
                    self.bandwidth, column, weights, float(deviations[j])
                )
        return {
            "bandwidths_": bandwidths * scale,
            "_center": center,
            "_scale": scale,
            "_rows": Z,
            "_codes": rows.codes,
            "_weights": rows.weights,
        }

    def _log_densities(self, X: AnyArray) -> FloatArray:
        used = np.flatnonzero(self._scale > 0)
        at = standardized(X[:, used], self._center[used], self._scale[used])
        logs = np.zeros((len(X), len(self.bandwidths_)))
        for k, bandwidths in enumerate(self.bandwidths_):
            own = self._codes == k
            for column, j in enumerate(used):
                logs[:, k] += log_kernel_density(
                    at[:, [column]],
                    self._rows[own][:, [j]],
                    self._weights[own],
                    bandwidths[j] / self._scale[j],
                )
        return logs


def pooled_scale(rows: LabeledSamples) -> tuple[FloatArray, FloatArray]:
    """Means of the columns, and their standard deviations inside the classes.

    A column that differs between classes only has that of all rows, a constant one zero.
    """
    center, scale = column_moments(rows.X, rows.weights)
    Z, shares = standardized(rows.X, center, scale), rows.weights / rows.weights.sum()
    varies = shares @ Z**2 > 0.5  # one, or zero for constant columns
    means = np.zeros((rows.n_classes, len(scale)))
    np.add.at(means, rows.codes, shares[:, None] * Z)
    within = shares @ (Z - (means / rows.shares[:, None])[rows.codes]) ** 2
    within[within <= 1e-12] = 1.0
    return center, np.where(varies, scale * np.sqrt(within), 0.0)
