"""Calibration by a temperature: posteriors are softmax(log joint / temperature).

Models selected by their error rate tend to be overconfident, because the error rate does not depend
on the confidence. The temperature that minimizes the log-loss on held-out samples corrects most of
this without changing predicted classes.
"""

import numpy as np
from scipy.special import logsumexp

from opgd.core.types import FloatArray, IntArray

TEMPERATURES: FloatArray = 2.0 ** np.arange(-3, 8.01, 0.25)
PENALTY = 2.0
"""Weight of the penalty log(temperature)^2 on the summed log-loss."""
MIN_LOG_PROBABILITY = float(np.log(np.finfo(np.float64).eps))
"""Lower bound of log probabilities, as in scikit-learn's log-loss, for classes without samples."""


def compute_loss_curve(log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """Return the weighted sum of log-losses at each of TEMPERATURES; log_joint is (n, K).

    Sums over splits can be added, so that a temperature is fitted without storing predictions.
    """
    relative = log_joint - log_joint.max(axis=1, keepdims=True)
    true_class = relative[np.arange(len(codes)), codes]
    losses = [
        weights @ np.maximum(true_class / t - logsumexp(relative / t, axis=1), MIN_LOG_PROBABILITY)
        for t in TEMPERATURES
    ]
    return -np.array(losses)


def best_temperature(curve: FloatArray) -> float:
    """Return the temperature that minimizes a penalized curve, by parabolic interpolation.

    The penalty keeps the temperature near 1 for small samples. Without it, the temperature would
    tend to 0 if no held-out sample is misclassified, and all probabilities to 0 or 1.
    """
    penalized = curve + PENALTY * np.log(TEMPERATURES) ** 2
    lowest = int(np.argmin(penalized))
    if lowest in (0, len(penalized) - 1):
        return float(TEMPERATURES[lowest])
    before, at, after = penalized[lowest - 1 : lowest + 2]
    shift = 0.5 * (before - after) / (before - 2 * at + after)
    step = np.log(TEMPERATURES[1] / TEMPERATURES[0])
    return float(TEMPERATURES[lowest] * np.exp(shift * step))


def interpolate_loss(curve: FloatArray, temperature: float) -> float:
    """Return the loss at a temperature, by linear interpolation of a curve in log temperature."""
    return float(np.interp(np.log(temperature), np.log(TEMPERATURES), curve))
