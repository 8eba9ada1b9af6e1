"""Held-out samples, against which new samples are ranked: prediction sets and typicality.

The conformity of a sample with class k is the log odds of that class,

    conformity[i, k] = log p_ik - log sum_{l != k} p_il

Its rank among the conformities of held-out samples of class k is a p-value: if new samples of the
class are exchangeable with the held-out ones, the share of those with a p-value of at most a is at
most a (Vovk, Gammerman & Shafer 2005: conformal prediction by class, "Mondrian").
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from opgd.core.types import AnyArray, FloatArray, IntArray

LEAST_LOG_JOINT = -1e9
"""Log joint of a class without density, relative to the largest one of a sample."""
MAX_PER_CLASS = 5000
"""Number of held-out samples of a class that are kept."""


@dataclass(frozen=True)
class HeldOut:
    """Samples that a model was not fitted to, as the model sees them."""

    log_joints: FloatArray  # (n, K), relative to the largest of each sample
    codes: IntArray  # (n,), true classes
    weights: FloatArray  # (n,), in units of samples
    distances: FloatArray | None = None  # (n,), squared, to the nearest Gaussian

    @classmethod
    def collect(
        cls,
        log_joints: FloatArray,
        codes: IntArray,
        weights: FloatArray,
        distances: FloatArray | None = None,
    ) -> "HeldOut":
        """Return held-out samples; of large classes some, with larger weights."""
        keep, factors = _thin(codes)
        relative = log_joints - log_joints.max(axis=1, keepdims=True)
        return cls(
            np.maximum(relative, LEAST_LOG_JOINT)[keep],
            codes[keep],
            weights[keep] * factors,
            None if distances is None else distances[keep],
        )

    def divided_by(self, temperature: float) -> "HeldOut":
        """Return the samples with log joints divided by a temperature."""
        return replace(self, log_joints=self.log_joints / temperature)

    @property
    def class_weights(self) -> FloatArray:
        """Return the number of samples of each class, (K,)."""
        n_classes = self.log_joints.shape[1]
        return np.bincount(self.codes, self.weights, n_classes).astype(np.float64)

    def p_values(
        self,
        log_joints: FloatArray,
        log_ratios: FloatArray | float = 0.0,
        uniform: FloatArray | None = None,
    ) -> FloatArray:
        """Return how the conformity of new samples ranks in each class, (n, K), from 0 to 1.

        Parameters
        ----------
        log_joints : ndarray of shape (n, K), of new samples
        log_ratios : ndarray of shape (K,)
            Logarithms of new priors divided by those of the model; `log_joints` contain them.
        uniform : ndarray of shape (n, K)
            Numbers from 0 to 1 that break ties at random, among them that of a new sample with
            itself. Without them, ties count as less conforming.
        """
        new, old = compute_log_odds(log_joints), compute_log_odds(self.log_joints + log_ratios)
        values = np.empty_like(new)
        for k in range(new.shape[1]):
            in_class = self.codes == k
            below, equal = _weigh_ranks(old[in_class, k], self.weights[in_class], new[:, k])
            share = 1.0 if uniform is None else uniform[:, k]
            values[:, k] = (below + share * (equal + 1.0)) / (self.weights[in_class].sum() + 1.0)
        return values

    def typicality(self, distances: FloatArray, n_components: int) -> FloatArray:
        """Return the share of held-out samples that are at least as far as new samples, (n,).

        A new sample counts itself, so that the share is positive. Beyond all held-out samples, it
        decreases like the tail of the chi-squared distribution with the scale of the distances.
        """
        assert self.distances is not None
        nearer, _ = _weigh_ranks(self.distances, self.weights, distances)
        total = float(self.weights.sum())
        values = (total - nearer + 1.0) / (total + 1.0)
        largest = float(self.distances.max())
        scale = float(np.average(self.distances, weights=self.weights)) / n_components
        is_beyond = distances > largest
        if scale > 0 and is_beyond.any():
            tail = chdtrc(n_components, distances[is_beyond] / scale)
            start = max(float(chdtrc(n_components, largest / scale)), np.finfo(float).tiny)
            values[is_beyond] *= np.minimum(tail / start, 1.0)
        return values


def compute_log_odds(log_joints: FloatArray) -> FloatArray:
    """Return log p_k - log sum_{l != k} p_l of the classes, (n, K), accurate also near p_k = 1."""
    n, n_classes = log_joints.shape
    if n_classes == 1:
        return np.zeros_like(log_joints)
    rows, top = np.arange(n), log_joints.argmax(axis=1)
    relative = log_joints - log_joints[rows, top][:, None]
    powers = np.exp(relative)
    with np.errstate(divide="ignore"):  # of the top class, which is computed below
        odds = relative - np.log(powers.sum(axis=1, keepdims=True) - powers)
    others = relative.copy()
    others[rows, top] = -np.inf
    second = others.max(axis=1)
    odds[rows, top] = -second - np.log(np.exp(others - second[:, None]).sum(axis=1))
    return odds


def _weigh_ranks(
    values: FloatArray, weights: FloatArray, new: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the weights of values below each new value, and of those equal to it."""
    order = np.argsort(values, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    below = sums[np.searchsorted(values[order], new, side="left")]
    return below, sums[np.searchsorted(values[order], new, side="right")] - below


def _thin(codes: IntArray) -> tuple[AnyArray, FloatArray]:
    """Return indices of at most `MAX_PER_CLASS` samples of each class, and their weights."""
    counts = np.bincount(codes)
    if counts.max() <= MAX_PER_CLASS:
        return np.arange(len(codes)), np.ones(len(codes))
    kept = []
    for k in np.unique(codes):
        places = np.flatnonzero(codes == k)
        n_kept = min(len(places), MAX_PER_CLASS)
        kept.append(places[np.linspace(0, len(places) - 1, n_kept).round().astype(np.intp)])
    keep = np.sort(np.concatenate(kept))
    factors = counts / np.minimum(counts, MAX_PER_CLASS).clip(1)
    return keep, factors[codes[keep]]
