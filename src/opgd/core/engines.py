"""Sums over the samples, computed in blocks that fit the cache, on one or more threads.

Everything that is estimated from the samples is a sum over them, so the main operation of an engine
is to apply a function to every block of rows and to add the results. `RowEngine` holds the rows in
memory or in a memory map, `opgd._dask.engine.DaskEngine` on the workers of a cluster.
"""

import math
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from itertools import pairwise
from operator import add
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from opgd.core.gaps import Gaps, find_gaps
from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_BLOCK_ROWS = 16384
MAX_BLOCK_CELLS = 3 * 2**17
MAX_BUFFER_CELLS = 2**21
CENTERING_RATIO = 16.0
"""Value of |mean| / range above which blocks are centered before products, to keep digits."""


class Addable(Protocol):
    """Results of blocks that can be added."""

    def __add__(self, other: Self, /) -> Self: ...


Sums = TypeVar("Sums", bound=Addable)


class _OrderedSum(Generic[Sums]):
    """A sum of numbered results in the order of their numbers, whatever order they arrive in.

    Threads add their results themselves: waking the main thread for every block takes 5% of the
    time of a pass.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, Sums] = {}
        self._n_added = 0
        self.value: Sums

    def add(self, number: int, result: Sums) -> None:
        """Add a result, or store it until all results before it have been added."""
        with self._lock:
            self._waiting[number] = result
            while self._n_added in self._waiting:
                following = self._waiting.pop(self._n_added)
                self.value = self.value + following if self._n_added else following
                self._n_added += 1


class Workspace:
    """Buffers that are allocated once and reused for every block of a thread."""

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, Any], AnyArray] = {}

    def array(self, name: str, *shape: int, dtype: Any = np.float64) -> Any:
        """Return an uninitialized, contiguous array; equal names and dtypes share memory."""
        size = math.prod(shape)
        buffer = self._buffers.get((name, dtype))
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name, dtype] = np.empty(size, dtype)
        return buffer[:size].reshape(shape)


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows with their labels and weights.

    The engine may have subtracted a part of the center from `X` already; `rest` is the remaining
    part, so that centered = X - rest. Rows in float32 are not converted, since large products take
    half the time in float32; results of these products are float64.
    """

    rows: slice  # position among all rows
    X: AnyArray  # (n_rows, n_features)
    rest: FloatArray  # (n_features,)
    labels: IntArray  # (n_rows,)
    weights: FloatArray | None  # (n_rows,)
    workspace: Workspace
    gaps: Gaps | None = None  # entries of X that are estimates of missing ones

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def row_weights(self) -> FloatArray:
        """Return the weights of the rows, ones by default."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def cast_to_block_dtype(self, values: FloatArray) -> AnyArray:
        """Return values in the dtype of X, for a product with X."""
        if values.dtype == self.X.dtype:
            return values
        buffer: AnyArray = self.workspace.array("cast", *values.shape, dtype=self.X.dtype)
        buffer[...] = values
        return buffer

    def centered(self) -> FloatArray:
        """Return the centered rows as float64, in a buffer of the workspace."""
        buffer: FloatArray = self.workspace.array("centered", *self.X.shape)
        return np.subtract(self.X, self.rest, out=buffer)


Answer = Callable[[RowBlock], AnyArray]
"""Map a block to values for each of its rows, (..., n_rows)."""


class Engine(ABC):
    """Samples with labels and weights, and operations on blocks of them.

    Functions of blocks may be sent to the workers of a cluster: they should refer to small arrays
    only, never to an engine.
    """

    n_samples: int
    n_features: int
    dtype: Any
    partly_labeled: bool
    """Whether some labels are -1."""
    total_weight: float
    total_square_weight: float
    center: FloatArray  # (n_features,)
    incomplete: bool
    """Whether some entries are estimates of missing ones."""

    @property
    def count(self) -> float:
        """Return the effective number of samples: the weight, but at least Kish's size."""
        return max(self.total_weight, self.total_weight**2 / self.total_square_weight)

    @abstractmethod
    def sum(self, function: Callable[[RowBlock], Sums], width: int = 0) -> Sums:
        """Apply `function` to every block and add the results.

        `width` is the number of buffer cells that the function needs per row.
        """

    @abstractmethod
    def centered_at(self, center: FloatArray, *, subtract: bool) -> Self:
        """Return an engine with another center; `subtract` as in `RowEngine`."""

    @abstractmethod
    def with_block_rows(self, least: int) -> Self:
        """Return an engine whose blocks have at least `least` rows, if there are that many."""

    @abstractmethod
    def mapped(self, function: Answer) -> "Engine":
        """Return an engine whose rows are results (n_columns, n_rows); labels and weights stay."""

    @abstractmethod
    def find_rows(
        self, accept: Callable[[IntArray], AnyArray], most: int | None = None
    ) -> IntArray:
        """Return the indices of rows whose labels `accept` is true for.

        If there are more than `most`, return at most `most` of them, evenly spaced.
        """

    @abstractmethod
    def select_rows(self, positions: IntArray) -> "RowEngine":
        """Return an engine with copies in memory of the rows at `positions`, which ascend."""

    @abstractmethod
    def fill_gaps(self, function: Callable[[RowBlock], FloatArray]) -> Self:
        """Return an engine whose missing entries (nan) have the values that a function computes.

        It maps a block to the values of its gaps. The missing entries of the block are nan, or have
        the values of an earlier call.
        """

    def has_missing(self) -> bool:
        """Return whether some entries are nan."""
        return bool(self.sum(lambda block: np.array([np.isnan(block.X).any()], dtype=np.intp))[0])

    def sample(self, size: int) -> "RowEngine":
        """Return a stratified sample: one random row from each of `size` equal ranges.

        The sample is the same in every call.
        """
        return self.select_rows(spread_positions(self.n_samples, size))


def spread_positions(n_samples: int, size: int) -> IntArray:
    """Return one random position from each of `size` equal ranges, ascending; all if they are few.

    The positions are the same in every call. Unlike equally spaced ones, they do not follow a
    period in the data.
    """
    if size >= n_samples:
        return np.arange(n_samples)
    places = (np.arange(size) + np.random.default_rng(0).random(size)) / size
    return (places * n_samples).astype(np.intp)


def choose_block_rows(n_features: int) -> int:
    """Return the number of rows of a block that fits into the cache."""
    return int(np.clip(MAX_BLOCK_CELLS // max(n_features, 1), 256, MAX_BLOCK_ROWS))


@lru_cache(maxsize=256)
def split_rows(
    n_samples: int, n_features: int, block_rows: int | None = None, width: int = 0
) -> tuple[slice, ...]:
    """Split rows into blocks of equal size; `width` as in `Engine.sum`."""
    most = min(
        block_rows or choose_block_rows(n_features), max(MAX_BUFFER_CELLS // max(width, 1), 64)
    )
    n_blocks = -(-n_samples // most)
    # an even number of blocks keeps two threads busy until the end
    n_blocks = min(n_blocks + n_blocks % 2, n_samples) if n_blocks > 1 else 1
    ends = [n_samples * k // n_blocks for k in range(n_blocks + 1)]
    return tuple(slice(first, last) for first, last in pairwise(ends))


class RowEngine(Engine):
    """Samples in memory (or in a memory map), split into blocks for one or more threads.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64 or float32; never copied as a whole
    labels : ndarray of shape (n_samples,), codes of classes or Gaussians
    weights : ndarray of shape (n_samples,) or None for all ones
    center : ndarray of shape (n_features,) or None for zeros
    subtract : bool
        Whether to subtract `center` from a copy of each block. This is needed where products of
        the rows would lose digits: in float32, or far from the origin.
    n_threads : int
        Number of threads. Results are added in the order of the rows, so they are identical for
        any number of threads.
    first_row : int
        Index of the first row among all rows, if these are a part of them.
    gaps : Gaps or None
        Missing entries. Their values are filled in block by block, in copies of the blocks.
    """

    def __init__(
        self,
        X: AnyArray,
        labels: IntArray,
        weights: FloatArray | None = None,
        *,
        center: FloatArray | None = None,
        subtract: bool = False,
        n_threads: int = 1,
        block_rows: int | None = None,
        first_row: int = 0,
        gaps: Gaps | None = None,
    ) -> None:
        self.X, self.labels, self.weights, self.gaps = X, labels, weights, gaps
        self.n_samples, self.n_features = X.shape
        self.dtype = X.dtype
        self.center = np.zeros(self.n_features) if center is None else center
        self.subtract = subtract or X.dtype != np.float64
        self.block_rows = block_rows or choose_block_rows(self.n_features)
        self.first_row = first_row
        self.n_threads = max(1, min(n_threads, -(-self.n_samples // self.block_rows)))
        self._workspaces = [Workspace() for _ in range(self.n_threads)]

    @property
    def incomplete(self) -> bool:  # type: ignore[override]
        return self.gaps is not None

    @cached_property
    def partly_labeled(self) -> bool:  # type: ignore[override]
        return bool(np.any(self.labels < 0))

    @cached_property
    def total_weight(self) -> float:  # type: ignore[override]
        return float(self.n_samples if self.weights is None else self.weights.sum())

    @cached_property
    def total_square_weight(self) -> float:  # type: ignore[override]
        return float(self.n_samples if self.weights is None else self.weights @ self.weights)

    def select_rows(self, positions: IntArray) -> "RowEngine":
        weights = None if self.weights is None else self.weights[positions]
        X, gaps = self.X[positions], None
        if self.gaps is not None:
            gaps = self.gaps.select_rows(positions)
            X, gaps = gaps.fill(X), gaps.without_values()
        return RowEngine(
            X,
            self.labels[positions],
            weights,
            center=self.center,
            subtract=self.subtract,
            n_threads=self.n_threads,
            gaps=gaps,
        )

    @property
    def row_weights(self) -> FloatArray:
        """Return the weights of the rows, ones by default."""
        return np.ones(self.n_samples) if self.weights is None else self.weights

    def with_weights(self, weights: FloatArray) -> "RowEngine":
        """Return an engine with other weights."""
        copy = self._copy(self.center, self.subtract, self.block_rows)
        copy.weights = weights
        return copy

    def find_rows(
        self, accept: Callable[[IntArray], AnyArray], most: int | None = None
    ) -> IntArray:
        found = np.flatnonzero(accept(self.labels))
        return found if most is None else found[:: max(1, -(-len(found) // most))]

    def hide_labels(self, positions: IntArray) -> "RowEngine":
        """Return an engine in which the labels of the rows at `positions` are -1."""
        labels = self.labels.copy()
        labels[positions] = -1
        return self._copy(self.center, self.subtract, self.block_rows, labels=labels)

    def mapped(self, function: Answer) -> "RowEngine":
        rows = np.concatenate([function(block).T.copy() for block in self.blocks()])
        gaps = None if self.gaps is None else self.gaps.without_values()
        return RowEngine(rows, self.labels, self.weights, n_threads=self.n_threads, gaps=gaps)

    def with_block_rows(self, least: int) -> "RowEngine":
        return self if least <= self.block_rows else self._copy(self.center, self.subtract, least)

    def centered_at(self, center: FloatArray, *, subtract: bool) -> "RowEngine":
        return self._copy(center, subtract, self.block_rows)

    def fill_gaps(self, function: Callable[[RowBlock], FloatArray]) -> "RowEngine":
        gaps = find_gaps(self.X) if self.gaps is None else self.gaps
        engine = self._copy(self.center, self.subtract, self.block_rows, gaps=gaps)
        values = np.concatenate([function(block) for block in engine.blocks()])
        gaps = replace(gaps, values=values)
        return self._copy(self.center, self.subtract, self.block_rows, gaps=gaps)

    def _copy(
        self,
        center: FloatArray,
        subtract: bool,
        block_rows: int,
        *,
        labels: IntArray | None = None,
        gaps: Gaps | None = None,
    ) -> "RowEngine":
        return RowEngine(
            self.X,
            self.labels if labels is None else labels,
            self.weights,
            center=center,
            subtract=subtract,
            n_threads=self.n_threads,
            block_rows=block_rows,
            first_row=self.first_row,
            gaps=self.gaps if gaps is None else gaps,
        )

    def blocks(self, width: int = 0) -> Iterator[RowBlock]:
        """Yield all blocks in the order of the rows; `width` as in `sum`."""
        for rows in self._split(width):
            yield self._block(rows, self._workspaces[0])

    def _split(self, width: int) -> tuple[slice, ...]:
        return split_rows(self.n_samples, self.n_features, self.block_rows, width)

    def _block(self, rows: slice, workspace: Workspace) -> RowBlock:
        """Return the block of these rows, with buffers from the workspace."""
        X, rest, gaps = self.X[rows], self.center, None
        if self.gaps is not None:
            gaps = self.gaps.slice_rows(rows)
            X = _fill_copy(X, gaps, workspace)
        if self.subtract:
            origin = self.center.astype(self.X.dtype)
            with np.errstate(over="ignore", invalid="ignore"):  # `locate_columns` checks for it
                X = np.subtract(
                    X, origin, out=workspace.array("rows", *X.shape, dtype=self.X.dtype)
                )
            rest = self.center - origin
        weights = None if self.weights is None else self.weights[rows]
        among_all = slice(self.first_row + rows.start, self.first_row + rows.stop)
        return RowBlock(among_all, X, rest, self.labels[rows], weights, workspace, gaps)

    def sum(self, function: Callable[[RowBlock], Sums], width: int = 0) -> Sums:
        if self.n_threads == 1:
            return reduce(add, map(function, self.blocks(width)))
        pending, total = deque(enumerate(self._split(width))), _OrderedSum[Sums]()

        def process_blocks(workspace: Workspace) -> None:
            try:
                while (task := _pop_task(pending)) is not None:
                    number, rows = task
                    total.add(number, function(self._block(rows, workspace)))
            except BaseException:
                pending.clear()
                raise

        with ThreadPoolExecutor(self.n_threads) as pool:
            try:
                list(pool.map(process_blocks, self._workspaces))
            finally:
                pending.clear()  # after an interrupt, threads finish their current block only
        return total.value


def _fill_copy(X: AnyArray, gaps: Gaps, workspace: Workspace) -> AnyArray:
    """Return a copy of rows with values for missing entries, or the rows if they are complete."""
    if gaps.values is None:
        return X
    copy: AnyArray = workspace.array("filled", *X.shape, dtype=X.dtype)
    copy[...] = X
    return gaps.fill(copy)


def _pop_task(pending: deque[tuple[int, slice]]) -> tuple[int, slice] | None:
    """Remove and return the next block, or None after the last one; thread-safe."""
    try:
        return pending.popleft()
    except IndexError:
        return None
