"""Trials in which part of the labels are hidden and predicted.

Each label of a class with at least two different labeled samples is hidden in one of a few trials.
Candidate models are fitted to all samples with the remaining labels, and predict the hidden ones.
These predictions calibrate the probabilities, and show whether unlabeled samples help.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgd.core.calibration import Calibration, fit_calibration
from opgd.core.coordinates import Frame
from opgd.core.engines import Engine
from opgd.core.fitted import mix_background
from opgd.core.moments import scale_to_counts
from opgd.core.types import AnyArray, FloatArray, IntArray

N_TRIALS = 5
LEAST_HIDDEN = 10
"""Number of hidden labels from which models are compared; with fewer, the first one is kept."""


@dataclass(frozen=True)
class HiddenLabels:
    """Samples whose labels are hidden in one trial."""

    positions: IntArray  # (n,), indices of the samples in the engine, ascending
    X: AnyArray  # (n, p)
    codes: IntArray  # (n,)
    counts: FloatArray  # (n,), weights as numbers of samples


def divide_labels(engine: Engine, frame: Frame) -> list[HiddenLabels]:
    """Divide the labeled samples of an engine among the trials.

    Samples of a class are ordered by their distance from the center of all samples and assigned to
    the trials in turn, so that the trials are alike, and depend neither on the order of the samples
    nor on the units of the features. Equal samples of a class are hidden together, as if they were
    one sample with their weight. In every trial each class keeps labeled samples.
    """
    positions = engine.find_rows(lambda labels: labels >= 0)
    rows = engine.select_rows(positions)
    counts = np.ones(len(positions)) if rows.weights is None else scale_to_counts(rows.weights)
    trials = _assign_trials(rows.X, rows.labels, _squared_distances(rows.X, frame))
    groups = [np.flatnonzero(trials == trial) for trial in range(N_TRIALS)]
    return [
        HiddenLabels(positions[group], rows.X[group], rows.labels[group], counts[group])
        for group in groups
        if len(group)
    ]


def _squared_distances(X: AnyArray, frame: Frame) -> FloatArray:
    sphered = (np.asarray(X, dtype=np.float64) - frame.center) @ frame.sphering
    squared: FloatArray = np.sum(sphered**2, axis=1)
    return squared


def _assign_trials(X: AnyArray, codes: IntArray, distances: FloatArray) -> IntArray:
    """Return the trial of each sample, (m,); -1 if its class has no other sample."""
    trials = np.full(len(codes), -1, dtype=np.intp)
    classes = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    n_assigned = 0
    for members in sorted(classes, key=lambda members: distances[members].min()):
        _, first, which = np.unique(X[members], axis=0, return_index=True, return_inverse=True)
        if len(first) > 1:
            ranks = np.argsort(np.argsort(distances[members[first]]))
            trials[members] = (n_assigned + ranks[which.ravel()]) % N_TRIALS
            n_assigned += len(first)
    return trials


@dataclass(frozen=True)
class Predictions:
    """Predictions of a model for the hidden labels of all trials."""

    log_joint: FloatArray  # (n, K)
    priors: FloatArray  # (n, K), those of the model in the trial of each label
    codes: IntArray  # (n,), the hidden labels
    counts: FloatArray  # (n,), weights as numbers of samples
    frequencies: FloatArray  # (K,), estimated frequencies of the classes

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of the labels, (n,), whose sum is the effective number of labels.

        They give the classes their estimated frequencies, since labels are often drawn in equal
        numbers from all classes.
        """
        by_class = np.bincount(self.codes, self.counts, len(self.frequencies))
        factors = self.frequencies[self.codes] / by_class[self.codes]
        factors *= (self.counts @ factors) / (self.counts @ factors**2)
        return self.counts * factors

    @cached_property
    def calibration(self) -> Calibration:
        """Temperature and background that minimize the log-loss."""
        true_priors = self.priors[np.arange(len(self.codes)), self.codes]
        return fit_calibration(self.log_joint, self.codes, self.weights, true_priors)

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Calibrated log probabilities of the classes, (n, K)."""
        scaled = self.log_joint / self.calibration.temperature
        return mix_background(scaled, self.calibration.background, self.priors)

    @cached_property
    def true_log_probabilities(self) -> FloatArray:
        """Calibrated log probabilities of the hidden labels, (n,)."""
        log_probabilities: FloatArray = self.log_probabilities[
            np.arange(len(self.codes)), self.codes
        ]
        return log_probabilities

    @property
    def error(self) -> float:
        """Weighted share of the labels that are not the most probable class."""
        wrong = np.argmax(self.log_probabilities, axis=1) != self.codes
        return float(np.average(wrong, weights=self.weights))

    @property
    def log_loss(self) -> float:
        """Weighted mean of the log-loss of the calibrated probabilities."""
        return float(-np.average(self.true_log_probabilities, weights=self.weights))

    @cached_property
    def missed(self) -> FloatArray:
        """Calibrated probabilities of all classes but the hidden label, (n,).

        Their mean is the error of classes drawn with these probabilities. It varies less between
        samples than the error of the most probable class, and less than the log-loss.
        """
        return -np.expm1(self.true_log_probabilities)

    @property
    def missed_probability(self) -> float:
        """Weighted mean of `missed`."""
        return float(np.average(self.missed, weights=self.weights))


def select_model(models: Sequence[Predictions]) -> int:
    """Return the index of the model with the smallest missed probability.

    The first model is kept if the difference is at most one standard error, if labels are few, or
    if no label of a class was hidden.
    """
    best = int(np.argmin([model.missed_probability for model in models]))
    first = models[0]
    if len(first.codes) < LEAST_HIDDEN or len(np.unique(first.codes)) < len(first.frequencies):
        return 0
    weights = first.weights / first.weights.sum()
    gains = first.missed - models[best].missed
    gain = float(weights @ gains)
    variance = float(np.sum(weights**2 / first.counts * (gains - gain) ** 2))
    return best if gain > np.sqrt(variance) else 0
