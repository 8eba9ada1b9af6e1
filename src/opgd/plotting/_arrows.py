"""Columns as arrows in the plane of two axes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray
from opgd.inspection.estimators import check_rows, get_column_names

LONGEST_AT_ARROW = 20


@dataclass(frozen=True)
class Arrows:
    """Columns as arrows: what goes with one standard deviation more of each."""

    names: list[str]
    shifts: FloatArray  # (k, 2), change of the scores
    factor: float  # standard deviations that an arrow stands for


def compute_column_shifts(X: AnyArray, scores: FloatArray) -> FloatArray:
    """Compute the changes of scores with one standard deviation more of each column, (p, q)."""
    columns = np.asarray(X, dtype=np.float64)
    columns = columns - columns.mean(axis=0)
    spread = columns.std(axis=0)
    constant = spread <= 8 * np.finfo(X.dtype).eps * np.abs(X).max(axis=0)
    shifts = columns.T @ (scores - scores.mean(axis=0)) / len(columns)
    shifts[~constant] /= spread[~constant, None]
    shifts[constant] = 0.0
    return shifts


def make_arrows(estimator: Any, X: Any, pair: list[int], number: int, limits: FloatArray) -> Arrows:
    """Select the columns with the largest arrows in a picture with these limits."""
    scores = np.asarray(estimator.transform(X), dtype=np.float64)[:, pair]
    shifts = compute_column_shifts(check_rows(estimator, X), scores)
    # by size in the picture, whose axes may have different lengths
    sizes = np.linalg.norm(shifts / (limits[1] - limits[0]), axis=1)
    largest = np.argsort(-sizes, kind="stable")[:number]
    names = get_column_names(estimator)
    factor = float(f"{0.4 / sizes[largest[0]]:.2g}") if sizes[largest[0]] > 0 else 1.0
    return Arrows([names[j] for j in largest], shifts[largest], factor)


def widen_limits(arrows: Arrows, origin: FloatArray, limits: FloatArray) -> FloatArray:
    """Widen limits to hold the names at the tips, at 1.5 % of the width for a character."""
    tips = (origin + arrows.factor * arrows.shifts)[:, 0]
    width = limits[1, 0] - limits[0, 0]
    lengths = [0.02 + 0.015 * min(len(name), LONGEST_AT_ARROW) for name in arrows.names]
    ends = tips + np.where(tips >= origin[0], 1, -1) * np.array(lengths) * width
    wider = limits.copy()
    wider[:, 0] = min(limits[0, 0], ends.min()), max(limits[1, 0], ends.max())
    return wider
