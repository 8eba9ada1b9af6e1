"""Calibration by a temperature and a background.

Models selected by their error rate tend to be overconfident, because the error rate does not depend
on the confidence. Posteriors are calibrated by two numbers that minimize the log-loss of held-out
samples: a temperature T, by which log joints are divided, and the share e of a background, the
prior probabilities:

    p = (1 - e) softmax(log joint / T) + e priors

The temperature corrects the confidence of typical samples. The background bounds the loss of a
single sample that the model excludes, so that few such samples do not determine the temperature.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit, logit, softmax

from opgd.core.solvers import maximize
from opgd.core.types import FloatArray, IntArray

TEMPERATURES: FloatArray = np.exp2(np.arange(-2.0, 7.0))
"""Temperatures at which models are compared; each is twice the one before it."""
N_SHARES, MAX_SHARE = 4, 0.3
"""Number of shares of the background at which models are compared, and the largest one."""
PENALTY = 2.0
"""Weight of the penalty log(temperature)^2 on the summed log-loss."""
LEAST_LOG_RATIO = -1e9
"""Log joints of a class without density, relative to the largest one of a sample."""
MIN_LOG_PROBABILITY = float(np.log(np.finfo(np.float64).eps))
"""Lower bound of uncalibrated log probabilities, as in scikit-learn's log-loss."""


@dataclass(frozen=True)
class Calibration:
    """Temperature, and share of the background."""

    temperature: float = 1.0
    background: float = 0.0


def least_background(n_samples: float) -> float:
    """Return the smallest share of the background that `n_samples` held-out samples support."""
    return 1.0 / (n_samples + 2.0)


@lru_cache(maxsize=16)
def make_shares(n_samples: float) -> FloatArray:
    """Return the shares of the background at which models are compared."""
    least = least_background(n_samples)
    shares: FloatArray = np.geomspace(least, max(MAX_SHARE, least), N_SHARES)
    shares.flags.writeable = False  # all callers get the same array
    return shares


def compute_losses(
    log_joint: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    true_priors: FloatArray,
    n_total: float,
) -> FloatArray:
    """Return weighted sums of log-losses by temperature and share, (n_temperatures, n_shares).

    Sums over splits can be added, so that models are compared without storing predictions.

    Parameters
    ----------
    log_joint : ndarray of shape (n, K)
    true_priors : ndarray of shape (n,), prior probabilities of the classes of the samples
    n_total : total weight of the held-out samples of all splits
    """
    shares = make_shares(n_total)
    background = shares * true_priors[:, None]  # (n, n_shares)
    relative = log_joint - log_joint.max(axis=1, keepdims=True)
    rows = np.arange(len(codes))
    losses = np.empty((len(TEMPERATURES), len(shares)))
    power = np.exp(relative / TEMPERATURES[-1])
    for i in reversed(range(len(TEMPERATURES))):
        posterior = power[rows, codes] / power.sum(axis=1)
        losses[i] = -weights @ np.log(posterior[:, None] * (1.0 - shares) + background)
        power *= power  # exp(x / T) is the square of exp(x / 2T)
    return losses


def brier_scores(log_joint: FloatArray, codes: IntArray) -> FloatArray:
    """Return the squared distance of each posterior from its true class, (n,), from 0 to 2."""
    residuals = softmax(log_joint, axis=1)
    residuals[np.arange(len(codes)), codes] -= 1.0
    scores: FloatArray = np.einsum("nk,nk->n", residuals, residuals)
    return scores


def raw_loss(log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """Return the weighted sum of log-losses without calibration."""
    relative = log_joint - log_joint.max(axis=1, keepdims=True)
    log_posterior = relative[np.arange(len(codes)), codes] - np.log(np.exp(relative).sum(axis=1))
    return float(-weights @ np.maximum(log_posterior, MIN_LOG_PROBABILITY))


def compare_at(losses: FloatArray) -> tuple[int, int]:
    """Return the indices of the temperature and the share with the smallest penalized loss."""
    penalized = losses + PENALTY * np.log(TEMPERATURES)[:, None] ** 2
    temperature, share = np.unravel_index(np.argmin(penalized), losses.shape)
    return int(temperature), int(share)


def fit_calibration(
    log_joint: FloatArray, codes: IntArray, weights: FloatArray, true_priors: FloatArray
) -> Calibration:
    """Return the temperature and the share that minimize the penalized loss of held-out samples.

    The penalty keeps the temperature near 1 for small samples. The search starts from the best of
    the values at which models are compared.
    """
    total = float(weights.sum())
    losses = compute_losses(log_joint, codes, weights, true_priors, total)
    i, j = compare_at(losses)
    objective = _HeldOutLikelihood(log_joint, codes, weights, true_priors)
    start = objective.encode(float(TEMPERATURES[i]), float(make_shares(total)[j]))
    return objective.decode(maximize(objective, start).directions)


class _HeldOutLikelihood:
    """Mean log posterior less the penalty, by log T and by the logit of e within its bounds."""

    def __init__(
        self, log_joint: FloatArray, codes: IntArray, weights: FloatArray, true_priors: FloatArray
    ) -> None:
        relative = log_joint - log_joint.max(axis=1, keepdims=True)
        self.relative = np.maximum(relative, LEAST_LOG_RATIO)  # finite: a product with 0 must be 0
        self.rows, self.codes = np.arange(len(codes)), codes
        self.weights, self.background = weights, true_priors
        self.least = least_background(float(weights.sum()))
        self.width = max(MAX_SHARE, 2 * self.least) - self.least

    def encode(self, temperature: float, share: float) -> FloatArray:
        """Return the variables, (1, 2)."""
        inside = np.clip((share - self.least) / self.width, 1e-3, 1 - 1e-3)
        return np.array([[np.log(temperature), logit(inside)]])

    def decode(self, at: FloatArray) -> Calibration:
        """Return the temperature and the share, within the bounds of the temperature."""
        temperature = np.clip(np.exp(at[0, 0]), TEMPERATURES[0], TEMPERATURES[-1])
        return Calibration(float(temperature), float(self.least + self.width * expit(at[0, 1])))

    def value(self, at: FloatArray) -> float:
        """Return the mean objective."""
        return self.value_and_gradient(at)[0]

    def value_and_gradient(self, at: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean objective and its derivatives, (1, 2)."""
        temperature, inside = np.exp(at[0, 0]), expit(at[0, 1])
        share = self.least + self.width * inside
        scaled = self.relative / temperature
        posteriors = softmax(scaled, axis=1)
        true = posteriors[self.rows, self.codes]
        mixed = (1 - share) * true + share * self.background
        excess = scaled[self.rows, self.codes] - np.sum(posteriors * scaled, axis=1)
        by_temperature = self.weights @ (-(1 - share) * true * excess / mixed)
        by_share = self.weights @ ((self.background - true) / mixed)
        value = self.weights @ np.log(mixed) - PENALTY * at[0, 0] ** 2
        slope = self.width * inside * (1 - inside)
        gradient = np.array([[by_temperature - 2 * PENALTY * at[0, 0], by_share * slope]])
        total = self.weights.sum()
        return float(value / total), gradient / total
