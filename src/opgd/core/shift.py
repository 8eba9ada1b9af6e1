"""New class shares by EM, and changes of means and standard deviations.

If only the class shares differ between training and new samples, the density of the latter is

    f(x) = sum_k share_k f_k(x),   and   p_ik / prior_k  is proportional to  f_k(x_i)

with the posteriors p and priors of the model. The shares that maximize the likelihood of the new
samples are found by EM (Saerens, Latinne & Decaestecker 2002). EM multiplies errors of the
posteriors, so they are first corrected on held-out samples by a temperature and a bias of each
class (Alexandari, Kundaje & Shrikumar 2020).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from opgd.core.solvers import maximize
from opgd.core.types import AnyArray, FloatArray, IntArray

LEAST_SHARE = 1e-9
"""Lower bound of estimated shares, so that they can be used as priors."""
MAX_ITER, TOLERANCE = 1000, 1e-7
PENALTY = 1.0
"""Weight of the squared logarithm of the temperature and the squared biases, in samples."""
LEAST_INFORMATION = 2.0
"""Lower bound of the information in a direction, since shares have a variance of at most 1 / 2."""
MAX_ERROR = 0.5
"""Upper bound of standard errors, the largest standard deviation of a number from 0 to 1."""
LEAST_LOG_POSTERIOR = -1e3
"""Lower bound of log posteriors that are corrected."""


@dataclass(frozen=True)
class ClassShares:
    """Estimated shares of the classes with their standard errors, (K,)."""

    shares: FloatArray
    standard_errors: FloatArray
    n_iter: int
    converged: bool


def estimate_shares(log_posteriors: FloatArray, priors: FloatArray) -> ClassShares:
    """Estimate class shares of samples from their log posteriors (n, K) under given priors (K,)."""
    log_ratios = log_posteriors - np.log(priors)
    ratios = np.exp(log_ratios - log_ratios.max(axis=1, keepdims=True))
    shares, n_iter, converged = priors.copy(), 0, False
    while n_iter < MAX_ITER and not converged:
        joint = ratios * shares
        new = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        converged = bool(np.abs(new - shares).max() < TOLERANCE)
        shares, n_iter = new, n_iter + 1
    shares = np.maximum(shares, LEAST_SHARE)
    shares /= shares.sum()
    return ClassShares(shares, _standard_errors(ratios, shares), n_iter, converged)


def _standard_errors(ratios: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the standard errors of shares from the observed information on the simplex, (K,).

    Samples may have no information on some shares, because they are missing or because no sample
    belongs to these classes. The errors of these shares are bounded by what shares can vary.
    """
    n_classes = len(shares)
    slopes = ratios / (ratios @ shares)[:, None]  # of the log-likelihood of each sample
    # orthonormal directions that keep the sum of the shares
    tangent = np.linalg.svd(np.ones((1, n_classes)))[2][1:]
    information = tangent @ (slopes.T @ slopes) @ tangent.T
    values, vectors = np.linalg.eigh(information)
    directions = tangent.T @ vectors
    variances = directions**2 @ (1.0 / np.maximum(values, LEAST_INFORMATION))
    errors: FloatArray = np.minimum(np.sqrt(variances), MAX_ERROR)
    return errors


@dataclass(frozen=True)
class Correction:
    """Corrected log posteriors: softmax of log posteriors / temperature + biases."""

    temperature: float
    biases: FloatArray  # (K,)

    def apply(self, log_posteriors: FloatArray) -> FloatArray:
        """Return corrected log posteriors, (n, K)."""
        scaled = np.maximum(log_posteriors, LEAST_LOG_POSTERIOR) / self.temperature
        corrected: FloatArray = log_softmax(scaled + self.biases, axis=1)
        return corrected


def fit_correction(log_posteriors: FloatArray, codes: IntArray, weights: FloatArray) -> Correction:
    """Return the correction that maximizes the penalized likelihood of held-out samples."""
    objective = _CorrectedLikelihood(log_posteriors, codes, weights)
    at = maximize(objective, np.zeros((1, 1 + log_posteriors.shape[1]))).directions[0]
    return Correction(float(np.exp(-at[0])), at[1:])


class _CorrectedLikelihood:
    """Mean log posterior of the true classes less a penalty, by -log T and biases, (1, 1 + K)."""

    def __init__(self, log_posteriors: FloatArray, codes: IntArray, weights: FloatArray) -> None:
        self.log_posteriors = np.maximum(log_posteriors, LEAST_LOG_POSTERIOR)
        self.targets = np.eye(log_posteriors.shape[1])[codes]
        self.weights = weights

    def value(self, at: FloatArray) -> float:
        """Return the mean objective."""
        return self.value_and_gradient(at)[0]

    def value_and_gradient(self, at: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean objective and its derivatives, (1, 1 + K)."""
        scaled = np.exp(at[0, 0]) * self.log_posteriors
        corrected = log_softmax(scaled + at[0, 1:], axis=1)
        slopes = self.weights[:, None] * (self.targets - np.exp(corrected))  # (n, K)
        total = self.weights.sum()
        value = self.weights @ np.sum(self.targets * corrected, axis=1)
        gradient = np.concatenate([[np.sum(slopes * scaled)], slopes.sum(axis=0)])
        value -= 0.5 * PENALTY * float(at[0] @ at[0])
        return float(value / total), (gradient - PENALTY * at[0])[None] / total


@dataclass(frozen=True)
class Moves:
    """How columns moved: change of the mean in standard deviations, and ratio of the latter."""

    shift: FloatArray  # (p,)
    standard_error: FloatArray  # (p,)
    spread: FloatArray  # (p,), standard deviation divided by the expected one


def compare_moments(
    values: AnyArray,
    weights: FloatArray,
    means: FloatArray,
    variances: FloatArray,
    n_reference: float = np.inf,
) -> Moves:
    """Compare columns of values (n, p) with a mixture of distributions.

    Parameters
    ----------
    weights, means, variances : weights (C,), means (C, p) and variances (C, p) of the mixture
    n_reference : number of samples from which the mixture was estimated
    """
    expected = weights @ means
    deviation = np.sqrt(weights @ (variances + (means - expected) ** 2))
    deviation = np.where(deviation > 0, deviation, 1.0)  # of a constant column
    known = ~np.isnan(values)
    n_known = known.sum(axis=0)
    with np.errstate(invalid="ignore"):  # nan for a column without values
        found = np.where(known, values, 0.0).sum(axis=0, dtype=np.float64) / n_known
        steps = np.where(known, values - found, 0.0)
        spread = np.sqrt(np.einsum("ij,ij->j", steps, steps) / n_known) / deviation
        error = np.sqrt(spread**2 / n_known + 1.0 / n_reference)
    return Moves((found - expected) / deviation, error, spread)
