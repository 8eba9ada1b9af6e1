"""Densities of samples in the space of the features, from Gaussians inside a projection.

Likelihoods inside projections of different dimensions cannot be compared. The mixture on the scores
is therefore completed to a density of all features: the part of a sample outside the projection has
one Gaussian distribution, common to all mixture components. With s the sphered sample (total
covariance I), scores z = D s, and D = factor @ span with orthonormal rows of `span`, this remaining
part is standard normal and uncorrelated with the scores:

    log p(x) = log sum_c pi_c N(z; m_c, S_c) + log|det factor| + log N(rest; 0, I) - log volume

where `volume` is the volume in original units of a unit cube of sphered samples. Where features are
linearly dependent, this is the density on the affine subspace that the samples span.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from opgd.core.coordinates import Coordinates
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import Form, ProjectedGaussians
from opgd.core.kernels import log_sum
from opgd.core.marginal import Completion
from opgd.core.scoring import log_joint_at_means, map_blocks, project, scores_log_joint
from opgd.core.types import AnyArray, FloatArray

LOG_TWO_PI = float(np.log(2 * np.pi))
FARTHEST_ROW = 1e150
"""Sphered coordinates are clipped at this value, so that their squares stay finite."""


@dataclass(frozen=True)
class SampleDensity:
    """Density of samples; `gaussians` are those of the scores of centered samples."""

    coordinates: Coordinates  # sphered
    gaussians: ProjectedGaussians
    form: Form
    span: FloatArray  # (q, R), orthonormal rows
    factor: FloatArray  # (q, q), directions = factor @ span

    @property
    def log_volume(self) -> float:
        """Return the log volume, in original units, of a unit cube of sphered samples."""
        return self.coordinates.log_volume

    @property
    def constant(self) -> float:
        """Return the constant added to the log of the projected density and to -|rest|^2 / 2."""
        log_determinant = float(np.log(np.abs(np.diag(self.factor))).sum())
        return log_determinant - 0.5 * self.coordinates.rank * LOG_TWO_PI - self.log_volume

    def log_density(self, X: AnyArray) -> FloatArray:
        """Return log p(x) for each sample, (n,)."""

        def block_log_density(joint: FloatArray, common: FloatArray) -> FloatArray:
            log_density: FloatArray = log_sum(joint) + common
            return log_density[None]

        return self._complete(self._map_log_joints(X, block_log_density, 1)[:, 0], X)

    def log_joint(self, X: AnyArray) -> FloatArray:
        """Return log(pi_c phi_c(x)) for each Gaussian and complete sample, (n, C)."""
        return self._map_log_joints(X, np.add, len(self.gaussians.means))

    @property
    def log_joint_at_means(self) -> FloatArray:
        """Return the log joint of each Gaussian at its mean, (C,)."""
        return log_joint_at_means(self.gaussians, self.form) + self.constant

    def _map_log_joints(
        self, X: AnyArray, function: Callable[[FloatArray, FloatArray], FloatArray], n_columns: int
    ) -> FloatArray:
        """Apply a function of log joints of the scores (C, m) and the common rest (m,) to blocks.

        It returns an array (n_columns, m) for each block of m samples.
        """
        sphering, constant = self.coordinates.matrix, self.constant
        factors = self.form.factors(self.gaussians)

        def map_block(centered: FloatArray) -> FloatArray:
            sphered = project(centered, sphering.T)  # (R, n)
            np.clip(sphered, -FARTHEST_ROW, FARTHEST_ROW, out=sphered)
            inside = self.span @ sphered
            joint = scores_log_joint(self.factor @ inside, self.gaussians, factors, self.form)
            rest = np.sum(sphered**2, axis=0) - np.sum(inside**2, axis=0)
            return function(joint, constant - 0.5 * np.maximum(rest, 0.0))

        return map_blocks(X, self.coordinates.center, map_block, n_columns)

    def _complete(self, log_densities: FloatArray, X: AnyArray) -> FloatArray:
        """Replace the log densities (n,) of incomplete samples by those of their observed entries.

        They are nan before.
        """
        rows = np.flatnonzero(np.isnan(log_densities))
        rows = rows[np.isnan(X[rows]).any(axis=1)]
        if len(rows):
            directions = self.factor @ self.span
            identity = np.eye(self.coordinates.rank)[None]
            whole = Completion(
                self.coordinates, np.ones(1), self.coordinates.center[None], identity
            )
            observer = whole.observer(self.coordinates.components(directions))
            gaussians = observer.convert(self.gaussians)
            for chunk in observer.split_rows(rows):
                log_densities[chunk] = observer.log_densities(X[chunk], gaussians)
        return log_densities

    def mean_log_density(self, mean_log_joint: float) -> float:
        """Return the mean of log p(x) over the samples that the model was fitted to.

        Their sphered covariance is the identity, so that |rest|^2 has mean R - q exactly.
        """
        rest = self.coordinates.rank - len(self.span)
        return mean_log_joint + self.constant - 0.5 * rest

    @property
    def n_parameters(self) -> int:
        """Return the number of free parameters of the density.

        These are weights, means and covariances of the scores; the subspace of the projection (and
        the axes inside it, for diagonal covariances); mean and covariance of the rest, and its
        regression on the scores.
        """
        n_gaussians, q = self.gaussians.means.shape
        rest = self.coordinates.rank - q
        rotation = 0 if self.form.spans_only else q * (q - 1) // 2
        plane = q * rest if n_gaussians > 1 else 0
        return (
            (n_gaussians - 1)
            + n_gaussians * (q + self.form.n_variances(q))
            + (plane + rotation)
            + (rest + rest * (rest + 1) // 2 + q * rest)
        )

    def sphered_moments(self) -> tuple[FloatArray, FloatArray]:
        """Return means (C, R) and covariances (C, R, R) of each Gaussian for sphered samples."""
        back = linalg.solve_triangular(self.factor, np.eye(len(self.factor)), lower=True)
        inside = self.span.T @ back  # (R, q)
        variances = self.gaussians.full_covariances
        rest = np.eye(self.coordinates.rank) - self.span.T @ self.span
        return self.gaussians.means @ inside.T, rest + inside @ variances @ inside.T

    def draw(self, counts: AnyArray, rng: np.random.RandomState) -> FloatArray:
        """Draw counts[c] samples of each Gaussian c, (sum(counts), p)."""
        back = linalg.solve_triangular(self.factor, np.eye(len(self.factor)), lower=True)
        n_rows, (rank, q) = int(counts.sum()), self.span.T.shape
        sphered = rng.normal(size=(n_rows, rank))
        sphered -= (sphered @ self.span.T) @ self.span
        variances = self.gaussians.variances
        roots = np.sqrt(variances) if variances.ndim == 2 else np.linalg.cholesky(variances)
        which = np.repeat(np.arange(len(counts)), counts)
        noise = rng.normal(size=(n_rows, q))
        step = (
            roots[which] * noise
            if roots.ndim == 2
            else np.einsum("nij,nj->ni", roots[which], noise)
        )
        sphered += (self.gaussians.means[which] + step) @ back.T @ self.span
        return self.coordinates.raw_means(sphered)


def make_sample_density(coordinates: Coordinates, projection: FittedProjection) -> SampleDensity:
    """Return the density in the space of the features; `coordinates` must be sphered."""
    span, factor = np.linalg.qr(coordinates.directions(projection.components).T)
    return SampleDensity(coordinates, projection.gaussians, projection.form, span.T, factor.T)


def information_criteria(
    log_likelihood: float, n_parameters: int, n_samples: float, log_certainty: float
) -> dict[str, float]:
    """Compute BIC, ICL and AIC; smaller is better.

    `log_certainty` is sum_i log max_k p_ik. ICL subtracts it twice from BIC, which penalizes
    overlapping clusters.
    """
    bic = -2 * log_likelihood + n_parameters * np.log(n_samples)
    return {
        "bic": bic,
        "icl": bic - 2 * log_certainty,
        "aic": -2 * log_likelihood + 2 * n_parameters,
    }
