"""Loadings: standardized coefficients, and correlations of columns with scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.estimators import complete_rows, get_feature_scale

MAX_AXES = 6
MAX_COLUMNS = 12
SAME_INFORMATION = 0.95
"""Size of a correlation from which two columns contain nearly the same information."""


def compute_standardized_coefficients(estimator: Any) -> FloatArray:
    """Compute coefficients times standard deviations of the training columns, (q, p)."""
    coefficients: FloatArray = estimator.components_ * get_feature_scale(estimator)
    return coefficients


def compute_correlations(X: AnyArray, components: FloatArray) -> FloatArray:
    """Compute correlations of scores with columns, (q, p); nan where one is constant."""
    columns = np.asarray(X, dtype=np.float64)
    columns = columns - columns.mean(axis=0)  # centered first, for numerical accuracy
    scores = _scale_to_unit(columns @ components.T)[0]
    columns, largest = _scale_to_unit(columns)
    spread = np.sqrt(np.mean(columns**2, axis=0))
    # centering a constant column leaves rounding errors
    limits = 8 * np.finfo(X.dtype).eps * np.abs(X).max(axis=0)
    spread[spread <= limits / largest] = np.nan
    score_spread = np.sqrt(np.mean(scores**2, axis=0))
    score_spread[score_spread == 0] = np.nan
    products: FloatArray = scores.T @ columns / len(columns)
    return np.clip(products / (score_spread[:, None] * spread), -1.0, 1.0)


def _scale_to_unit(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return columns divided by their largest sizes, and these; their squares are finite."""
    sizes = np.abs(columns).max(axis=0)
    largest: FloatArray = np.where(sizes > np.finfo(np.float64).tiny, sizes, 1.0)
    return columns / largest, largest


def compute_loadings(estimator: Any, X: AnyArray | None) -> dict[str, FloatArray]:
    """Compute the loadings of a fitted model, (q, p) each, with correlations if X is given."""
    loadings = {
        "coefficient": estimator.components_,
        "standardised": compute_standardized_coefficients(estimator),
    }
    if X is not None:
        rows = complete_rows(estimator, X)
        loadings["correlation"] = compute_correlations(rows, estimator.components_)
    return loadings


@dataclass(frozen=True)
class AxisLoadings:
    """Columns with the largest coefficients on one axis."""

    axis: int
    columns: list[int]
    coefficients: list[float]  # standardized
    correlations: list[float | None]  # with the score; None for constant columns
    largest: float

    def list_large(self) -> list[int]:
        """Return the columns whose coefficients are not small compared with the largest."""
        sizes = np.abs(self.coefficients)
        return [j for j, size in zip(self.columns, sizes, strict=True) if size > 0.1 * self.largest]


def select_largest_loadings(estimator: Any, rows: AnyArray) -> list[AxisLoadings]:
    """Return the largest loadings on each of the first axes."""
    coefficients = compute_standardized_coefficients(estimator)[:MAX_AXES]
    correlations = compute_correlations(rows, estimator.components_[:MAX_AXES])
    return [
        _select_columns(axis, *loadings)
        for axis, loadings in enumerate(zip(coefficients, correlations, strict=True))
    ]


def _select_columns(axis: int, coefficients: FloatArray, correlations: FloatArray) -> AxisLoadings:
    order = np.argsort(-np.abs(coefficients), kind="stable")[:MAX_COLUMNS]
    return AxisLoadings(
        axis=axis,
        columns=order.tolist(),
        coefficients=coefficients[order].tolist(),
        correlations=[None if np.isnan(r) else float(r) for r in correlations[order]],
        largest=float(np.abs(coefficients).max()),
    )


def order_columns(estimator: Any) -> IntArray:
    """Return columns ordered by their largest relative loading on any axis, descending."""
    sizes = np.abs(compute_standardized_coefficients(estimator))
    return np.argsort(-(sizes / sizes.max(axis=1, keepdims=True)).max(axis=0), kind="stable")


@dataclass(frozen=True)
class CorrelatedPair:
    """Two columns that contain nearly the same information."""

    first: int
    second: int
    correlation: float


def find_correlated_pairs(
    rows: AnyArray, columns: list[int], groups: IntArray
) -> list[CorrelatedPair]:
    """Return pairs of columns with a correlation of at least 0.95 in size, overall or in groups.

    The correlation of a pair is the larger of the two; group -1 is no group.
    """
    values = np.asarray(rows, dtype=np.float64)[:, columns]
    values = _scale_to_unit(values - values.mean(axis=0))[0]
    kept = np.flatnonzero(groups >= 0)
    _, codes = np.unique(groups[kept], return_inverse=True)
    within = values[kept] - _average_by_group(values[kept], codes)[codes]
    both = np.stack([_correlate(values), _correlate(within)])
    strongest = np.take_along_axis(both, np.abs(both).argmax(axis=0)[None], axis=0)[0]
    return [
        CorrelatedPair(columns[i], columns[j], float(strongest[i, j]))
        for i in range(len(columns))
        for j in range(i + 1, len(columns))
        if abs(strongest[i, j]) >= SAME_INFORMATION
    ]


def _average_by_group(values: FloatArray, codes: IntArray) -> FloatArray:
    sums = np.zeros((codes.max(initial=0) + 1, values.shape[1]))
    np.add.at(sums, codes, values)
    means: FloatArray = sums / np.maximum(np.bincount(codes, minlength=len(sums)), 1)[:, None]
    return means


def _correlate(centered: FloatArray) -> FloatArray:
    """Return correlations of centered columns, 0 for constant ones."""
    spread = np.sqrt(np.mean(centered**2, axis=0)) if len(centered) else np.zeros(centered.shape[1])
    safe = np.where(spread > 1e-9, spread, np.inf)
    correlations: FloatArray = (centered / safe).T @ (centered / safe) / max(len(centered), 1)
    return correlations
