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

import numpy as np
from scipy.optimize import minimize

from opgd.core.fitted import mix_background
from opgd.core.types import FloatArray, IntArray

TEMPERATURES: FloatArray = np.exp2(np.arange(-2.0, 7.0))
"""Temperatures at which models are compared; each is twice the one before it."""
N_SHARES, MAX_SHARE = 4, 0.3
"""Number of shares of the background at which models are compared, and the largest one."""
PENALTY = 2.0
"""Weight of the penalty log(temperature)^2 on the summed log-loss."""
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


def make_shares(n_samples: float) -> FloatArray:
    """Return the shares of the background at which models are compared."""
    least = least_background(n_samples)
    return np.geomspace(least, max(MAX_SHARE, least), N_SHARES)


def compute_losses(
    log_joint: FloatArray, codes: IntArray, weights: FloatArray, priors: FloatArray, n_total: float
) -> FloatArray:
    """Return weighted sums of log-losses by temperature and share, (n_temperatures, n_shares).

    Sums over splits can be added, so that models are compared without storing predictions.

    Parameters
    ----------
    log_joint : ndarray of shape (n, K)
    priors : ndarray of shape (K,)
    n_total : number of held-out samples of all splits
    """
    shares = make_shares(n_total)
    background = shares * priors[codes, None]  # (n, n_shares)
    relative = log_joint - log_joint.max(axis=1, keepdims=True)
    rows = np.arange(len(codes))
    losses = np.empty((len(TEMPERATURES), len(shares)))
    power = np.exp(relative / TEMPERATURES[-1])
    for i in reversed(range(len(TEMPERATURES))):
        posterior = power[rows, codes] / power.sum(axis=1)
        losses[i] = -weights @ np.log(posterior[:, None] * (1.0 - shares) + background)
        power *= power  # exp(x / T) is the square of exp(x / 2T)
    return losses


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
    log_joint: FloatArray, codes: IntArray, weights: FloatArray, priors: FloatArray
) -> Calibration:
    """Return the temperature and the share that minimize the penalized loss of held-out samples.

    The penalty keeps the temperature near 1 for small samples. The search starts from the best of
    the values at which models are compared.
    """
    total = float(weights.sum())
    least = least_background(total)
    losses = compute_losses(log_joint, codes, weights, priors, total)
    i, j = compare_at(losses)
    start = np.array([np.log(TEMPERATURES[i]), np.log(make_shares(total)[j])])
    rows = np.arange(len(codes))

    def loss(parameters: FloatArray) -> float:
        temperature, share = np.exp(parameters)
        log_posterior = mix_background(log_joint / temperature, share, priors)
        return float(-weights @ log_posterior[rows, codes]) + PENALTY * parameters[0] ** 2

    bounds = [
        (np.log(TEMPERATURES[0]), np.log(TEMPERATURES[-1])),
        (np.log(least), np.log(max(MAX_SHARE, least))),
    ]
    outcome = minimize(loss, start, method="L-BFGS-B", bounds=bounds)
    best = outcome.x if outcome.fun <= loss(start) else start
    return Calibration(float(np.exp(best[0])), float(np.exp(best[1])))
