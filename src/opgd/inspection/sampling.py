"""Reports on Dask input: some rows in memory, and counts of all rows."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd._dask.lazy import compute_eagerly, is_lazy
from opgd._utils.labels import to_label_array
from opgd.core.types import IntArray
from opgd.inspection.cross_validation import MAX_ROWS, MAX_VALUES
from opgd.inspection.estimators import get_group_names, has_classes
from opgd.inspection.pipelines import Unwrapped


@dataclass(frozen=True)
class Population:
    """All rows of a table of which a report shows some."""

    n_rows: int
    counts: list[tuple[str, int]]  # rows of each class or cluster


@dataclass(frozen=True)
class DrawnRows:
    """Rows of Dask input in memory, with their labels and groups."""

    X: Any
    y: Any
    groups: Any
    population: Population | None  # None if these are all rows


def draw_rows(unwrapped: Unwrapped, X: Any, y: Any = None, groups: Any = None) -> DrawnRows:
    """Load rows spread over Dask input, few enough for cross-validation.

    Other input is returned as it is.
    """
    if not is_lazy(X):
        return DrawnRows(X, y, groups, None)
    from opgd._dask.samples import load_evenly

    sample = load_evenly(X, min(MAX_ROWS, max(1, MAX_VALUES // X.shape[1])))
    y, groups = (
        _load(name, values, sample.n_samples) for name, values in (("y", y), ("groups", groups))
    )
    population = None
    if len(sample.positions) < sample.n_samples:
        population = Population(sample.n_samples, _count_groups(unwrapped, X, y))
    rows = sample.to_frame().X
    return DrawnRows(rows, _take(y, sample.positions), _take(groups, sample.positions), population)


def _load(name: str, values: Any, n_rows: int) -> Any:
    """Return labels or groups of all rows in memory."""
    values = compute_eagerly(values)
    if values is not None and len(values) != n_rows:
        raise ValueError(f"X has {n_rows} samples, but {name} has {len(values)}.")
    return values


def _take(values: Any, positions: IntArray) -> Any:
    if values is None:
        return None
    return values.iloc[positions] if hasattr(values, "iloc") else to_label_array(values)[positions]


def _count_groups(unwrapped: Unwrapped, X: Any, y: Any) -> list[tuple[str, int]]:
    """Return the classes with their numbers of rows, or clusters, which are predicted for all."""
    model = unwrapped.estimator
    if has_classes(model):
        counts = Counter(to_label_array(y).tolist())
        return [(str(label), counts[label]) for label in model.classes_.tolist()]
    clusters = compute_eagerly(model.predict(unwrapped.encode(X)))
    names = get_group_names(model)
    return [(name, int(np.sum(clusters == k))) for k, name in enumerate(names)]
