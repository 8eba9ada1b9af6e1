"""One temperature for honest probabilities: posteriors are softmax(log joint / temperature).

Models chosen by error are overconfident, since nothing in their choice speaks against it. The
temperature with the least log-loss on rows a model has not seen undoes most of that, and changes
no prediction.
"""

import numpy as np
from scipy.special import logsumexp

from opgd.core.types import FloatArray, IntArray

TEMPERATURES: FloatArray = 2.0 ** np.arange(-3, 8.01, 0.25)
CAUTION = 2.0
"""Summed log-loss that a temperature of e, or 1/e, must save before it is believed."""
LOWEST = float(np.log(np.finfo(np.float64).eps))
"""Log probabilities are cut here, as in scikit-learn's log-loss: a class unseen in training."""


def loss_curve(log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """Weighted sum of log-losses at every one of TEMPERATURES; log_joint (n, K).

    Sums of splits add up, so a temperature can be fitted without keeping what they predicted.
    """
    relative = log_joint - log_joint.max(axis=1, keepdims=True)
    own = relative[np.arange(len(codes)), codes]
    losses = [
        weights @ np.maximum(own / t - logsumexp(relative / t, axis=1), LOWEST)
        for t in TEMPERATURES
    ]
    return -np.array(losses)


def best_temperature(curve: FloatArray) -> float:
    """Temperature at the bottom of a curve, by a parabola through its lowest points.

    A curve of few rows is held near 1: where none of them was mistaken, it would fall for ever,
    and the first mistake on new rows would be made with certainty.
    """
    held = curve + CAUTION * np.log(TEMPERATURES) ** 2
    lowest = int(np.argmin(held))
    if lowest in (0, len(held) - 1):
        return float(TEMPERATURES[lowest])
    before, at, after = held[lowest - 1 : lowest + 2]
    shift = 0.5 * (before - after) / (before - 2 * at + after)
    step = np.log(TEMPERATURES[1] / TEMPERATURES[0])
    return float(TEMPERATURES[lowest] * np.exp(shift * step))


def loss_at(curve: FloatArray, temperature: float) -> float:
    """Loss of a curve between its points."""
    return float(np.interp(np.log(temperature), np.log(TEMPERATURES), curve))
