"""From raw columns to coordinates in which the problem is well scaled.

Columns are standardized, reduced to the directions in which rows differ at all, sphered by the
total covariance, and whitened by the pooled within-class covariance. Optimizing there takes a
fraction of the evaluations that raw columns take, and makes the result independent of their units.
Moments of classes are taken of sphered rows: taken of raw ones and mapped afterwards, nearly
collinear columns would cost them as many digits as the covariance has orders of magnitude.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from opgd.core.engines import CENTERING_RATIO, Engine, RowBlock, RowEngine
from opgd.core.moments import (
    Groups,
    Mapping,
    Memberships,
    Moments,
    by_label,
    group_moments,
    locate_columns,
    multiplied_by,
    one_group,
    scaled_by,
    soft_moments,
)
from opgd.core.types import AnyArray, FloatArray, IntArray

RANK_TOLERANCE = 1e-12
"""Share of the largest eigenvalue of the correlation matrix below which columns are collinear."""
MAX_COPY_CELLS = 2**22
"""Rows with no more cells than this (32 MB) are sphered once and kept."""
WITHIN_FLOOR = 1e-8
"""Share of a direction's total variance below which the pooled within-variance counts as none."""


@dataclass(frozen=True)
class Coordinates:
    """A row x has the whitened coordinates ((x - center) / scale) @ basis @ whitener."""

    center: FloatArray  # (p,)
    scale: FloatArray  # (p,), standard deviations; 1 for constant columns
    basis: FloatArray  # (p, R), orthonormal: where standardized rows differ
    whitener: FloatArray  # (R, R), whitener.T @ within @ whitener = I
    unwhitener: FloatArray  # (R, R), its inverse
    identity_share: float = 0.0
    """Share of the identity (on standardized columns) that a singular pooled covariance borrowed
    before it was whitened."""

    @property
    def rank(self) -> int:
        """R, the number of dimensions in which rows differ."""
        return self.basis.shape[1]

    @property
    def matrix(self) -> FloatArray:
        """(x - center) @ matrix are the whitened coordinates, (p, R)."""
        return (self.basis @ self.whitener) / self.scale[:, None]

    def components(self, directions: FloatArray) -> FloatArray:
        """Whitened directions (q, R) as components of raw rows (q, p)."""
        return (directions @ self.whitener.T @ self.basis.T) / self.scale

    def directions(self, components: FloatArray) -> FloatArray:
        """Components of raw rows (q, p) as whitened directions (q, R)."""
        return (components * self.scale) @ self.basis @ self.unwhitener.T

    @property
    def raw_axes(self) -> FloatArray:
        """The whitened axes in the space of raw rows, (R, p)."""
        return (self.unwhitener @ self.basis.T) * self.scale

    def raw_means(self, means: FloatArray) -> FloatArray:
        """Whitened points (C, R) in the space of raw rows (C, p)."""
        return self.center + means @ self.raw_axes

    def raw_covariance(self, covariance: FloatArray) -> FloatArray:
        """A whitened covariance (R, R) in the space of raw rows (p, p)."""
        return self.raw_axes.T @ covariance @ self.raw_axes


@dataclass(frozen=True)
class Frame:
    """Rows ready for the engine, and what was found out about their columns.

    The engine holds raw rows, or sphered ones (`sphered`): where there are fewer rows than columns,
    so that nothing of size (p, p) is made; and where the copy is small, since scores of raw rows
    on nearly collinear columns carry rounding errors that change with the projection and end the
    search early.
    """

    engine: Engine
    center: FloatArray  # (p,)
    scale: FloatArray  # (p,)
    basis: FloatArray  # (p, R)
    spread: FloatArray  # (R,), standardized rows @ basis * spread have unit variances
    sphered: bool
    constant: IntArray  # indices of constant columns
    collinear: IntArray  # indices of columns that are combinations of others

    @property
    def n_active(self) -> int:
        """Number of columns that are not constant."""
        return len(self.scale) - len(self.constant)

    @property
    def few_rows(self) -> bool:
        """Whether there are no more rows than columns."""
        return self.engine.n_samples <= len(self.scale)

    @property
    def identity(self) -> FloatArray:
        """The identity on standardized columns, as a covariance of sphered rows, (R, R)."""
        return np.diag(self.spread**2)

    @property
    def sphering(self) -> FloatArray:
        """Maps centered raw rows to sphered ones, (p, R)."""
        return self.basis * self.spread / self.scale[:, None]

    def moments(self, n_groups: int, groups: Groups = by_label) -> Moments:
        """Moments by group of sphered rows, (n_groups, R[, R])."""
        return group_moments(self.engine, n_groups, self._sphere(), groups)

    def soft_moments(self, memberships: Memberships, width: int = 0) -> Moments:
        """Moments of sphered rows that belong to every group by a share; `width` as in `sum`."""
        return soft_moments(self.engine, memberships, self._sphere(), width)

    def _sphere(self) -> Mapping:
        return RowBlock.centered if self.sphered else multiplied_by(self.sphering)

    def engine_matrix(self, coordinates: Coordinates) -> FloatArray:
        """Maps the engine's centered rows to whitened coordinates."""
        if self.sphered:
            return coordinates.whitener / self.spread[:, None]
        return coordinates.matrix


def make_frame(engine: Engine) -> Frame:
    """Standardize columns and find the directions in which rows differ."""
    center, size = locate_columns(engine)
    if not np.all(np.isfinite(center + size)):
        raise OverflowError("differences within a column overflow")
    constant = size <= 8 * np.finfo(engine.dtype).eps * np.abs(center)
    size = np.where(constant, 1.0, size)
    if engine.n_samples <= engine.n_features:
        own = engine.chosen(np.arange(engine.n_samples))
        return _few_rows_frame(own, center, size, constant)

    subtract = bool(np.any(np.abs(center) > CENTERING_RATIO * size))
    engine = engine.centered_at(center, subtract=subtract)
    total = group_moments(engine, 1, scaled_by(size), one_group).covariances[0]
    deviations = np.where(constant, 1.0, np.sqrt(np.diag(total)))
    total = total / np.outer(deviations, deviations)
    total[constant] = total[:, constant] = 0.0
    eigenvalues, vectors = linalg.eigh(total)
    kept = np.flatnonzero(eigenvalues > RANK_TOLERANCE * max(eigenvalues[-1], 0.0))[::-1]
    scale, basis, spread = size * deviations, vectors[:, kept], 1.0 / np.sqrt(eigenvalues[kept])
    basis[constant] = 0.0  # exactly, where the eigenvectors have rounding errors
    small = engine.n_samples * engine.n_features <= MAX_COPY_CELLS
    if small:
        sphering = basis * spread / scale[:, None]
        sphered = multiplied_by(sphering)
        engine = engine.mapped(lambda block: sphered(block).T)
    return Frame(
        engine,
        center,
        scale,
        basis,
        spread,
        sphered=small,
        constant=np.flatnonzero(constant),
        collinear=_dependent_columns(total, np.flatnonzero(~constant), len(kept)),
    )


def _few_rows_frame(
    engine: RowEngine, center: FloatArray, size: FloatArray, constant: AnyArray
) -> Frame:
    """The same for no more rows than columns, by a thin singular value decomposition of rows."""
    rows = np.asarray(engine.X, dtype=np.float64) - center
    rows /= size
    rows[:, constant] = 0.0
    shares = np.ones(len(rows)) if engine.weights is None else engine.weights
    shares = shares / shares.sum()
    deviations = np.where(constant, 1.0, np.sqrt(shares @ rows**2))
    rows /= deviations
    _, singular, right = linalg.svd(np.sqrt(shares)[:, None] * rows, full_matrices=False)
    kept = singular**2 > RANK_TOLERANCE * singular[0] ** 2
    basis, spread = right[kept].T, 1.0 / singular[kept]
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
    """Columns that are linear combinations of the others, by pivoted QR of the correlations."""
    if rank == len(active):
        return np.empty(0, dtype=np.intp)
    pivots = linalg.qr(total[np.ix_(active, active)], mode="r", pivoting=True)[1]
    return np.sort(active[pivots[rank:]])


def whiten(frame: Frame, within: FloatArray, identity_share: float = 0.0) -> Coordinates:
    """Coordinates in which `within`, a covariance of sphered rows, is the identity."""
    eigenvalues, vectors = linalg.eigh(within)
    roots = np.sqrt(eigenvalues)
    whitener = frame.spread[:, None] * vectors / roots
    unwhitener = roots[:, None] * vectors.T / frame.spread
    return Coordinates(frame.center, frame.scale, frame.basis, whitener, unwhitener, identity_share)


def sphered_coordinates(frame: Frame) -> Coordinates:
    """Coordinates in which the covariance of all rows is the identity."""
    whitener, unwhitener = np.diag(frame.spread), np.diag(1.0 / frame.spread)
    return Coordinates(frame.center, frame.scale, frame.basis, whitener, unwhitener)


def column_coordinates(frame: Frame) -> Coordinates:
    """Coordinates in which directions of length one are components of length one."""
    factor: FloatArray = np.linalg.qr(frame.basis / frame.scale[:, None])[1]
    whitener = linalg.solve_triangular(factor, np.eye(len(factor)))
    return Coordinates(frame.center, frame.scale, frame.basis, whitener, factor)


def span_coordinates(frame: Frame) -> Coordinates:
    """Coordinates of the plane that rows span, in which lengths are those of raw rows.

    The same as `column_coordinates` where no columns are collinear.
    """
    factor: FloatArray = np.linalg.qr(frame.basis * frame.scale[:, None])[1]
    unwhitener = linalg.solve_triangular(factor, np.eye(len(factor))).T
    return Coordinates(frame.center, frame.scale, frame.basis, factor.T, unwhitener)
