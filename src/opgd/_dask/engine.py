"""Rows on the workers of a Dask cluster: functions travel to them, small sums come back.

Every sum is one graph: a task for each part of the rows, then a tree of additions. Scheduling,
transport, retries and what to do about a worker that dies are Dask's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.delayed import delayed

from opgd._utils.blas import one_blas_thread
from opgd.core.engines import Answer, Engine, RowBlock, RowEngine, Sums
from opgd.core.types import AnyArray, FloatArray, IntArray

FAN_IN = 8
"""Sums that are added by one task."""
MEMORY_SHARE = 0.5
"""Share of the workers' memory that rows may fill; beyond it they are made anew for every pass."""


class Part(NamedTuple):
    """Some of the rows, in the memory of a worker."""

    X: AnyArray
    labels: IntArray
    weights: FloatArray | None


@dataclass(frozen=True)
class Pass:
    """What the tasks of one pass over the rows have in common."""

    center: FloatArray
    subtract: bool
    least_block_rows: int

    def engine(self, part: Part, first_row: int = 0) -> RowEngine:
        """The part, as any rows in memory."""
        return RowEngine(
            part.X,
            part.labels,
            part.weights,
            center=self.center,
            subtract=self.subtract,
            first_row=first_row,
        ).with_block_rows(self.least_block_rows)


class DaskEngine(Engine):
    """Rows in parts.

    Parameters
    ----------
    parts : list of delayed `Part`, none of them without rows
    lengths : ndarray of shape (n_parts,), numbers of their rows
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
        partly_labeled: bool,
        center: FloatArray | None = None,
        subtract: bool = False,
        least_block_rows: int = 0,
    ) -> None:
        self.parts, self.lengths = parts, lengths
        self.first_rows = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        self.n_samples, self.n_features = int(lengths.sum()), n_features
        self.dtype = np.dtype(dtype)
        self.total_weight, self.total_square_weight = total_weight, total_square_weight
        self.partly_labeled = partly_labeled
        self.center = np.zeros(n_features) if center is None else center
        self.subtract = subtract or self.dtype != np.float64
        self.least_block_rows = least_block_rows

    def _like_this(self, **changed: Any) -> "DaskEngine":
        same = {
            name: getattr(self, name)
            for name in (
                "parts",
                "lengths",
                "n_features",
                "dtype",
                "total_weight",
                "total_square_weight",
                "partly_labeled",
                "center",
                "subtract",
                "least_block_rows",
            )
        }
        return DaskEngine(**(same | changed))

    def centered_at(self, center: FloatArray, *, subtract: bool) -> "DaskEngine":
        return self._like_this(center=center, subtract=subtract)

    def with_block_rows(self, least: int) -> "DaskEngine":
        return self._like_this(least_block_rows=max(least, self.least_block_rows))

    def _pass(self, function: Any) -> tuple[Any, Any]:
        """A function and what its tasks share, each sent once instead of with every task."""
        shared = Pass(self.center, self.subtract, self.least_block_rows)
        return _sent(function), _sent(shared)

    def sum(self, function: Callable[[RowBlock], Sums], width: int = 0) -> Sums:
        sent, shared = self._pass(function)
        part_sum, tree_sum = delayed(_part_sum, pure=False), delayed(_tree_sum, pure=False)
        sums = [
            part_sum(part, sent, shared, int(first), width)
            for part, first in zip(self.parts, self.first_rows, strict=True)
        ]
        while len(sums) > 1:
            sums = [tree_sum(sums[i : i + FAN_IN]) for i in range(0, len(sums), FAN_IN)]
        total: Sums = sums[0].compute()
        return total

    def mapped(self, function: Answer) -> "DaskEngine":
        sent, shared = self._pass(function)
        mapped = delayed(_mapped_part, pure=False)
        parts = [mapped(part, sent, shared) for part in self.parts]
        width = delayed(_width, pure=False)(parts[0]).compute()
        return self._like_this(
            parts=persist_if_small(parts, self.n_samples * width * 8),
            n_features=width,
            dtype=np.float64,
            center=None,
            subtract=False,
            least_block_rows=0,
        )

    def find_rows(
        self, accept: Callable[[IntArray], AnyArray], most: int | None = None
    ) -> IntArray:
        sent = _sent(accept)
        count, select = delayed(_n_accepted, pure=False), delayed(_accepted, pure=False)
        counts = np.array(dask.compute(*[count(part, sent) for part in self.parts]))
        step = 1 if most is None else max(1, -(-int(counts.sum()) // most))
        before = np.concatenate([[0], np.cumsum(counts)[:-1]])
        found = dask.compute(
            *[
                select(part, sent, step, int(skipped))
                for part, skipped in zip(self.parts, before, strict=True)
            ]
        )
        return np.concatenate(
            [own + first for own, first in zip(found, self.first_rows, strict=True)]
        )

    def select_rows(self, positions: IntArray) -> RowEngine:
        which = np.searchsorted(self.first_rows, positions, side="right") - 1
        take = delayed(_taken, pure=False)
        found = dask.compute(
            *[
                take(self.parts[k], positions[which == k] - self.first_rows[k])
                for k in np.unique(which)
            ]
        )
        X, labels = (np.concatenate([part[i] for part in found]) for i in (0, 1))
        weights = [part.weights for part in found if part.weights is not None]
        all_parts = Part(X, labels, np.concatenate(weights) if weights else None)
        return Pass(self.center, self.subtract, 0).engine(all_parts)


def _sent(value: Any) -> Any:
    """A value as a task of its own."""
    return delayed(value, pure=False, traverse=False)


def _part_sum(part: Part, function: Any, shared: Pass, first_row: int, width: int) -> Any:
    with one_blas_thread():
        return shared.engine(part, first_row).sum(function, width)


def _tree_sum(sums: list[Any]) -> Any:
    return reduce(add, sums)


def _mapped_part(part: Part, function: Answer, shared: Pass) -> Part:
    with one_blas_thread():
        rows = shared.engine(part).mapped(function).X
    return Part(rows, part.labels, part.weights)


def _width(part: Part) -> int:
    return int(part.X.shape[1])


def _n_accepted(part: Part, accept: Any) -> int:
    return int(np.sum(accept(part.labels)))


def _accepted(part: Part, accept: Any, step: int, skipped: int) -> IntArray:
    found = np.flatnonzero(accept(part.labels))
    return found[-skipped % step :: step]


def _taken(part: Part, rows: IntArray) -> Part:
    weights = None if part.weights is None else part.weights[rows]
    return Part(part.X[rows], part.labels[rows], weights)


def persist_if_small(parts: list[Any], n_bytes: float) -> list[Any]:
    """The parts, held by the workers where they fit into half of their memory."""
    if n_bytes > MEMORY_SHARE * _memory():
        return parts
    return list(dask.persist(*parts))


def _memory() -> float:
    """Bytes that the workers have: those of the client in use, or of this machine."""
    client = _client()
    if client is None:
        import os

        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return float(sum(own["memory_limit"] or np.inf for own in workers))


def _client() -> Any:
    """The client that Dask computes with, if there is one."""
    try:
        from distributed import get_client
    except ImportError:  # Dask without its cluster
        return None
    try:
        return get_client()
    except ValueError:
        return None
