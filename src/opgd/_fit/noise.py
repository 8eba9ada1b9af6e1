"""A uniform noise component for samples that belong to no cluster.

Clusters have the density p, and the noise has the density 1 / volume, where the volume is that of a
box around all samples. Clusters are fitted to the samples that are not noise. At first these are
samples with a density similar to that of their neighbors, then those with
(1 - share) t(x) >= share / volume. Here t is the density of the clusters with t distributions in
place of Gaussians, since tails of clusters that are heavier than normal are not noise.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import expit
from sklearn.neighbors import LocalOutlierFactor

from opgd._fit.resolution import measure_resolution
from opgd._utils.warnings import ignore_sklearn_warnings
from opgd.core.coordinates import Frame, sphered_coordinates
from opgd.core.density import SampleDensity
from opgd.core.engines import RowEngine
from opgd.core.kernels import log_sum
from opgd.core.tails import Tails
from opgd.core.types import AnyArray, FloatArray, IntArray

N_NEIGHBORS = 20
MAX_ROWS = 20_000
"""Maximum number of samples among which neighbors are searched for, and tails estimated from."""
MAX_FACTOR = 1.5
"""Local outlier factor above which a sample is left out of the first fit."""
N_ITERATIONS = 100
TOLERANCE = 1e-6
"""Gain in log-likelihood per sample at which EM for the tails stops."""
FIRST_SHARE = 0.05
MAX_SHARE = 0.5
"""Largest share of noise that is estimated."""


@dataclass(frozen=True)
class Noise:
    """A uniform density with its share of the samples, and the tails of the clusters."""

    share: float
    log_density: float  # in the units of the features
    tails: Tails

    def take(self, order: IntArray) -> Self:
        """Return the noise with the tails of Gaussians in another order, (C,)."""
        tails = Tails(self.tails.scales[order], self.tails.degrees[order])
        return replace(self, tails=tails)

    def log_odds(self, X: AnyArray, density: SampleDensity) -> FloatArray:
        """Return the log odds of noise for each sample, given the density of the clusters, (n,)."""
        if self.share in (0, 1):
            return np.full(len(X), -np.inf if self.share == 0 else np.inf)
        distances, at_means = _squared_distances(X, density)
        joint = self.tails.log_joint(distances, at_means, density.coordinates.rank)
        return self.compare(log_sum(joint.T))

    def compare(self, log_densities: FloatArray) -> FloatArray:
        """Return the log odds of noise, from log t(x), (n,)."""
        log_odds = np.log(self.share) - np.log1p(-self.share) + self.log_density
        return np.asarray(log_odds - log_densities)


def _squared_distances(X: AnyArray, density: SampleDensity) -> tuple[FloatArray, FloatArray]:
    """Return squared distances to each Gaussian, (n, C), and the log joints at the means, (C,)."""
    at_means = density.log_joint_at_means
    return np.maximum(2.0 * (at_means - density.log_joint(X)), 0.0), at_means


def add_noise(log_densities: FloatArray, share: float, log_noise: float) -> FloatArray:
    """Return log((1 - share) p(x) + share exp(log_noise)), from log p(x), (n,)."""
    if share == 0:
        return log_densities
    if share == 1:
        return np.full_like(log_densities, log_noise)
    return np.logaddexp(np.log1p(-share) + log_densities, np.log(share) + log_noise)


def find_outlying(frame: Frame) -> AnyArray:
    """Return whether the density at each sample is much lower than at its neighbors, (n,)."""
    matrix = frame.engine_matrix(sphered_coordinates(frame)) / np.sqrt(frame.spread)
    mapped = frame.engine.mapped(lambda block: matrix.T @ block.centered().T)
    rows: FloatArray = mapped.X  # type: ignore[attr-defined]
    sample = rows[:: -(-len(rows) // MAX_ROWS)]
    n_neighbors = min(N_NEIGHBORS, len(sample) - 1)
    with ignore_sklearn_warnings():  # about duplicate samples, which are not outlying
        if len(sample) == len(rows):
            factors = -LocalOutlierFactor(n_neighbors).fit(rows).negative_outlier_factor_
        else:
            factors = -LocalOutlierFactor(n_neighbors, novelty=True).fit(sample).score_samples(rows)
    outlying: AnyArray = factors > MAX_FACTOR
    return outlying


def log_uniform_density(X: AnyArray, density: SampleDensity, spacing: FloatArray) -> float:
    """Return the log density of the uniform distribution on a box around all samples.

    Of a box along the features and one along the axes of sphered samples, it is the smaller one.
    Where features are linearly dependent, the first one has other dimensions.

    A value of a feature with few values represents an interval as wide as their `spacing` (p,),
    and so do the Gaussians on them; without the intervals at both ends, half of the width of a
    binary feature would be missing, and the noise would have twice the density.
    """
    X = np.asarray(X, dtype=np.float64)
    matrix = density.coordinates.matrix
    sphered = (X - density.coordinates.center) @ matrix
    widths = np.ptp(sphered, axis=0) + spacing @ np.abs(matrix)
    log_volume = np.log(widths).sum() + density.log_volume
    if density.coordinates.rank == X.shape[1]:
        log_volume = min(log_volume, np.log(np.ptp(X, axis=0) + spacing).sum())
    return -float(log_volume)


@dataclass(frozen=True)
class NoiseEstimate:
    """A noise component, and whether each sample is more probably not noise, (n,)."""

    noise: Noise
    retained: AnyArray


def estimate_noise(engine: RowEngine, density: SampleDensity, share: float | None) -> NoiseEstimate:
    """Estimate the tails of the clusters, and the share of the noise unless it is given, by EM."""
    spacing = measure_resolution(engine).typical
    tails = Tails.make_nearly_normal(len(density.gaussians.means))
    log_noise = log_uniform_density(engine.X, density, spacing)
    noise = Noise(FIRST_SHARE if share is None else share, log_noise, tails)
    if 0 < noise.share < 1:
        noise = _fit_noise(engine, density, noise, estimate_share=share is None)
    return NoiseEstimate(noise, noise.log_odds(engine.X, density) <= 0)


def _fit_noise(
    engine: RowEngine, density: SampleDensity, noise: Noise, *, estimate_share: bool
) -> Noise:
    """Run EM from `noise`, on a part of the samples if there are many."""
    rank, rows = density.coordinates.rank, slice(None, None, -(-engine.n_samples // MAX_ROWS))
    distances, at_means = _squared_distances(engine.X[rows], density)
    weights = np.ones(len(distances)) if engine.weights is None else engine.weights[rows]
    last = -np.inf
    for _ in range(N_ITERATIONS):
        posteriors = noise.tails.log_joint(distances, at_means, rank)
        log_densities = log_sum(posteriors.T)  # leaves joints, up to a factor for each sample
        total = add_noise(log_densities, noise.share, noise.log_density)
        mean = np.average(total, weights=weights)
        if mean - last < TOLERANCE:
            break
        last = mean
        probabilities = expit(noise.compare(log_densities))
        posteriors *= ((1 - probabilities) * weights / posteriors.sum(axis=1))[:, None]
        share = noise.share
        if estimate_share:
            share = min(float(np.average(probabilities, weights=weights)), MAX_SHARE)
        tails = noise.tails.re_estimate(distances, posteriors, rank)
        noise = replace(noise, share=share, tails=tails)
    return noise
