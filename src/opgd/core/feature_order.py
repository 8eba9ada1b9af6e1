r"""Order of features by what each adds to the separation of the classes.

A feature that is normally distributed in every class, with variances :math:`v_k` there and
:math:`v` over all samples, tells about

.. math::

    \tfrac{1}{2} \Big( \log v - \sum_k \pi_k \log v_k \Big)

nats about the class, whether means or variances differ. Features are added one after the other,
each the one with the largest gain after those before it were subtracted by linear regression
inside the classes. Everything follows from the moments of the classes.
"""

import numpy as np

from opgd.core.moments import Moments
from opgd.core.types import FloatArray, IntArray

SHRINKAGE = 0.1
"""Share of the pooled variance in the variance of each class."""
RIDGE = 0.05
"""Share of the variance of a feature that other features do not explain, at least."""
MAX_CANDIDATES = 1000
"""Number of features with the largest gains of their own among which features are selected."""
MAX_STEPS = 200
"""Number of features that are selected one after the other."""


def order_features(classes: Moments, roots: FloatArray) -> IntArray:
    """Return the indices of the features that vary, the most useful one first.

    All but the first `MAX_STEPS` are in the order of their gain after these, and all but the best
    `MAX_CANDIDATES` of their own gain.

    Parameters
    ----------
    classes : moments of the classes in coordinates with R dimensions
    roots : ndarray of shape (p, R)
        Standardized features as combinations of the coordinates.
    """
    means = classes.means @ roots.T
    variances = np.stack([np.sum(roots @ c * roots, axis=1) for c in classes.covariances])
    gains = compute_gains(classes.priors, means, variances)
    by_gain = np.argsort(-gains, kind="stable")[: np.sum(gains > -np.inf)]
    candidates, rest = by_gain[:MAX_CANDIDATES], by_gain[MAX_CANDIDATES:]
    n_steps = min(MAX_STEPS, len(candidates))
    selection = _Selection(classes.mapped(roots[candidates].T), n_steps)
    for _ in range(n_steps):
        selection.add_best()
    others = np.argsort(-selection.gains(), kind="stable")[: len(candidates) - n_steps]
    return np.concatenate([candidates[selection.selected], candidates[others], rest])


def compute_gains(priors: FloatArray, means: FloatArray, variances: FloatArray) -> FloatArray:
    """Return twice the gain of each feature, (p,), from moments (K, p)."""
    pooled = priors @ variances
    between = priors @ (means - priors @ means) ** 2
    in_class = (1 - SHRINKAGE) * np.maximum(variances, 0.0) + SHRINKAGE * pooled
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = np.log(pooled + between) - priors @ np.log(in_class)
    return np.where(pooled > 0, gains, np.where(between > 0, np.inf, -np.inf))


class _Selection:
    """Features selected so far, and moments of the residuals of all features.

    The residual of a feature is what is left of it after regression on the selected ones.
    """

    def __init__(self, classes: Moments, n_steps: int) -> None:
        n_classes, n_features = classes.means.shape
        self.covariances, self.priors = classes.covariances, classes.priors
        self.within = np.diag(classes.within)
        self.means = classes.means.copy()  # (K, m), of residuals
        self.variances = np.diagonal(classes.covariances, axis1=1, axis2=2).copy()  # (K, m)
        self.selected: list[int] = []
        self._coefficients = np.empty((n_steps, n_features))
        self._with_selected = np.empty((n_classes, n_steps, n_features))

    def gains(self) -> FloatArray:
        """Return the gain of each feature after the selected ones, -inf for these."""
        gains = compute_gains(self.priors, self.means, self.variances)
        gains[self.selected] = -np.inf
        return gains

    def add_best(self) -> None:
        """Select the feature with the largest gain."""
        best, n_selected = int(np.argmax(self.gains())), len(self.selected)
        covariances = self._residual_covariances(best)
        pooled = self.priors @ covariances
        slopes = pooled / (pooled[best] + RIDGE * self.within[best])
        self.variances += slopes * (slopes * covariances[:, best, None] - 2.0 * covariances)
        self.means -= slopes * self.means[:, best, None]
        coefficients = self._coefficients[:n_selected]
        coefficients -= np.outer(coefficients[:, best], slopes)
        self._coefficients[n_selected] = slopes
        self._with_selected[:, n_selected] = self.covariances[:, best]
        self.selected.append(best)

    def _residual_covariances(self, feature: int) -> FloatArray:
        """Return the covariances, by class, of all residuals with that of a feature, (K, m)."""
        n_selected = len(self.selected)
        coefficients = self._coefficients[:n_selected]  # of the selected features, (s, m)
        with_residual = self.covariances[:, feature].copy()  # of all features with this residual
        with_residual -= coefficients[:, feature] @ self._with_selected[:, :n_selected]
        return with_residual - with_residual[:, self.selected] @ coefficients
