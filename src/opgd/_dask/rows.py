"""Features of samples on the workers of a Dask cluster, of which samples are selected."""

import warnings
from typing import Any

import dask
import numpy as np
from dask.delayed import delayed

from opgd._dask.engine import DaskEngine, Part, make_task, persist_if_small
from opgd.core.types import AnyArray, FloatArray, IntArray


class DaskRows:
    """Features of samples in parts on the workers of a Dask cluster.

    Like an array, it has a shape and can be indexed by positions, which must ascend. The samples
    stay on the workers.

    Parameters
    ----------
    parts : list of delayed arrays of shape (n_rows, n_features), none of them empty
    lengths : ndarray of shape (n_parts,), their numbers of samples
    n_kept : number of samples, with those of all selections that are used at the same time; the
        selections are kept on the workers if all of them fit into their memory
    """

    def __init__(
        self, parts: list[Any], lengths: IntArray, n_features: int, dtype: Any, n_kept: int
    ) -> None:
        self.parts, self.lengths, self.n_kept = parts, lengths, n_kept
        self.shape = int(lengths.sum()), n_features
        self.dtype = np.dtype(dtype)

    @classmethod
    def from_engine(cls, engine: DaskEngine) -> "DaskRows":
        """Return the features of the samples of an engine."""
        get_features = delayed(_get_features, pure=False)
        parts = [get_features(part) for part in engine.parts]
        return cls(parts, engine.lengths, engine.n_features, engine.dtype, engine.n_samples)

    @property
    def size(self) -> int:
        """Return the number of entries."""
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def plan_selections(self, n_kept: int) -> "DaskRows":
        """Return the same samples with another value of `n_kept`."""
        return DaskRows(self.parts, self.lengths, self.shape[1], self.dtype, n_kept)

    def __getitem__(self, positions: IntArray) -> "DaskRows":
        if np.array_equal(positions, np.arange(len(self))):
            return self
        ends = np.cumsum(self.lengths)
        bounds = np.searchsorted(positions, np.concatenate([[0], ends]))
        numbers = np.diff(bounds)
        used = np.flatnonzero(numbers)
        n_times = []
        for k in used:
            local = positions[bounds[k] : bounds[k + 1]] - (ends[k] - self.lengths[k])
            times = np.bincount(local, minlength=int(self.lengths[k]))
            n_times.append(times.astype(np.min_scalar_type(times.max())))
        repeat = delayed(_repeat_rows, pure=False)
        sent = _send(n_times)
        parts = [repeat(self.parts[k], times) for k, times in zip(used, sent, strict=True)]
        return DaskRows(parts, numbers[used], self.shape[1], self.dtype, self.n_kept)

    def make_engine(self, codes: IntArray, weights: FloatArray | None) -> DaskEngine:
        """Return an engine for the samples with codes and weights, (n,) each."""
        cuts = np.cumsum(self.lengths)[:-1]
        small = codes.astype(np.min_scalar_type(codes.max()))
        pieces: list[Any] = list(np.split(small, cuts))
        if weights is not None:
            pieces = list(zip(pieces, np.split(weights, cuts), strict=True))
        join = delayed(_join, pure=False)
        parts = [join(X, piece) for X, piece in zip(self.parts, _send(pieces), strict=True)]
        n_bytes = max(self.n_kept, len(self)) * self.shape[1] * self.dtype.itemsize
        return DaskEngine(
            persist_if_small(parts, n_bytes),
            self.lengths,
            self.shape[1],
            self.dtype,
            total_weight=float(len(self) if weights is None else weights.sum()),
            total_square_weight=float(len(self) if weights is None else weights @ weights),
        )


def collect_labels(engine: DaskEngine) -> tuple[IntArray, FloatArray | None]:
    """Return the codes, in the smallest type, and the weights of the samples of an engine."""
    take = delayed(_take_labels, pure=False)
    pieces = dask.compute(*[take(part) for part in engine.parts])
    codes = np.concatenate([labels for labels, _ in pieces])
    weighted = any(weights is not None for _, weights in pieces)
    if not weighted:
        return codes, None
    return codes, np.concatenate([np.ones(len(labels)) if w is None else w for labels, w in pieces])


def _send(pieces: list[Any]) -> list[Any]:
    """Return tasks that hold values on the workers, so that they are sent only once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # it is sent once
        return list(dask.persist(*[make_task(piece) for piece in pieces]))


def _get_features(part: Part) -> AnyArray:
    return part.X


def _take_labels(part: Part) -> tuple[IntArray, FloatArray | None]:
    largest = part.labels.max()
    return part.labels.astype(np.min_scalar_type(largest)), part.weights


def _repeat_rows(X: AnyArray, n_times: IntArray) -> AnyArray:
    """Return rows, each as often as `n_times` tells."""
    if n_times.max() == 1:
        return X if n_times.all() else X[n_times.astype(bool)]
    return X[np.repeat(np.arange(len(X)), n_times)]


def _join(X: AnyArray, piece: Any) -> Part:
    codes, weights = piece if isinstance(piece, tuple) else (piece, None)
    return Part(X, codes.astype(np.intp), weights)
