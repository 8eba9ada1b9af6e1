"""Arrows for columns in scatter plots of two axes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray
from opgd.inspection.estimators import check_rows, get_column_names
from opgd.plotting._text import format_names

MAX_ARROW_LABEL = 20
"""Maximum length of the name at an arrow."""
MIN_LENGTH = 0.15
"""Shortest arrow, as a share of the longest."""
MIN_ANGLE = 9.0
"""Smallest angle between two arrows in degrees, on a square plot."""


@dataclass(frozen=True)
class Arrows:
    """Changes of the scores with the columns, drawn as arrows."""

    names: list[str]
    shifts: FloatArray  # (k, 2), change of the scores per standard deviation of a column
    factor: float  # length of the arrows, in standard deviations
    similar: list[list[str]]  # columns with nearly the same direction, not drawn


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
    largest, similar = select_directions(shifts / (limits[1] - limits[0]), number)
    names = get_column_names(estimator)
    factor = float(f"{0.4 / sizes[largest[0]]:.2g}") if sizes[largest[0]] > 0 else 1.0
    others = [[names[j] for j in columns] for columns in similar]
    return Arrows([names[j] for j in largest], shifts[largest], factor, others)


def select_directions(steps: FloatArray, number: int) -> tuple[list[int], list[list[int]]]:
    """Return the longest steps with different directions, and those similar to each, by length.

    Steps that are much shorter than the longest are ignored.
    """
    lengths = np.linalg.norm(steps, axis=1)
    units = steps / np.maximum(lengths, np.finfo(float).tiny)[:, None]
    selected: list[int] = []
    similar: list[list[int]] = []
    long = lengths >= MIN_LENGTH * lengths.max()
    for j in [j for j in np.argsort(-lengths, kind="stable").tolist() if long[j]]:
        cosines = units[selected] @ units[j]
        if selected and cosines.max() > np.cos(np.radians(MIN_ANGLE)):
            similar[int(np.argmax(cosines))].append(j)
        elif len(selected) < number:
            selected.append(j)
            similar.append([])
    return selected, similar


def label_arrows(arrows: Arrows) -> list[str]:
    """Return names of the columns for display, with the number of similar ones."""
    shown = format_names(arrows.names, MAX_ARROW_LABEL)
    counts = [f" (+{len(names)})" if names else "" for names in arrows.similar]
    return [name + count for name, count in zip(shown, counts, strict=True)]


def widen_limits(arrows: Arrows, origin: FloatArray, limits: FloatArray) -> FloatArray:
    """Return limits with room for the names at the tips, 1.5% of the width per character."""
    tips = (origin + arrows.factor * arrows.shifts)[:, 0]
    width = limits[1, 0] - limits[0, 0]
    lengths = [0.02 + 0.015 * min(len(name), MAX_ARROW_LABEL) for name in arrows.names]
    ends = tips + np.where(tips >= origin[0], 1, -1) * np.array(lengths) * width
    wider = limits.copy()
    wider[:, 0] = min(limits[0, 0], ends.min()), max(limits[1, 0], ends.max())
    return wider
