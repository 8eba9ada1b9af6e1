"""Coordinates in which the problem is well scaled.

Features are standardized, reduced to the directions in which samples vary, sphered by the total
covariance, and whitened by the pooled within-class covariance. In these coordinates optimization
needs a fraction of the evaluations, and its result does not depend on the units of the features.
Moments of classes are computed from sphered samples: moments of the original features, transformed
afterwards, would lose as many digits as the condition number of the covariance has.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import linalg

from opgd.core.engines import CENTERING_RATIO, Engine, RowBlock, RowEngine
from opgd.core.feature_order import LabeledRows
from opgd.core.missing import (
    Constrain,
    Span,
    estimate_moments,
    expect_by_group,
    expect_by_share,
    fit_mixture,
)
from opgd.core.moments import (
    Groups,
    Memberships,
    Moments,
    RowMap,
    by_label,
    check_extents,
    divide_rows_by,
    group_moments,
    locate_columns,
    multiply_rows_by,
    one_group,
    soft_moments,
)
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.core.whole import fit_whole

RANK_TOLERANCE = 1e-12
"""Fraction of the largest eigenvalue of the correlation matrix that counts as zero."""
INCOMPLETE_RANK_TOLERANCE = 1e-7
"""The same for incomplete samples, whose covariance EM approaches only."""
MAX_COPY_CELLS = 2**22
"""Number of entries (32 MB) up to which the sphered samples are stored."""
WITHIN_FLOOR = 1e-8
"""Fraction of the total variance below which a pooled within-class variance counts as zero."""

MAX_RATIO = 1e8
"""Ratio of rows above which the largest come first in a QR decomposition.

Otherwise small rows lose their digits in the Householder reflections.
"""


@dataclass(frozen=True)
class Coordinates:
    """Whitened coordinates ((x - center) / scale) @ basis @ whitener of a sample x."""

    center: FloatArray  # (p,)
    scale: FloatArray  # (p,), standard deviations; 1 for constant features
    basis: FloatArray  # (p, R), orthonormal: directions in which standardized samples vary
    whitener: FloatArray  # (R, R), whitener.T @ within @ whitener = I
    unwhitener: FloatArray  # (R, R), its inverse
    identity_share: float = 0.0
    """Share of the identity on standardized features in a pooled covariance that was singular."""

    @property
    def rank(self) -> int:
        """Return R, the number of dimensions in which samples vary."""
        return self.basis.shape[1]

    @property
    def matrix(self) -> FloatArray:
        """Return the matrix (p, R) such that (x - center) @ matrix are whitened coordinates."""
        return (self.basis @ self.whitener) / self.scale[:, None]

    def components(self, directions: FloatArray) -> FloatArray:
        """Convert whitened directions (q, R) to components in the space of the features (q, p)."""
        return (directions @ self.whitener.T @ self.basis.T) / self.scale

    def directions(self, components: FloatArray) -> FloatArray:
        """Convert components in the space of the features (q, p) to whitened directions (q, R)."""
        return (components * self.scale) @ self.basis @ self.unwhitener.T

    @property
    def raw_axes(self) -> FloatArray:
        """Return the whitened axes in the space of the features, (R, p)."""
        return (self.unwhitener @ self.basis.T) * self.scale

    @property
    def log_volume(self) -> float:
        """Return the log volume, in original units, of a unit cube of whitened coordinates."""
        active = np.any(self.basis, axis=1)
        if np.sum(active) == self.rank:
            log_determinant = np.linalg.slogdet(self.unwhitener @ self.basis[active].T)[1]
            return float(log_determinant + np.log(self.scale[active]).sum())
        back = self.raw_axes
        size = np.abs(back).max()
        triangle = _triangular_factor(back.T / size)
        return float(np.log(np.abs(np.diag(triangle))).sum() + len(back) * np.log(size))

    def raw_means(self, means: FloatArray) -> FloatArray:
        """Convert whitened points (C, R) to the space of the features (C, p)."""
        return self.center + means @ self.raw_axes

    def raw_covariance(self, covariance: FloatArray) -> FloatArray:
        """Convert a whitened covariance (R, R) to the space of the features (p, p)."""
        return self.raw_axes.T @ covariance @ self.raw_axes


@dataclass(frozen=True)
class Frame:
    """Samples in an engine, with the location, scale and rank of their features.

    The engine holds the original samples, or sphered ones if `sphered` is true. Samples are sphered
    if there are no more samples than features, so that no array of shape (p, p) is allocated, or if
    the copy is small: with nearly collinear features, scores of the original samples have rounding
    errors that vary with the projection and end the search early.
    """

    engine: Engine
    center: FloatArray  # (p,)
    scale: FloatArray  # (p,)
    basis: FloatArray  # (p, R)
    spread: FloatArray  # (R,), standardized samples @ basis * spread have unit variances
    sphered: bool
    constant: IntArray  # indices of constant features
    collinear: IntArray  # indices of features that are linear combinations of others
    empty: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """Indices of features without a single value, which are among the constant ones."""
    left_out: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """Indices of features that vary but are not used, which are among the constant ones."""

    @property
    def n_active(self) -> int:
        """Return the number of features that are not constant."""
        return len(self.scale) - len(self.constant)

    @property
    def few_rows(self) -> bool:
        """Return whether the number of samples is at most the number of features."""
        return self.engine.n_samples <= len(self.scale)

    @property
    def identity(self) -> FloatArray:
        """Return the identity on standardized features, as a covariance of sphered samples."""
        return np.diag(self.spread**2)

    @property
    def sphering(self) -> FloatArray:
        """Return the matrix (p, R) that maps centered samples to sphered ones."""
        return self.basis * self.spread / self.scale[:, None]

    def moments(self, n_groups: int, groups: Groups = by_label) -> Moments:
        """Compute moments by group of sphered samples, (n_groups, R[, R])."""
        if self.engine.incomplete:
            expect = expect_by_group(n_groups, self.row_map(), groups)
            return estimate_moments(self.engine, self.span, expect)
        return group_moments(self.engine, n_groups, self.row_map(), groups)

    def soft_moments(self, memberships: Memberships, width: int = 0) -> Moments:
        """Compute moments of sphered samples from shares in groups; `width` as in `Engine.sum`."""
        if self.engine.incomplete:
            expect = expect_by_share(self.row_map(), memberships, width)
            return estimate_moments(self.engine, self.span, expect)
        return soft_moments(self.engine, memberships, self.row_map(), width)

    def fit_mixture(
        self, moments: Moments, max_iter: int, constrain: Constrain | None = None
    ) -> Moments:
        """Run EM for a mixture of incomplete sphered samples, from moments of its Gaussians."""
        return fit_mixture(self.engine, self.span, self.row_map(), moments, max_iter, constrain)

    @property
    def span(self) -> Span:
        """Return the coordinates of sphered samples, in which missing entries are estimated."""
        return Span(self.basis * self.spread, self.basis)

    def row_map(self) -> RowMap:
        """Return the function that maps a block of the engine to its sphered rows, (n, R)."""
        return RowBlock.centered if self.sphered else multiply_rows_by(self.sphering)

    @property
    def roots(self) -> FloatArray:
        """Return standardized features as combinations of sphered coordinates, (p, R).

        roots @ roots.T is the correlation matrix.
        """
        return self.basis / self.spread

    def restricted(self, features: IntArray) -> "Frame":
        """Return the frame in which only some of the features are used, without a new pass."""
        basis = np.zeros((len(self.scale), min(len(features), len(self.spread))))
        basis[features], singular, _ = linalg.svd(self.roots[features], full_matrices=False)
        retained = singular**2 > RANK_TOLERANCE * singular[0] ** 2
        basis, spread = basis[:, retained], 1.0 / singular[retained]
        unused = np.setdiff1d(np.arange(len(self.scale)), np.union1d(features, self.constant))
        frame = replace(
            self,
            basis=basis,
            spread=spread,
            constant=np.union1d(self.constant, unused),
            collinear=self.collinear[np.isin(self.collinear, features) & ~np.all(retained)],
            left_out=np.union1d(self.left_out, unused),
        )
        if not self.sphered:
            return frame
        rows = multiply_rows_by(self.change_to(frame))
        return replace(frame, engine=self.engine.mapped(lambda block: rows(block).T))

    def sample_features(self, features: IntArray, size: int) -> LabeledRows:
        """Return some features, standardized, of at most `size` labeled samples."""
        engine = self.engine
        if not isinstance(engine, RowEngine) or size < engine.n_samples:
            engine = engine.sample(min(size, engine.n_samples))
        mapping, roots = self.row_map(), self.roots[features].T
        rows = np.concatenate([mapping(block) @ roots for block in engine.blocks()])
        return LabeledRows(rows, engine.labels, engine.row_weights / engine.total_weight)

    def change_to(self, other: "Frame") -> FloatArray:
        """Return the matrix (R, R') that maps sphered samples to those of another frame.

        The other frame has the same features, or fewer.
        """
        return self.roots.T @ (other.basis * other.spread)

    def engine_matrix(self, coordinates: Coordinates) -> FloatArray:
        """Return the matrix that maps the engine's centered rows to whitened coordinates."""
        if self.sphered:
            return coordinates.whitener / self.spread[:, None]
        return coordinates.matrix


def make_frame(engine: Engine, *, keep_relations: bool = False) -> Frame:
    """Standardize features and find the directions in which samples vary.

    `keep_relations` is that of `fit_whole`, for samples with missing entries. Raise the errors of
    `check_extents`.
    """
    center, size = locate_columns(engine)
    if not np.all(np.isfinite(center + size)) and engine.has_missing():
        return _make_incomplete_frame(engine, keep_relations=keep_relations)
    check_extents(center, size)
    constant = size <= 8 * np.finfo(engine.dtype).eps * np.abs(center)
    size = np.where(constant, 1.0, size)
    if engine.n_samples <= engine.n_features:
        in_memory = engine.select_rows(np.arange(engine.n_samples))
        return _make_few_rows_frame(in_memory, center, size, constant)

    subtract = bool(np.any(np.abs(center) > CENTERING_RATIO * size))
    engine = engine.centered_at(center, subtract=subtract)
    total = group_moments(engine, 1, divide_rows_by(size), one_group).covariances[0]
    return _frame_from_total(engine, center, size, constant, total)


def _make_incomplete_frame(engine: Engine, *, keep_relations: bool) -> Frame:
    """Make a frame of samples with missing entries, which conditional means replace."""
    whole = fit_whole(engine, keep_relations=keep_relations)
    constant = whole.size == 0
    size = np.where(constant, 1.0, whole.size)
    subtract = bool(np.any(np.abs(whole.center) > CENTERING_RATIO * size))
    engine = whole.engine.centered_at(whole.center, subtract=subtract)
    frame = _frame_from_total(engine, whole.center, size, constant, whole.total)
    return replace(frame, empty=whole.empty)


def _frame_from_total(
    engine: Engine, center: FloatArray, size: FloatArray, constant: AnyArray, total: FloatArray
) -> Frame:
    """Make a frame from `total` (p, p), the covariance of samples divided by their sizes."""
    deviations = np.where(constant, 1.0, np.sqrt(np.diag(total)))
    total = total / np.outer(deviations, deviations)
    total[constant] = total[:, constant] = 0.0
    eigenvalues, vectors = linalg.eigh(total)
    tolerance = INCOMPLETE_RANK_TOLERANCE if engine.incomplete else RANK_TOLERANCE
    retained = np.flatnonzero(eigenvalues > tolerance * max(eigenvalues[-1], 0.0))[::-1]
    scale, basis, spread = (
        size * deviations,
        vectors[:, retained],
        1.0 / np.sqrt(eigenvalues[retained]),
    )
    basis[constant] = 0.0  # remove rounding errors of the eigenvectors
    small = engine.n_samples * engine.n_features <= MAX_COPY_CELLS
    if small:
        sphering = basis * spread / scale[:, None]
        sphere = multiply_rows_by(sphering)
        engine = engine.mapped(lambda block: sphere(block).T)
    return Frame(
        engine,
        center,
        scale,
        basis,
        spread,
        sphered=small,
        constant=np.flatnonzero(constant),
        collinear=_dependent_columns(total, np.flatnonzero(~constant), len(retained)),
    )


def _make_few_rows_frame(
    engine: RowEngine, center: FloatArray, size: FloatArray, constant: AnyArray
) -> Frame:
    """Make a frame of at most as many samples as features, by a thin SVD of the samples."""
    rows = np.asarray(engine.X, dtype=np.float64) - center
    rows /= size
    rows[:, constant] = 0.0
    shares = np.ones(len(rows)) if engine.weights is None else engine.weights
    shares = shares / shares.sum()
    deviations = np.where(constant, 1.0, np.sqrt(shares @ rows**2))
    rows /= deviations
    _, singular, right = linalg.svd(np.sqrt(shares)[:, None] * rows, full_matrices=False)
    retained = singular**2 > RANK_TOLERANCE * singular[0] ** 2
    basis, spread = right[retained].T, 1.0 / singular[retained]
    basis[constant] = 0.0  # remove rounding errors of the singular vectors
    return Frame(
        RowEngine(
            rows @ (basis * spread), engine.labels, engine.weights, n_threads=engine.n_threads
        ),
        center,
        size * deviations,
        basis,
        spread,
        sphered=True,
        constant=np.flatnonzero(constant),
        collinear=np.empty(0, dtype=np.intp),
    )


def _dependent_columns(total: FloatArray, active: IntArray, rank: int) -> IntArray:
    """Return features that are linear combinations of others, by pivoted QR of correlations."""
    if rank == len(active):
        return np.empty(0, dtype=np.intp)
    pivots = linalg.qr(total[np.ix_(active, active)], mode="r", pivoting=True)[1]
    return np.sort(active[pivots[rank:]])


def whiten(frame: Frame, within: FloatArray, identity_share: float = 0.0) -> Coordinates:
    """Return coordinates in which `within`, a covariance of sphered samples, is the identity."""
    eigenvalues, vectors = linalg.eigh(within)
    roots = np.sqrt(eigenvalues)
    whitener = frame.spread[:, None] * vectors / roots
    unwhitener = roots[:, None] * vectors.T / frame.spread
    return Coordinates(
        frame.center,
        frame.scale,
        frame.basis,
        whitener,
        unwhitener,
        identity_share,
    )


def sphered_coordinates(frame: Frame) -> Coordinates:
    """Return coordinates in which the covariance of all samples is the identity."""
    whitener, unwhitener = np.diag(frame.spread), np.diag(1.0 / frame.spread)
    return Coordinates(frame.center, frame.scale, frame.basis, whitener, unwhitener)


def column_coordinates(frame: Frame) -> Coordinates:
    """Return coordinates in which directions of length one are components of length one."""
    factor = _triangular_factor(frame.basis / frame.scale[:, None])
    whitener = linalg.solve_triangular(factor, np.eye(len(factor)))
    return Coordinates(frame.center, frame.scale, frame.basis, whitener, factor)


def span_coordinates(frame: Frame) -> Coordinates:
    """Return coordinates of the subspace of the samples that preserve Euclidean distances.

    They equal those of `column_coordinates` if no features are collinear.
    """
    factor = _triangular_factor(frame.basis * frame.scale[:, None])
    unwhitener = linalg.solve_triangular(factor, np.eye(len(factor))).T
    return Coordinates(frame.center, frame.scale, frame.basis, factor.T, unwhitener)


def _triangular_factor(matrix: FloatArray) -> FloatArray:
    """Return R of the QR decomposition of a matrix (p, R), whose rows may differ in size by far."""
    sizes = np.abs(matrix).max(axis=1)
    if sizes.max() > MAX_RATIO * sizes[sizes > 0].min():
        matrix = matrix[np.argsort(-sizes, kind="stable")]
    factor: FloatArray = np.linalg.qr(matrix)[1]
    return factor
