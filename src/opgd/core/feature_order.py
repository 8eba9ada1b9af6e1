r"""Order of features by what each adds to the separation of the classes.

Features are added one after the other. What the features before it explain of a feature, by linear
regression inside the classes, is subtracted from it; the residual is normally distributed in
class :math:`k` with mean :math:`m_k` and variance :math:`v_k`, and over all samples with variance
:math:`v`. Each time the feature is added that maximizes

.. math::

    \frac{1}{n} \sum_i \log p(y_i \mid r_i) +
    \frac{\lambda}{2} \Big( \log v - \sum_k \pi_k \log v_k \Big),

where :math:`r_i` are the residuals of the features so far. The first term is the mean log posterior
of the true classes: it does not reward a feature for separating classes that others separate
already. The second is the information of the residual alone, whether means or variances differ. It
has less variance, and prevails once the samples are separated.

A feature that was useful alone may no longer be needed beside those added later. A given number of
features is therefore selected from twice as many. These are removed one after the other: each time
the one whose residual, after regression on those that remain, contributes least to the objective.
"""

from dataclasses import dataclass

import numpy as np

from opgd.core.kernels import log_sum
from opgd.core.moments import Moments
from opgd.core.types import FloatArray, IntArray

INFORMATION_WEIGHT = 0.1
"""Weight of the second term."""
SHRINKAGE = 0.3
"""Share of the pooled variance in the variance of each class."""
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
PRUNING_RATIO = 2
"""Number of features, relative to that to be selected, from which others are removed."""
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


def log_densities(
    priors: FloatArray, residuals: FloatArray, means: FloatArray, variances: FloatArray
) -> FloatArray:
    """Return log densities (K, m, n) of residuals (m, n), up to a constant.

    Means and variances of the residuals have shape (K, m).
    """
    variances = shrink(priors, variances)[..., None]
    steps = residuals - means[..., None]
    steps *= steps
    steps /= -2.0 * variances
    steps -= 0.5 * np.log(variances)
    return steps


def mean_log_posteriors(log_joint: FloatArray, sample: LabeledRows) -> FloatArray:
    """Return the mean log posterior of the true classes, (m,), from log joints (K, m, n)."""
    true = log_joint[sample.labels, :, np.arange(len(sample.labels))]  # (n, m)
    values: FloatArray = sample.weights @ (true - log_sum(log_joint).T)
    return values


def add_noise(classes: Moments) -> FloatArray:
    """Return the covariances of the classes, (K, m, m), with the noise of each feature."""
    noise = np.maximum(RIDGE * np.diag(classes.within), MIN_NOISE)
    covariances: FloatArray = classes.covariances + np.diag(noise)
    return covariances


@dataclass(frozen=True)
class FeatureOrder:
    """Features in the order in which they were added, and what any number of them needs."""

    classes: Moments  # of standardized features, all of which vary
    sample: LabeledRows
    added: IntArray  # (m,)

    def with_selected(self, n_selected: int) -> IntArray:
        """Return the features, (m,), such that a number of selected ones comes first."""
        n_first = min(PRUNING_RATIO * n_selected, MAX_STEPS, len(self.added))
        if n_selected >= n_first:
            return self.added
        kept = prune_features(self.classes, self.sample, self.added[:n_first], n_selected)
        return np.concatenate([kept, self.added[~np.isin(self.added, kept)]])


def order_features(classes: Moments, sample: LabeledRows) -> FeatureOrder:
    """Return the features, the most useful one first.

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
    added = np.concatenate([selection.selected, others]).astype(np.intp)
    return FeatureOrder(classes, sample, added)


class _Selection:
    """Features selected so far, and the residuals of all features after regression on them."""

    def __init__(self, classes: Moments, sample: LabeledRows, n_steps: int) -> None:
        n_classes, n_features = classes.means.shape
        self.covariances, self.priors = add_noise(classes), classes.priors
        self.means = classes.means.copy()  # (K, m), of residuals
        self.variances = np.diagonal(self.covariances, axis1=1, axis2=2).copy()  # (K, m)
        self.sample, self.residuals = sample, sample.rows.T.copy()  # (m, n)
        self.log_joint = np.repeat(np.log(self.priors)[:, None], len(sample.labels), axis=1)
        self.selected: list[int] = []
        self._coefficients = np.empty((n_steps, n_features))
        self._with_selected = np.empty((n_classes, n_steps, n_features))

    def rate(self) -> FloatArray:
        """Return the objective after adding each feature, (m,); -inf for the selected ones."""
        values = compute_information(self.priors, self.means, self.variances)
        values *= 0.5 * INFORMATION_WEIGHT
        values[self.selected] = -np.inf
        left = np.flatnonzero(values > -np.inf)
        step = max(1, BLOCK_CELLS // self.log_joint.size)
        for first in range(0, len(left), step):
            features = left[first : first + step]
            values[features] += mean_log_posteriors(self._add_densities(features), self.sample)
        return values

    def _add_densities(self, features: IntArray) -> FloatArray:
        """Return the log joints after adding each of some features, (K, b, n)."""
        log_joint = log_densities(
            self.priors,
            self.residuals[features],
            self.means[:, features],
            self.variances[:, features],
        )
        log_joint += self.log_joint[:, None]
        return log_joint

    def add(self, feature: int) -> None:
        """Select a feature."""
        n_selected = len(self.selected)
        self.log_joint = self._add_densities(np.array([feature]))[:, 0]
        covariances = self._residual_covariances(feature)
        pooled = self.priors @ covariances
        slopes = pooled / pooled[feature]
        self.variances += slopes * (slopes * covariances[:, feature, None] - 2.0 * covariances)
        self.means -= slopes * self.means[:, feature, None]
        self.residuals -= np.outer(slopes, self.residuals[feature])
        coefficients = self._coefficients[:n_selected]
        coefficients -= np.outer(coefficients[:, feature], slopes)
        self._coefficients[n_selected] = slopes
        self._with_selected[:, n_selected] = self.covariances[:, feature]
        self.selected.append(feature)

    def _residual_covariances(self, feature: int) -> FloatArray:
        """Return the covariances, by class, of all residuals with that of a feature, (K, m)."""
        n_selected = len(self.selected)
        coefficients = self._coefficients[:n_selected]  # of the selected features, (s, m)
        with_residual = self.covariances[:, feature].copy()  # of all features with this residual
        with_residual -= coefficients[:, feature] @ self._with_selected[:, :n_selected]
        return with_residual - with_residual[:, self.selected] @ coefficients


def prune_features(
    classes: Moments, sample: LabeledRows, features: IntArray, n_kept: int
) -> IntArray:
    """Return the features that remain, (n_kept,), when the others are removed one after the other.

    Parameters
    ----------
    classes, sample : as for `order_features`
    features : indices of the features to start from; those that remain keep this order
    n_kept : number of features that remain
    """
    covariances = add_noise(classes)
    kept = np.asarray(features, dtype=np.intp)
    while len(kept) > n_kept:
        part = _Part(
            covariances[:, kept[:, None], kept],
            classes.priors,
            classes.means[:, kept],
            LabeledRows(sample.rows[:, kept], sample.labels, sample.weights),
        )
        last = np.argmax(part.rate().round(DIGITS)[::-1])  # of equal features, the first remains
        kept = np.delete(kept, len(kept) - 1 - last)
    return kept


@dataclass(frozen=True)
class _Part:
    """Moments and samples of some features, one of which is to be removed."""

    covariances: FloatArray  # (K, m, m)
    priors: FloatArray  # (K,)
    means: FloatArray  # (K, m)
    sample: LabeledRows  # of these features

    def rate(self) -> FloatArray:
        """Return the objective after removing each feature, (m,)."""
        within = np.tensordot(self.priors, self.covariances, 1)
        triangle = np.linalg.inv(np.linalg.cholesky(within))
        log_joint = np.log(self.priors)[:, None] + self._sum_densities(triangle)
        precision = triangle.T @ triangle
        means, variances, residuals = self._regress(precision)
        values = -0.5 * INFORMATION_WEIGHT * compute_information(self.priors, means, variances)
        step = max(1, BLOCK_CELLS // log_joint.size)
        for first in range(0, len(values), step):
            block = slice(first, first + step)
            without = -log_densities(
                self.priors, residuals[block], means[:, block], variances[:, block]
            )
            without += log_joint[:, None]
            values[block] += mean_log_posteriors(without, self.sample)
        return values

    def _sum_densities(self, triangle: FloatArray) -> FloatArray:
        """Return log densities of all features, (K, n), each one given those before it."""
        means, variances, residuals = self._regress(triangle)
        total = np.zeros((len(self.priors), residuals.shape[1]))
        step = max(1, BLOCK_CELLS // total.size)
        for first in range(0, len(residuals), step):
            block = slice(first, first + step)
            total += log_densities(
                self.priors, residuals[block], means[:, block], variances[:, block]
            ).sum(axis=1)
        return total

    def _regress(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return means and variances (K, m) and values (m, n) of residuals.

        Row j of `coefficients` (m, m) is proportional to those of the residual of feature j.
        """
        coefficients = coefficients / np.diag(coefficients)[:, None]
        variances = np.sum(coefficients @ self.covariances * coefficients, axis=2)
        return self.means @ coefficients.T, variances, coefficients @ self.sample.rows.T
