"""A uniform noise component for samples that belong to no cluster.

The density of all samples is (1 - share) p(x) + share / volume, where p is the density of the
clusters and the volume is that of a box around all samples. Clusters are fitted to the samples that
are not noise. At first these are samples with a density similar to that of their neighbors, then
those with a density p(x) above that of the noise.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import LocalOutlierFactor

from opgd._utils.warnings import ignore_sklearn_warnings
from opgd.core.coordinates import Frame, sphered_coordinates
from opgd.core.density import SampleDensity
from opgd.core.engines import RowEngine
from opgd.core.types import AnyArray, FloatArray

N_NEIGHBORS = 20
MAX_ROWS = 20_000
"""Maximum number of samples among which neighbors are searched for."""
MAX_FACTOR = 1.5
"""Local outlier factor above which a sample is left out of the first fit."""
N_ITERATIONS = 100
FIRST_SHARE = 0.05
MAX_SHARE = 0.5
"""Largest share of noise that is estimated."""


@dataclass(frozen=True)
class Noise:
    """A uniform density with its share of the samples."""

    share: float
    log_density: float  # in the units of the features

    @property
    def log_odds(self) -> float:
        """Return the log density of the clusters below which a sample is more probably noise."""
        if self.share in (0, 1):
            return -np.inf if self.share == 0 else np.inf
        return float(np.log(self.share) - np.log1p(-self.share) + self.log_density)

    def probabilities(self, log_densities: FloatArray) -> FloatArray:
        """Return the probability that each sample is noise, from log p(x), (n,)."""
        difference = np.clip(log_densities - self.log_odds, -700.0, 700.0)
        probabilities: FloatArray = 1.0 / (1.0 + np.exp(difference))
        return probabilities


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


def log_uniform_density(X: AnyArray, density: SampleDensity) -> float:
    """Return the log density of the uniform distribution on a box of sphered samples."""
    sphered = (np.asarray(X, dtype=np.float64) - density.coordinates.center) @ (
        density.coordinates.matrix
    )
    return float(-np.log(np.ptp(sphered, axis=0)).sum() - density.log_volume)


@dataclass(frozen=True)
class NoiseEstimate:
    """A noise component, and whether each sample is more probably not noise, (n,)."""

    noise: Noise
    retained: AnyArray


def estimate_noise(engine: RowEngine, density: SampleDensity, share: float | None) -> NoiseEstimate:
    """Estimate the share of the noise by EM, unless it is given."""
    log_densities = density.log_density(engine.X)
    noise = Noise(FIRST_SHARE if share is None else share, log_uniform_density(engine.X, density))
    for _ in range(N_ITERATIONS if share is None else 0):
        mean = np.average(noise.probabilities(log_densities), weights=engine.weights)
        noise = Noise(min(float(mean), MAX_SHARE), noise.log_density)
    return NoiseEstimate(noise, log_densities >= noise.log_odds)
