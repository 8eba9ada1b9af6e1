r"""Order of features by what the separation of the classes loses without each of them.

Every class is a Gaussian of all features. Its variances are shrunk toward the pooled ones. Its
correlations are those of its covariance, shrunk toward the pooled one, entirely if samples are few.
Features are removed one after the other, each time the one without which

.. math::

    \frac{1}{n} \sum_i \log p(y_i \mid x_i) +
    \frac{\lambda}{2} \Big( \log |\Sigma| - \sum_k \pi_k \log |\Sigma_k| \Big), \qquad
    p(k \mid x) \propto \big( \pi_k \, \phi_k(x) \big)^{1/T},

is largest, where :math:`x_i` are the features that are left, with covariance :math:`\Sigma_k` in a
class and :math:`\Sigma` in all of them. The feature that is removed last is the first of the order.
So a feature that others can replace comes late, however informative it is alone, and one that is
useful only together with others does not.

The first term is the mean log posterior of the true classes. It does not reward a feature for
separating classes that others separate already. If features are many and samples few, most samples
are separated by any features, and a few decide; a temperature :math:`T > 1` takes more of them into
account. The second term is the information on the class if samples of all classes together were
normally distributed. It varies less between samples, and prevails once they are separated.

The Gaussians without a feature follow from those with it. Let :math:`P` be the inverse of the
correlations of a class, :math:`u` the deviations of a sample from its mean, divided by the standard
deviations :math:`\sigma`, and :math:`y = P u`. Removing the feature :math:`j` changes

.. math::

    \log \phi &\leftarrow \log \phi + \frac{y_j^2}{2 P_{jj}}
    - \frac{1}{2} \log P_{jj} + \log \sigma_j + \text{const}, \\
    P &\leftarrow P - \frac{P_{\cdot j} P_{j \cdot}}{P_{jj}}, \qquad
    y \leftarrow y - \frac{P_{\cdot j} y_j}{P_{jj}}.
"""

from dataclasses import dataclass

import numpy as np

from opgd.core.kernels import log_sum
from opgd.core.moments import Moments
from opgd.core.types import FloatArray, IntArray

SHRINKAGE = 0.3
"""Share of the pooled variance in the variance of each class, and least share in correlations."""
RIDGE = 0.05
"""Share of the variance of a feature inside classes that is added to it, as noise of its own.

What is left of a copy of a selected feature is then mostly noise, however small it is."""
MIN_NOISE = 1e-4
"""Share of the total variance that is added at least, to features that are constant in each class.

It bounds the condition of the covariances, from which features are removed many times."""
INFORMATION_WEIGHT = 0.03
"""Weight of the second term."""
TEMPERATURE_RATE, MAX_TEMPERATURE = 10.0, 3.0
"""The temperature is the first times p K / n, at least one and at most the second."""
MIN_LOSS = 1e-3
"""Mean log-loss below which samples count as separated; the temperature is then doubled."""
MAX_DOUBLINGS = 60
"""Maximum number of times that the temperature is doubled."""
DIGITS = 10
"""Number of decimals that are compared, so that the first of equal features is preferred."""
MAX_CANDIDATES = 1000
"""Number of features with the largest information of their own that are compared with others."""
MAX_STEPS = 100
"""Number of features up to which they are removed one by one."""
REMOVED_SHARE = 0.1
"""Share of the features that are removed together if there are more."""
MAX_REPLACED = 0.1
"""Maximum share of a feature, given all others, that those removed together with it explain.

Of features that can replace each other, only one is removed at a time."""
MAX_CELLS = 2**22
"""Number of log densities that are computed for each step, which limits the samples.

About four arrays of this size exist at the same time."""
MAX_MATRIX_CELLS = 2**23
"""Number of entries of the covariances above which all classes have the same correlations."""
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
    """Return log v - sum_k pi_k log v_k of each feature, (p,), from moments (K, p).

    v is the variance of all samples, and v_k that of a class, shrunk toward the pooled one.
    """
    pooled = priors @ variances
    total = pooled + priors @ (means - priors @ means) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log(total) - priors @ np.log(shrink(priors, variances))
    return np.where(pooled > 0, information, np.where(total > 0, np.inf, -np.inf))


def shrink(priors: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the variances of the classes, (K, p), shrunk toward the pooled ones."""
    pooled = priors @ variances
    return (1 - SHRINKAGE) * np.maximum(variances, 0.0) + SHRINKAGE * pooled


def order_features(classes: Moments, sample: LabeledRows) -> IntArray:
    """Return the indices of features, the most useful one first.

    Of equally useful features, those with smaller indices come first: sort them by their own
    information before.

    Parameters
    ----------
    classes : moments of standardized features, all of which vary
    sample : samples of the same features
    """
    elimination = _Elimination(classes, sample)
    removed: list[int] = []
    while elimination.n_left > 1:
        removed.extend(elimination.remove(elimination.list_useless()))
    return np.array([*elimination.left, *removed[::-1]], dtype=np.intp)


class _Elimination:
    """Features that are left, and the Gaussians of the classes in these features."""

    def __init__(self, classes: Moments, sample: LabeledRows) -> None:
        ratio = classes.means.size / float(classes.counts.sum())
        self.temperature = min(MAX_TEMPERATURE, max(1.0, TEMPERATURE_RATE * ratio))
        self.sample, self.priors = sample, classes.priors
        self.left = np.arange(classes.means.shape[1])
        noise = np.maximum(RIDGE * np.diag(classes.within), MIN_NOISE)
        variances = np.diagonal(classes.covariances, axis1=1, axis2=2)
        deviations = np.sqrt(shrink(classes.priors, variances) + noise)
        self.log_deviations = np.log(deviations)  # (K, m)
        self.inverse_total = invert(classes.total + np.diag(noise))  # (m, m)
        share = min(1.0, max(SHRINKAGE, ratio))
        if classes.covariances.size > MAX_MATRIX_CELLS:
            share = 1.0
        covariances = share_covariances(classes, share)
        # P of each class, (K, m, m), or (1, m, m) if all classes have the same correlations
        self.inverses = invert(correlate(covariances + np.diag(noise)))
        rows = (sample.rows.T - classes.means[:, :, None]) / deviations[:, :, None]
        self.rows = self.inverses @ rows  # y of the samples, (K, m, n)
        constants = np.log(self.priors) - self.log_deviations.sum(axis=1)
        constants = constants + 0.5 * np.linalg.slogdet(self.inverses)[1]
        self.log_joint = constants[:, None] - 0.5 * np.einsum("kmn,kmn->kn", rows, self.rows)

    @property
    def n_left(self) -> int:
        """Return the number of features that are left."""
        return len(self.left)

    def list_useless(self) -> IntArray:
        """Return the places in `left` of features to remove together."""
        # of equally useful features, the last is removed first
        places = self.n_left - 1 - np.argsort(-self.rate()[::-1], kind="stable")
        if self.n_left <= MAX_STEPS:
            return places[:1]
        n_removed = min(int(REMOVED_SHARE * self.n_left), self.n_left - MAX_STEPS)
        weights = self.priors if len(self.inverses) > 1 else None
        inverse = correlate(np.average(self.inverses, axis=0, weights=weights)[None])[0]
        listed: list[int] = []
        for place in places[: self.n_left // 2]:
            if inverse[place, place] >= 1.0 - MAX_REPLACED:  # one before any feature is listed
                listed.append(int(place))
                inverse -= np.outer(inverse[:, place], inverse[place] / inverse[place, place])
            if len(listed) == n_removed:
                break
        return np.array(listed)

    def rate(self) -> FloatArray:
        """Return the objective without each feature, up to a constant, (m,)."""
        temperature = self._raise_temperature()
        diagonals = np.diagonal(self.inverses, axis1=1, axis2=2)  # (K or 1, m)
        log_variances = 2.0 * self.log_deviations - np.log(diagonals)  # given the others, (K, m)
        information = -np.log(np.diag(self.inverse_total)) - self.priors @ log_variances
        values = -0.5 * INFORMATION_WEIGHT * information
        step = max(1, BLOCK_CELLS // self.log_joint.size)
        for first in range(0, self.n_left, step):
            places = slice(first, first + step)
            log_joint = self.rows[:, places] ** 2
            log_joint /= 2.0 * diagonals[:, places, None]
            log_joint += 0.5 * log_variances[:, places, None]
            log_joint += self.log_joint[:, None]
            log_joint /= temperature
            values[places] += self._mean_log_posteriors(log_joint)
        return values.round(DIGITS)

    def remove(self, places: IntArray) -> list[int]:
        """Remove the features at some places in `left`; return them, as given."""
        kept = np.delete(np.arange(self.n_left), places)
        removed = self.rows[:, places]
        block = self.inverses[:, places][:, :, places]
        squares = np.einsum("kbn,kbn->kn", removed, invert(block) @ removed)
        constants = self.log_deviations[:, places].sum(axis=1) - 0.5 * np.linalg.slogdet(block)[1]
        self.log_joint += 0.5 * squares + constants[:, None]
        self.inverses, slopes = remove_from_inverses(self.inverses, places, kept)
        self.rows = self.rows[:, kept] - slopes @ removed
        self.inverse_total = remove_from_inverses(self.inverse_total[None], places, kept)[0][0]
        self.log_deviations = self.log_deviations[:, kept]
        features = self.left[places].tolist()
        self.left = self.left[kept]
        return features

    def _raise_temperature(self) -> float:
        """Return the temperature, doubled until the samples are not separated."""
        temperature = self.temperature
        for _ in range(MAX_DOUBLINGS):
            if self._mean_log_posteriors(self.log_joint[:, None] / temperature)[0] <= -MIN_LOSS:
                break
            temperature *= 2.0
        return temperature

    def _mean_log_posteriors(self, log_joint: FloatArray) -> FloatArray:
        """Return the mean log posteriors of the true classes, (b,), from log joints (K, b, n)."""
        true = log_joint[self.sample.labels, :, np.arange(len(self.sample.labels))]  # (n, b)
        values: FloatArray = self.sample.weights @ (true - log_sum(log_joint).T)
        return values


def share_covariances(classes: Moments, share: float) -> FloatArray:
    """Return covariances (K, m, m) with a share of the pooled one, or (1, m, m) if it is all."""
    pooled: FloatArray = classes.within[None]
    return pooled if share == 1.0 else (1.0 - share) * classes.covariances + share * pooled


def correlate(covariances: FloatArray) -> FloatArray:
    """Return covariances (K, m, m) divided by the standard deviations."""
    scales = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return covariances / (scales[:, :, None] * scales[:, None])


def invert(matrices: FloatArray) -> FloatArray:
    """Return the inverses of matrices (..., m, m)."""
    return np.linalg.inv(matrices).astype(np.float64, copy=False)


def remove_from_inverses(
    inverses: FloatArray, removed: IntArray, kept: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the inverses (K, a, a) of matrices without some features, from inverses with them.

    The second array are the slopes (K, a, b) by which rows of the removed features change others.
    """
    slopes = inverses[:, kept][:, :, removed] @ invert(inverses[:, removed][:, :, removed])
    return inverses[:, kept][:, :, kept] - slopes @ inverses[:, removed][:, :, kept], slopes
