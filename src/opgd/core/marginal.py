"""Posteriors of samples with missing entries, by exact integration over these entries.

Densities of whole samples are a mixture on the scores z, times one Gaussian for the sample given z
that all classes share (`opgd.core.density`). With b and T the mean and covariance of whole samples,
the conditional scores of an incomplete sample under N(b, T) have the mean of the completed sample,
and the covariance V_m' K_mm^-1 V_m, where K = T^-1 and m are the missing entries. They determine
the posteriors (`opgd.core.observed`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from opgd.core.coordinates import Coordinates, Frame, sphered_coordinates
from opgd.core.engines import RowBlock
from opgd.core.gaps import Gaps, find_gaps, solve_gaps
from opgd.core.gaussians import ProjectedGaussians
from opgd.core.missing import OFF_SPAN, off_span_precision
from opgd.core.moments import RowMap
from opgd.core.observed import FARTHEST, ObservedScores
from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_CHUNK_CELLS = 2**18
"""Number of entries of the matrices of the samples that are computed together."""
LEAST_NOISE = 1e-8
"""Share of the variance of scores that is added as noise if they are linearly dependent."""
LOG_TWO_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Completion:
    """Gaussians of whole samples, whose total covariance is T."""

    coordinates: Coordinates
    weights: FloatArray  # (C,), of the Gaussians
    means: FloatArray  # (C, p)
    covariances: FloatArray  # (C, R, R), in the coordinates

    @property
    def total(self) -> FloatArray:
        """Return T about the center, in the coordinates, (R, R)."""
        shares = self.weights / self.weights.sum()
        means = (self.means - self.coordinates.center) @ self.coordinates.matrix
        within = np.tensordot(shares, self.covariances, axes=1)
        return within + (shares[:, None] * means).T @ means

    def observer(self, components: FloatArray) -> "ScoreObserver":
        """Return the observer of the scores on components (q, p)."""
        coordinates, total = self.coordinates, self.total
        axes = coordinates.basis @ coordinates.whitener  # of standardized features, (p, R)
        precision = axes @ linalg.inv(total) @ axes.T
        precision += off_span_precision(coordinates.basis)
        directions = coordinates.directions(components)
        root = _factorize_scores(directions @ total @ directions.T)
        return ScoreObserver(
            coordinates,
            0.5 * (precision + precision.T),
            components * coordinates.scale,
            root,
        )


def _factorize_scores(covariance: FloatArray) -> FloatArray:
    """Return the Cholesky factor of P, with a little noise on each score if P is singular."""
    deviations = np.sqrt(np.diag(covariance))
    correlations = covariance / np.outer(deviations, deviations)
    if linalg.eigvalsh(correlations)[0] < LEAST_NOISE:
        correlations = correlations + LEAST_NOISE * np.eye(len(correlations))
    root: FloatArray = deviations[:, None] * linalg.cholesky(correlations, lower=True)
    return root


def make_completion(
    coordinates: Coordinates,
    priors: FloatArray,
    gaussian_classes: IntArray,
    log_priors: FloatArray,
    means: FloatArray,
    covariances: FloatArray,
) -> Completion:
    """Return the Gaussians of whole samples, weighted by the priors (K,) of their classes.

    `log_priors` (C,) may contain a term that is equal for all Gaussians of a class.
    """
    peaks = np.full(len(priors), -np.inf)
    np.maximum.at(peaks, gaussian_classes, log_priors)
    shares = np.exp(log_priors - peaks[gaussian_classes])
    by_class = np.bincount(gaussian_classes, shares, len(priors))
    weights = priors[gaussian_classes] * shares / by_class[gaussian_classes]
    return Completion(coordinates, weights, means, covariances)


@dataclass(frozen=True)
class ScoreObserver:
    """Conversion of incomplete samples to scores that are observed with noise."""

    coordinates: Coordinates
    precision: FloatArray  # (p, p), K = T^-1 of standardized features
    loadings: FloatArray  # (q, p), V' for standardized features
    root: FloatArray  # (q, q), lower triangular, P = root @ root.T

    def observe(self, X: AnyArray) -> ObservedScores:
        """Return the scores of samples (n, p), nan where an entry is missing."""
        gaps = find_gaps(X)
        return self.observe_rows(self.standardize(X, gaps), gaps)

    def complete(self, X: AnyArray) -> FloatArray:
        """Return samples (n, p) with the conditional means of N(b, T) for missing entries."""
        gaps = find_gaps(X)
        rows = self.standardize(X, gaps)
        self.observe_rows(rows, gaps)
        center, scale = self.coordinates.center, self.coordinates.scale
        values = center[gaps.columns] + scale[gaps.columns] * rows[gaps.row_indices, gaps.columns]
        completed: FloatArray = X.copy()
        completed[gaps.row_indices, gaps.columns] = values
        return completed

    def standardize(self, X: AnyArray, gaps: Gaps) -> FloatArray:
        """Return standardized samples, (n, p), 0 where an entry is missing."""
        center, scale = self.coordinates.center, self.coordinates.scale
        with np.errstate(over="ignore", invalid="ignore"):
            rows: FloatArray = (np.asarray(X, dtype=np.float64) - center) / scale
        rows[gaps.row_indices, gaps.columns] = 0.0
        return np.clip(rows, -FARTHEST, FARTHEST, out=rows)

    def observe_rows(self, rows: FloatArray, gaps: Gaps) -> ObservedScores:
        """Return the scores of standardized samples, whose missing entries are overwritten."""
        q, n = len(self.root), len(rows)
        one_group = np.zeros(n, dtype=np.intp)
        standardized = linalg.solve_triangular(self.root, self.loadings, lower=True).T  # (p, q)
        reliabilities = np.zeros((q, q, n))
        reliabilities[np.arange(q), np.arange(q)] = 1.0
        for batch in solve_gaps(gaps, rows @ self.precision, self.precision[None], one_group):
            rows[batch.rows[:, None], batch.columns] += batch.steps
            axes = standardized[batch.columns]  # (m, k, q)
            noise = axes.transpose(0, 2, 1) @ batch.covariances @ axes
            reliabilities[:, :, batch.rows] -= noise.transpose(1, 2, 0)
        return ObservedScores.from_reliabilities(reliabilities, standardized.T @ rows.T)

    def log_densities(self, X: AnyArray, gaussians: ProjectedGaussians) -> FloatArray:
        """Return the log density of the observed entries of samples, (n,).

        `gaussians` is the mixture of the scores, converted by `convert`.
        """
        gaps = find_gaps(X)
        rows = self.standardize(X, gaps)
        observed = self.observe_rows(rows, gaps)
        ratios = observed.posteriors(gaussians)[1] - observed.log_reference
        return self.log_whole_density(rows, gaps) + ratios

    def split_rows(self, rows: IntArray) -> list[IntArray]:
        """Split indices of samples into chunks that are computed together."""
        step = max(16, MAX_CHUNK_CELLS // max(self.root.size, len(self.precision)))
        return [rows[start : start + step] for start in range(0, len(rows), step)]

    def convert(self, gaussians: ProjectedGaussians) -> ProjectedGaussians:
        """Return Gaussians with full covariances, in coordinates of the scores in which P = I."""
        variances = gaussians.full_covariances
        back = linalg.solve_triangular(self.root, np.eye(len(self.root)), lower=True)
        return ProjectedGaussians(
            gaussians.log_priors, gaussians.means @ back.T, back @ variances @ back.T
        )

    @property
    def log_determinant(self) -> float:
        """Return log|P|."""
        return 2.0 * float(np.log(np.diag(self.root)).sum())

    def log_whole_density(self, rows: FloatArray, gaps: Gaps) -> FloatArray:
        """Return log N(b, T) of the observed entries of completed standardized samples, (n,)."""
        basis = self.coordinates.basis
        varies = basis.any(axis=1)
        n_off_span = int(varies.sum()) - basis.shape[1]
        log_determinant = -np.log(linalg.eigvalsh(self.precision)).sum()
        log_determinant -= n_off_span * (np.log(OFF_SPAN) + LOG_TWO_PI)
        # logarithms of the units and of 2 pi, for the entries that are observed
        units = np.where(varies, 2 * np.log(self.coordinates.scale) + LOG_TWO_PI, 0.0)
        missing = np.bincount(gaps.row_indices, units[gaps.columns], len(rows))
        log_determinants = log_determinant + units.sum() - missing
        pulls, one_group = rows @ self.precision, np.zeros(len(rows), dtype=np.intp)
        for batch in solve_gaps(gaps, pulls, self.precision[None], one_group):
            log_determinants[batch.rows] += batch.log_determinants
        density: FloatArray = -0.5 * (np.einsum("np,np->n", pulls, rows) + log_determinants)
        return density


@dataclass(frozen=True)
class BlockObserver:
    """Observed scores of the blocks of an engine whose samples have gaps."""

    row_map: RowMap  # to sphered samples
    features: FloatArray  # (R, p), from these rows to standardized features
    observer: ScoreObserver

    def __call__(self, block: RowBlock) -> tuple[ObservedScores, FloatArray]:
        """Return the scores of a block, and what `log_joint` lacks to be a log density, (n,)."""
        assert block.gaps is not None
        rows = self.row_map(block) @ self.features
        observed = self.observer.observe_rows(rows, block.gaps)
        density = self.observer.log_whole_density(rows, block.gaps)
        return observed, density - observed.log_reference

    @property
    def width(self) -> int:
        """Return the buffer cells per row, as in `Engine.sum`."""
        return 4 * self.observer.root.size + 4 * self.features.shape[1]


def observe_blocks(frame: Frame, components: FloatArray) -> BlockObserver:
    """Return the observer of the scores on components (q, p) of the samples of a frame.

    The covariance of whole samples is that of the frame.
    """
    coordinates = sphered_coordinates(frame)
    whole = Completion(coordinates, np.ones(1), frame.center[None], np.eye(coordinates.rank)[None])
    back = (frame.basis / frame.spread).T
    return BlockObserver(frame.row_map(), back, whole.observer(components))


def map_incomplete(
    observer: ScoreObserver,
    X: AnyArray,
    rows: IntArray,
    function: Callable[[ObservedScores], FloatArray],
) -> FloatArray:
    """Apply a function to the observed scores of samples X[rows], in chunks, (m, n_columns).

    The function maps the scores of some samples to an array (n_columns, n).
    """
    results = [function(observer.observe(X[chunk])).T for chunk in observer.split_rows(rows)]
    return np.concatenate(results)
