"""Engine for samples on the workers of a Dask cluster.

Functions are sent to the workers, and only small sums are returned. Every sum is one Dask graph: a
task for each part of the samples, then a tree of additions. Dask is responsible for scheduling,
transport, retries and the recovery from lost workers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.delayed import delayed

from opgd._utils.blas import one_blas_thread
from opgd._utils.memory import get_memory
from opgd._utils.validation import weigh_by_class
from opgd.core.engines import Answer, Engine, RowBlock, RowEngine, Sums
from opgd.core.gaps import Gaps
from opgd.core.types import AnyArray, FloatArray, IntArray

FAN_IN = 8
"""Number of sums that one task adds."""
MEMORY_SHARE = 0.5
"""Share of the workers' memory up to which parts are persisted, not recomputed in every pass."""


class Part(NamedTuple):
    """Some of the samples, in the memory of a worker."""

    X: AnyArray
    labels: IntArray
    weights: FloatArray | None
    gaps: Gaps | None = None


@dataclass(frozen=True)
class Pass:
    """Settings that all tasks of one pass over the samples share."""

    center: FloatArray
    subtract: bool
    least_block_rows: int

    def engine(self, part: Part, first_row: int = 0) -> RowEngine:
        """Return an engine for the samples of a part."""
        return RowEngine(
            part.X,
            part.labels,
            part.weights,
            center=self.center,
            subtract=self.subtract,
            first_row=first_row,
            gaps=part.gaps,
        ).with_block_rows(self.least_block_rows)


class DaskEngine(Engine):
    """Samples in parts on the workers of a Dask cluster.

    Parameters
    ----------
    parts : list of delayed `Part`, none of them empty
    lengths : ndarray of shape (n_parts,), their numbers of samples
    """

    def __init__(
        self,
        parts: list[Any],
        lengths: IntArray,
        n_features: int,
        dtype: Any,
        *,
        total_weight: float,
        total_square_weight: float,
        center: FloatArray | None = None,
        subtract: bool = False,
        least_block_rows: int = 0,
        incomplete: bool = False,
    ) -> None:
        self.incomplete = incomplete
        self.parts, self.lengths = parts, lengths
        self.first_rows = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        self.n_samples, self.n_features = int(lengths.sum()), n_features
        self.dtype = np.dtype(dtype)
        self.total_weight, self.total_square_weight = total_weight, total_square_weight
        self.partly_labeled = False
        self.center = np.zeros(n_features) if center is None else center
        self.subtract = subtract or self.dtype != np.float64
        self.least_block_rows = least_block_rows

    def _replace(self, **changes: Any) -> "DaskEngine":
        """Return a copy with other settings."""
        settings = {
            name: getattr(self, name)
            for name in (
                "parts",
                "lengths",
                "n_features",
                "dtype",
                "total_weight",
                "total_square_weight",
                "center",
                "subtract",
                "least_block_rows",
                "incomplete",
            )
        }
        return DaskEngine(**(settings | changes))

    def centered_at(self, center: FloatArray, *, subtract: bool) -> "DaskEngine":
        return self._replace(center=center, subtract=subtract)

    def with_block_rows(self, least: int) -> "DaskEngine":
        return self._replace(least_block_rows=max(least, self.least_block_rows))

    def _make_shared_tasks(self, function: Any) -> tuple[Any, Any]:
        """Return tasks for a function and the settings, so that each is sent only once."""
        shared = Pass(self.center, self.subtract, self.least_block_rows)
        return make_task(function), make_task(shared)

    def sum(self, function: Callable[[RowBlock], Sums], width: int = 0) -> Sums:
        function_task, shared = self._make_shared_tasks(function)
        sum_part, add_sums = delayed(_sum_part, pure=False), delayed(_add_sums, pure=False)
        sums = [
            sum_part(part, function_task, shared, int(first), width)
            for part, first in zip(self.parts, self.first_rows, strict=True)
        ]
        while len(sums) > 1:
            sums = [add_sums(sums[i : i + FAN_IN]) for i in range(0, len(sums), FAN_IN)]
        total: Sums = sums[0].compute()
        return total

    def mapped(self, function: Answer) -> "DaskEngine":
        function_task, shared = self._make_shared_tasks(function)
        map_part = delayed(_map_part, pure=False)
        parts = [map_part(part, function_task, shared) for part in self.parts]
        width = delayed(_count_columns, pure=False)(parts[0]).compute()
        return self._replace(
            parts=persist_if_small(parts, self.n_samples * width * 8),
            n_features=width,
            dtype=np.float64,
            center=None,
            subtract=False,
            least_block_rows=0,
        )

    def fill_gaps(self, function: Callable[[RowBlock], FloatArray]) -> "DaskEngine":
        function_task, shared = self._make_shared_tasks(function)
        fill_part = delayed(_fill_part, pure=False)
        parts = [fill_part(part, function_task, shared) for part in self.parts]
        n_bytes = self.n_samples * self.n_features * self.dtype.itemsize
        return self._replace(parts=persist_if_small(parts, n_bytes), incomplete=True)

    def find_rows(
        self, accept: Callable[[IntArray], AnyArray], most: int | None = None
    ) -> IntArray:
        accept_task = make_task(accept)
        count, select = delayed(_count_accepted, pure=False), delayed(_find_accepted, pure=False)
        counts = np.array(dask.compute(*[count(part, accept_task) for part in self.parts]))
        step = 1 if most is None else max(1, -(-int(counts.sum()) // most))
        before = np.concatenate([[0], np.cumsum(counts)[:-1]])
        found = dask.compute(
            *[
                select(part, accept_task, step, int(n_before))
                for part, n_before in zip(self.parts, before, strict=True)
            ]
        )
        return np.concatenate(
            [rows + first for rows, first in zip(found, self.first_rows, strict=True)]
        )

    def count_classes(self, n_classes: int) -> FloatArray:
        """Return the total weight of the samples of each class, (K,)."""
        return self.sum(partial(_count_block_classes, n_classes))

    def weigh_by_class(self, factors: FloatArray) -> "DaskEngine":
        """Return an engine with weights multiplied by the factors (K,) of the classes."""
        weigh, measure = delayed(_weigh_part, pure=False), delayed(_measure_weights, pure=False)
        factors_task = make_task(factors)
        parts = [weigh(part, factors_task) for part in self.parts]
        total, square = np.sum(dask.compute(*[measure(part) for part in parts]), axis=0)
        return self._replace(
            parts=parts, total_weight=float(total), total_square_weight=float(square)
        )

    def select_rows(self, positions: IntArray) -> RowEngine:
        which = np.searchsorted(self.first_rows, positions, side="right") - 1
        select = delayed(_select_part_rows, pure=False)
        selections = dask.compute(
            *[
                select(self.parts[k], positions[which == k] - self.first_rows[k])
                for k in np.unique(which)
            ]
        )
        X, labels = (np.concatenate([part[i] for part in selections]) for i in (0, 1))
        weights = [part.weights for part in selections if part.weights is not None]
        gaps = [part.gaps for part in selections if part.gaps is not None]
        selection = Part(
            X,
            labels,
            np.concatenate(weights) if weights else None,
            Gaps.concatenate(gaps) if gaps else None,
        )
        return Pass(self.center, self.subtract, 0).engine(selection)


def make_task(value: Any) -> Any:
    """Return a task that holds a value, so that it is sent to each worker once."""
    return delayed(value, pure=False, traverse=False)


def _sum_part(part: Part, function: Any, shared: Pass, first_row: int, width: int) -> Any:
    with one_blas_thread():
        return shared.engine(part, first_row).sum(function, width)


def _add_sums(sums: list[Any]) -> Any:
    return reduce(add, sums)


def _map_part(part: Part, function: Answer, shared: Pass) -> Part:
    with one_blas_thread():
        mapped = shared.engine(part).mapped(function)
    return Part(mapped.X, part.labels, part.weights, mapped.gaps)


def _fill_part(part: Part, function: Any, shared: Pass) -> Part:
    with one_blas_thread():
        return part._replace(gaps=shared.engine(part).fill_gaps(function).gaps)


def _count_columns(part: Part) -> int:
    return int(part.X.shape[1])


def _count_accepted(part: Part, accept: Any) -> int:
    return int(np.sum(accept(part.labels)))


def _find_accepted(part: Part, accept: Any, step: int, n_before: int) -> IntArray:
    """Return every `step`-th accepted row; `n_before` rows were accepted in earlier parts."""
    found = np.flatnonzero(accept(part.labels))
    return found[-n_before % step :: step]


def _count_block_classes(n_classes: int, block: RowBlock) -> FloatArray:
    return np.bincount(block.labels, block.row_weights, n_classes).astype(np.float64)


def _weigh_part(part: Part, factors: FloatArray) -> Part:
    return part._replace(weights=weigh_by_class(factors, part.labels, part.weights))


def _measure_weights(part: Part) -> FloatArray:
    """Return the sum of the weights of a part, and that of their squares."""
    assert part.weights is not None
    return np.array([part.weights.sum(), part.weights @ part.weights])


def _select_part_rows(part: Part, rows: IntArray) -> Part:
    selected = Pass(np.zeros(part.X.shape[1]), False, 0).engine(part).select_rows(rows)
    return Part(selected.X, selected.labels, selected.weights, selected.gaps)


def persist_if_small(parts: list[Any], n_bytes: float) -> list[Any]:
    """Persist the parts on the workers if they fit into `MEMORY_SHARE` of their memory."""
    if n_bytes > MEMORY_SHARE * _get_memory():
        return parts
    return list(dask.persist(*parts))


def _get_memory() -> float:
    """Return the memory in bytes of the workers of the current client, or of this machine."""
    client = _find_client()
    if client is None:
        return get_memory()
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return float(sum(worker["memory_limit"] or np.inf for worker in workers))


def _find_client() -> Any:
    """Return the client that Dask computes with, or None."""
    try:
        from distributed import get_client
    except ImportError:  # Dask is installed without distributed
        return None
    try:
        return get_client()
    except ValueError:
        return None
