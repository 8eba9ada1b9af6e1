r"""Order of features by what each adds to the separation of the classes.

Features are added one after the other. What the features before it explain of a feature, by linear
regression inside class :math:`k`, is subtracted from it; the residual is normally distributed there
with mean :math:`m_k` and variance :math:`v_k`, and over all classes with variance :math:`v`. Slopes
are shrunk toward those of all classes together, entirely if samples are few. Each time the feature
is added that maximizes

.. math::

    \frac{1}{n} \sum_i \log p(y_i \mid r_i) +
    \frac{\lambda}{2} \Big( \log v - \sum_k \pi_k \log v_k \Big),

where :math:`r_i` are the residuals of the features so far. The first term is the mean log posterior
of the true classes: it does not reward a feature for separating classes that others separate
already. The second is the information of the residual alone, whether means or variances differ. It
has less variance, and prevails once the samples are separated, but it also rewards what others
contribute already. So its weight :math:`\lambda` is large only where features are many and samples
of a class are few, and the first term would follow their noise.
"""

from dataclasses import dataclass

import numpy as np

from opgd.core.kernels import log_sum
from opgd.core.moments import Moments
from opgd.core.types import FloatArray, IntArray

MAX_INFORMATION_WEIGHT = 0.1
"""Maximum weight of the second term."""
INFORMATION_WEIGHT_RATE = 0.05
"""The weight of the second term is this times p K / n, or the maximum if that is smaller."""
SHRINKAGE = 0.3
"""Share of the pooled variance in the variance of each class, and least share in the slopes."""
RIDGE = 0.05
"""Share of the variance of a feature inside classes that is added to it, as noise of its own.

What is left of a copy of a selected feature is then mostly noise, however small it is."""
MIN_NOISE = 1e-12
"""Variance that is added at least, to features that are constant in each class."""
DIGITS = 10
"""Number of decimals that are compared, so that the first of equal features is selected."""
MAX_CANDIDATES = 1000
"""Number of features with the largest information of their own among which some are selected."""
MAX_STEPS = 100
"""Number of features that are selected one after the other."""
MAX_CELLS = 2**22
"""Number of log densities that are computed for each selection, which limits the samples."""
BLOCK_CELLS = 2**17
"""Number of log densities that are computed together, so that they fit the cache."""


@dataclass(frozen=True)
class LabeledRows:
    """Samples on which posteriors are compared."""

    rows: FloatArray  # (n, m), standardized features
    labels: IntArray  # (n,)
    weights: FloatArray  # (n,), with sum one


def screen_features(priors: FloatArray, means: FloatArray, variances: FloatArray) -> IntArray:
    """Return the features that vary, by their own information, from moments (K, p)."""
    information = compute_information(priors, means, variances).round(DIGITS)
    return np.argsort(-information, kind="stable")[: np.sum(information > -np.inf)]


def compute_information(priors: FloatArray, means: FloatArray, variances: FloatArray) -> FloatArray:
    """Return log v - sum_k pi_k log v_k of each feature, (p,), from moments (K, p)."""
    pooled = priors @ variances
    total = pooled + priors @ (means - priors @ means) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log(total) - priors @ np.log(shrink(priors, variances))
    return np.where(pooled > 0, information, np.where(total > 0, np.inf, -np.inf))


def shrink(priors: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the variances of the classes, (K, p), shrunk toward the pooled ones."""
    pooled = priors @ variances
    return (1 - SHRINKAGE) * np.maximum(variances, 0.0) + SHRINKAGE * pooled


def count_features_per_sample(classes: Moments) -> float:
    """Return the number of features divided by the mean number of samples of a class, p K / n."""
    return classes.means.size / float(classes.counts.sum())


def order_features(classes: Moments, sample: LabeledRows) -> IntArray:
    """Return the indices of features, the most useful one first.

    All but the first `MAX_STEPS` are in the order of what they add to these.

    Parameters
    ----------
    classes : moments of standardized features, all of which vary
    sample : samples of the same features
    """
    n_steps = min(MAX_STEPS, classes.means.shape[1])
    selection = _Selection(classes, sample, n_steps)
    for _ in range(n_steps):
        selection.add(int(np.argmax(selection.rate().round(DIGITS))))
    others = np.argsort(-selection.rate().round(DIGITS), kind="stable")[
        : classes.means.shape[1] - n_steps
    ]
    return np.concatenate([selection.selected, others]).astype(np.intp)


class _Selection:
    """Features selected so far, and the residuals of all features after regression on them."""

    def __init__(self, classes: Moments, sample: LabeledRows, n_steps: int) -> None:
        n_classes, n_features = classes.means.shape
        ratio = count_features_per_sample(classes)
        self.information_weight = min(MAX_INFORMATION_WEIGHT, INFORMATION_WEIGHT_RATE * ratio)
        self.shared = min(1.0, max(SHRINKAGE, ratio))  # of the pooled covariances in the slopes
        n_slopes = 1 if self.shared == 1.0 else n_classes
        noise = np.maximum(RIDGE * np.diag(classes.within), MIN_NOISE)
        self.covariances, self.priors = classes.covariances + np.diag(noise), classes.priors
        self.means = classes.means.copy()  # (K, m), of residuals
        self.variances = np.diagonal(self.covariances, axis1=1, axis2=2).copy()  # (K, m)
        self.sample = sample
        self.residuals = np.repeat(sample.rows.T[None], n_slopes, axis=0)  # (K or 1, m, n)
        self.log_joint = np.repeat(np.log(self.priors)[:, None], len(sample.labels), axis=1)
        self.selected: list[int] = []
        self._coefficients = np.empty((n_slopes, n_steps, n_features))
        self._with_selected = np.empty((n_classes, n_steps, n_features))

    def rate(self) -> FloatArray:
        """Return the objective after adding each feature, (m,); -inf for the selected ones."""
        values = compute_information(self.priors, self.means, self.variances)
        values *= 0.5 * self.information_weight
        values[self.selected] = -np.inf
        left = np.flatnonzero(values > -np.inf)
        step = max(1, BLOCK_CELLS // self.log_joint.size)
        for first in range(0, len(left), step):
            values[left[first : first + step]] += self._mean_log_posteriors(
                left[first : first + step]
            )
        return values

    def _mean_log_posteriors(self, features: IntArray) -> FloatArray:
        """Return the mean log posterior of the true classes after adding each feature."""
        log_joint = self._add_densities(features)
        true = log_joint[self.sample.labels, :, np.arange(len(self.sample.labels))]  # (n, b)
        values: FloatArray = self.sample.weights @ (true - log_sum(log_joint).T)
        return values

    def _add_densities(self, features: IntArray) -> FloatArray:
        """Return the log joints after adding each of some features, (K, b, n)."""
        variances = shrink(self.priors, self.variances)[:, features, None]
        steps = self.residuals[:, features] - self.means[:, features, None]
        steps *= steps
        steps /= -2.0 * variances
        steps -= 0.5 * np.log(variances)
        steps += self.log_joint[:, None]
        return steps

    def add(self, feature: int) -> None:
        """Select a feature."""
        n_selected = len(self.selected)
        self.log_joint = self._add_densities(np.array([feature]))[:, 0]
        covariances = self._residual_covariances(feature)
        slopes = self._estimate_slopes(covariances, feature)  # (K or 1, m)
        self.variances += slopes * (slopes * covariances[:, feature, None] - 2.0 * covariances)
        self.means -= slopes * self.means[:, feature, None]
        self.residuals -= slopes[:, :, None] * self.residuals[:, feature, None]
        coefficients = self._coefficients[:, :n_selected]
        coefficients -= coefficients[:, :, feature, None] * slopes[:, None]
        self._coefficients[:, n_selected] = slopes
        self._with_selected[:, n_selected] = self.covariances[:, feature]
        self.selected.append(feature)

    def _estimate_slopes(self, covariances: FloatArray, feature: int) -> FloatArray:
        """Return the slopes of all residuals on that of a feature, (K, m) or (1, m)."""
        pooled = (self.priors @ covariances)[None]
        if len(self.residuals) > 1:
            pooled = (1.0 - self.shared) * covariances + self.shared * pooled
        slopes: FloatArray = pooled / pooled[:, feature, None]
        return slopes

    def _residual_covariances(self, feature: int) -> FloatArray:
        """Return the covariances, by class, of all residuals with that of a feature, (K, m)."""
        n_selected = len(self.selected)
        coefficients = self._coefficients[:, :n_selected]  # (K or 1, s, m)
        with_selected = self._with_selected[:, :n_selected]
        with_residual = self.covariances[:, feature].copy()  # of all features with this residual
        with_residual -= (coefficients[:, None, :, feature] @ with_selected)[:, 0]
        explained = with_residual[:, None, self.selected] @ coefficients
        return with_residual - explained[:, 0]
