"""Going through the rows: blocks that fit the cache, on one thread or several.

Everything that is learnt from rows is a sum over them, so an engine needs one verb: apply a
function to every block of rows and add the results. Where the rows are is the engine's business:
in memory or a memory map here, on the workers of a cluster in `opgd.dask`.
"""

import math
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_BLOCK_ROWS = 16384
MAX_BLOCK_CELLS = 3 * 2**17
MAX_BUFFER_CELLS = 2**21
CENTERING_RATIO = 16.0
"""Beyond this |mean| / range, raw products lose digits that a centered block keeps."""


class Addable(Protocol):
    """Results of blocks that can be combined."""

    def __add__(self, other: Self, /) -> Self: ...


Sums = TypeVar("Sums", bound=Addable)


class _OrderedSum(Generic[Sums]):
    """A sum of numbered results in the order of their numbers, however they arrive.

    Threads add to it themselves: a main thread that wakes up for every block costs 5 % of a pass.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, Sums] = {}
        self._n_added = 0
        self.value: Sums

    def add(self, number: int, result: Sums) -> None:
        with self._lock:
            self._waiting[number] = result
            while self._n_added in self._waiting:
                following = self._waiting.pop(self._n_added)
                self.value = self.value + following if self._n_added else following
                self._n_added += 1


class Workspace:
    """Buffers that are allocated once and used again for every block of a thread."""

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, Any], AnyArray] = {}

    def array(self, name: str, *shape: int, dtype: Any = np.float64) -> Any:
        """An uninitialized, contiguous array; the same memory for the same name and type."""
        size = math.prod(shape)
        buffer = self._buffers.get((name, dtype))
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name, dtype] = np.empty(size, dtype)
        return buffer[:size].reshape(shape)


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows with what belongs to them.

    `X` holds rows minus what the engine already subtracted; the rest of the way to centered rows
    is `rest`: centered = X - rest. Rows of float32 stay so, since the large products with them take
    half the time; everything that is made of the products is float64.
    """

    rows: slice  # which of all rows
    X: AnyArray  # (n_rows, n_features)
    rest: FloatArray  # (n_features,)
    labels: IntArray  # (n_rows,)
    weights: FloatArray | None  # (n_rows,)
    workspace: Workspace

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def row_weights(self) -> FloatArray:
        """Weights of the rows, ones where there are none."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def alike(self, values: FloatArray) -> AnyArray:
        """Values in the type of X, for a product with it."""
        if values.dtype == self.X.dtype:
            return values
        buffer: AnyArray = self.workspace.array("alike", *values.shape, dtype=self.X.dtype)
        buffer[...] = values
        return buffer

    def centered(self) -> FloatArray:
        """Centered rows in a buffer of this block's workspace, float64."""
        buffer: FloatArray = self.workspace.array("centered", *self.X.shape)
        return np.subtract(self.X, self.rest, out=buffer)


Answer = Callable[[RowBlock], AnyArray]
"""Something of every row of a block, (..., n_rows)."""


class Engine(ABC):
    """Rows somewhere, with labels and weights.

    Functions of blocks may have to travel to the rows: they should hold small arrays, never an
    engine.
    """

    n_samples: int
    n_features: int
    dtype: Any
    partly_labeled: bool
    """Whether some labels are -1."""
    total_weight: float
    total_square_weight: float
    center: FloatArray  # (n_features,)

    @property
    def count(self) -> float:
        """How many rows these are worth: their weight, but at least Kish's effective number."""
        return max(self.total_weight, self.total_weight**2 / self.total_square_weight)

    @abstractmethod
    def sum(self, function: Callable[[RowBlock], Sums], width: int = 0) -> Sums:
        """Apply `function` to every block and add the results.

        `width` is the number of cells for which the function needs buffers, per row.
        """

    @abstractmethod
    def centered_at(self, center: FloatArray, *, subtract: bool) -> Self:
        """The same rows about another center; `subtract` as in `RowEngine`."""

    @abstractmethod
    def with_block_rows(self, least: int) -> Self:
        """The same rows in blocks of at least so many."""

    @abstractmethod
    def mapped(self, function: Answer) -> "Engine":
        """Rows that are answers (n_columns, n_rows), with the labels and weights of these."""

    @abstractmethod
    def positions(
        self, accept: Callable[[IntArray], AnyArray], most: int | None = None
    ) -> IntArray:
        """Which rows have labels that `accept` takes: all, or at most so many, evenly spaced."""

    @abstractmethod
    def chosen(self, positions: IntArray) -> "RowEngine":
        """Some of the rows, copied into memory; positions ascend."""

    def sample(self, size: int) -> "RowEngine":
        """So many rows, one at random from each of as many equal stretches; always the same."""
        places = (np.arange(size) + np.random.default_rng(0).random(size)) / size
        return self.chosen((places * self.n_samples).astype(np.intp))


def choose_block_rows(n_features: int) -> int:
    """Return the number of rows of a block that fits the cache."""
    return int(np.clip(MAX_BLOCK_CELLS // max(n_features, 1), 256, MAX_BLOCK_ROWS))


def split_rows(
    n_samples: int, n_features: int, block_rows: int | None = None, width: int = 0
) -> list[slice]:
    """Cut rows into blocks of equal size; `width` as in `Engine.sum`."""
    most = min(
        block_rows or choose_block_rows(n_features), max(MAX_BUFFER_CELLS // max(width, 1), 64)
    )
    n_blocks = -(-n_samples // most)
    # an even number suits two threads
    n_blocks = min(n_blocks + n_blocks % 2, n_samples) if n_blocks > 1 else 1
    ends = [n_samples * k // n_blocks for k in range(n_blocks + 1)]
    return [slice(first, last) for first, last in pairwise(ends)]


class RowEngine(Engine):
    """Rows in memory (or in a memory map), cut into blocks for one or more threads.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64 or float32; never copied as a whole
    labels : ndarray of shape (n_samples,), codes of the rows' classes or Gaussians
    weights : ndarray of shape (n_samples,) or None for all ones
    center : ndarray of shape (n_features,) or None for zeros
    subtract : bool
        Hand out blocks with `center` already subtracted (a copy of the block). Needed where
        products of raw rows would lose digits: float32 rows, or rows far from the origin.
    double : bool
        Hand out float64 blocks, whatever the type of the rows.
    n_threads : int
        Threads take one block after the other, and results are added in the order of the rows:
        any number of threads gives the same bits.
    first_row : int
        Where these rows begin among all rows, if they are a part of some.
    """

    def __init__(
        self,
        X: AnyArray,
        labels: IntArray,
        weights: FloatArray | None = None,
        *,
        center: FloatArray | None = None,
        subtract: bool = False,
        double: bool = False,
        n_threads: int = 1,
        block_rows: int | None = None,
        first_row: int = 0,
    ) -> None:
        self.X, self.labels, self.weights = X, labels, weights
        self.n_samples, self.n_features = X.shape
        self.dtype = X.dtype
        self.center = np.zeros(self.n_features) if center is None else center
        self.subtract = subtract or X.dtype != np.float64
        self.block_rows = block_rows or choose_block_rows(self.n_features)
        self.double, self.first_row = double, first_row
        self.n_threads = max(1, min(n_threads, -(-self.n_samples // self.block_rows)))
        self._workspaces = [Workspace() for _ in range(self.n_threads)]

    @cached_property
    def partly_labeled(self) -> bool:  # type: ignore[override]
        return bool(np.any(self.labels < 0))

    @cached_property
    def total_weight(self) -> float:  # type: ignore[override]
        return float(self.n_samples if self.weights is None else self.weights.sum())

    @cached_property
    def total_square_weight(self) -> float:  # type: ignore[override]
        return float(self.n_samples if self.weights is None else self.weights @ self.weights)

    def chosen(self, positions: IntArray) -> "RowEngine":
        weights = None if self.weights is None else self.weights[positions]
        return RowEngine(
            self.X[positions],
            self.labels[positions],
            weights,
            center=self.center,
            subtract=self.subtract,
            double=self.double,
            n_threads=self.n_threads,
        )

    def positions(
        self, accept: Callable[[IntArray], AnyArray], most: int | None = None
    ) -> IntArray:
        found = np.flatnonzero(accept(self.labels))
        return found if most is None else found[:: max(1, -(-len(found) // most))]

    def mapped(self, function: Answer) -> "RowEngine":
        rows = np.concatenate([function(block).T.copy() for block in self.blocks()])
        return RowEngine(rows, self.labels, self.weights, n_threads=self.n_threads)

    def with_block_rows(self, least: int) -> "RowEngine":
        return self if least <= self.block_rows else self._copy(self.center, self.subtract, least)

    def centered_at(self, center: FloatArray, *, subtract: bool) -> "RowEngine":
        return self._copy(center, subtract, self.block_rows)

    def _copy(self, center: FloatArray, subtract: bool, block_rows: int) -> "RowEngine":
        return RowEngine(
            self.X,
            self.labels,
            self.weights,
            center=center,
            subtract=subtract,
            double=self.double,
            n_threads=self.n_threads,
            block_rows=block_rows,
            first_row=self.first_row,
        )

    def blocks(self, width: int = 0) -> Iterator[RowBlock]:
        """All blocks in the order of the rows, one at a time; `width` as in `sum`."""
        for rows in self._split(width):
            yield self._block(rows, self._workspaces[0])

    def _split(self, width: int) -> list[slice]:
        return split_rows(self.n_samples, self.n_features, self.block_rows, width)

    def _block(self, rows: slice, workspace: Workspace) -> RowBlock:
        """Return the block of these rows, in buffers of the workspace."""
        X, rest = self.X[rows], self.center
        if self.subtract:
            dtype = np.dtype(np.float64) if self.double else self.X.dtype
            origin = self.center.astype(dtype)
            with np.errstate(over="ignore", invalid="ignore"):  # `locate_columns` looks for it
                X = np.subtract(X, origin, out=workspace.array("rows", *X.shape, dtype=dtype))
            rest = self.center - origin
        weights = None if self.weights is None else self.weights[rows]
        among_all = slice(self.first_row + rows.start, self.first_row + rows.stop)
        return RowBlock(among_all, X, rest, self.labels[rows], weights, workspace)

    def sum(self, function: Callable[[RowBlock], Sums], width: int = 0) -> Sums:
        if self.n_threads == 1:
            return reduce(add, map(function, self.blocks(width)))
        pending, total = deque(enumerate(self._split(width))), _OrderedSum[Sums]()

        def take_blocks(workspace: Workspace) -> None:
            try:
                while (task := _take(pending)) is not None:
                    number, rows = task
                    total.add(number, function(self._block(rows, workspace)))
            except BaseException:
                pending.clear()
                raise

        with ThreadPoolExecutor(self.n_threads) as pool:
            try:
                list(pool.map(take_blocks, self._workspaces))
            finally:
                pending.clear()  # after an interrupt, threads end with the block they have
        return total.value


def _take(pending: deque[tuple[int, slice]]) -> tuple[int, slice] | None:
    """Take the next block, None where there are no more; safe in any thread."""
    try:
        return pending.popleft()
    except IndexError:
        return None
