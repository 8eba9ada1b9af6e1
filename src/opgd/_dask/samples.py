"""Samples in memory that are spread over Dask input, and tables that are encoded on the workers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask.delayed import delayed

from opgd._dask.inputs import split_blocks
from opgd.core.engines import spread_positions
from opgd.core.types import AnyArray, IntArray


class EvenSample(NamedTuple):
    """Samples in memory, one from each of equal ranges of all samples."""

    X: Any  # data frame or array
    positions: IntArray  # among all samples
    n_samples: int  # number of all samples


def load_evenly(X: Any, most: int) -> EvenSample:
    """Load at most `most` samples of a Dask array or data frame, spread over all of it."""
    blocks = split_blocks(X)
    measure, select = delayed(len), delayed(_select, pure=False)
    lengths = np.array(dask.compute(*[measure(block) for block in blocks]))
    firsts = np.cumsum(lengths) - lengths
    n_samples = int(lengths.sum())
    positions = spread_positions(n_samples, most)
    bounds = np.searchsorted(positions, [*firsts, n_samples])
    parts = dask.compute(
        *[
            select(block, positions[begin:end] - first)
            for block, first, begin, end in zip(
                blocks, firsts, bounds[:-1], bounds[1:], strict=True
            )
            if begin < end
        ]
    )
    return EvenSample(_concatenate(list(parts)), positions, n_samples)


def encode_blocks(encode: Callable[[Any], AnyArray], X: Any, n_features: int) -> Any:
    """Return a Dask array with the features (n, n_features) that a function encodes blocks as."""
    call = delayed(encode, pure=False, traverse=False)
    lengths = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * X.npartitions
    return da.concatenate(
        [
            da.from_delayed(call(block), (length, n_features), np.float64)
            for block, length in zip(split_blocks(X), lengths, strict=True)
        ]
    )


def _select(block: Any, rows: IntArray) -> Any:
    return block.iloc[rows] if hasattr(block, "iloc") else block[rows]


def _concatenate(parts: list[Any]) -> Any:
    if not hasattr(parts[0], "iloc"):
        return np.concatenate(parts)
    import pandas

    return pandas.concat(parts)
