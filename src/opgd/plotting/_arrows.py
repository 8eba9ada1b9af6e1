"""Arrows for columns in scatter plots of two axes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray
from opgd.inspection.estimators import check_rows, get_column_names

MAX_ARROW_LABEL = 20
"""Maximum length of the name at an arrow."""


@dataclass(frozen=True)
class Arrows:
    """Changes of the scores with the columns, drawn as arrows."""

    names: list[str]
    shifts: FloatArray  # (k, 2), change of the scores per standard deviation of a column
    factor: float  # length of the arrows, in standard deviations


def compute_column_shifts(X: AnyArray, scores: FloatArray) -> FloatArray:
    """Compute slopes of simple regressions of scores on standardized columns, (p, q)."""
    columns = np.asarray(X, dtype=np.float64)
    columns = columns - columns.mean(axis=0)
    spread = columns.std(axis=0)
    constant = spread <= 8 * np.finfo(X.dtype).eps * np.abs(X).max(axis=0)
    shifts = columns.T @ (scores - scores.mean(axis=0)) / len(columns)
    shifts[~constant] /= spread[~constant, None]
    shifts[constant] = 0.0
    return shifts


def make_arrows(estimator: Any, X: Any, pair: list[int], number: int, limits: FloatArray) -> Arrows:
    """Return arrows for the columns with the largest shifts relative to the plot limits."""
    scores = np.asarray(estimator.transform(X), dtype=np.float64)[:, pair]
    shifts = compute_column_shifts(check_rows(estimator, X), scores)
    # relative to the limits, since the two axes may have different ranges
    sizes = np.linalg.norm(shifts / (limits[1] - limits[0]), axis=1)
    largest = np.argsort(-sizes, kind="stable")[:number]
    names = get_column_names(estimator)
    factor = float(f"{0.4 / sizes[largest[0]]:.2g}") if sizes[largest[0]] > 0 else 1.0
    return Arrows([names[j] for j in largest], shifts[largest], factor)


def widen_limits(arrows: Arrows, origin: FloatArray, limits: FloatArray) -> FloatArray:
    """Return limits with room for the names at the tips, 1.5% of the width per character."""
    tips = (origin + arrows.factor * arrows.shifts)[:, 0]
    width = limits[1, 0] - limits[0, 0]
    lengths = [0.02 + 0.015 * min(len(name), MAX_ARROW_LABEL) for name in arrows.names]
    ends = tips + np.where(tips >= origin[0], 1, -1) * np.array(lengths) * width
    wider = limits.copy()
    wider[:, 0] = min(limits[0, 0], ends.min()), max(limits[1, 0], ends.max())
    return wider
