"""Dask arrays and data frames, to which methods are applied lazily, block by block."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from opgd._utils.features import to_feature_array
from opgd.core.types import AnyArray


def is_lazy(X: Any) -> bool:
    """Return whether X is a Dask array or data frame; Dask need not be installed."""
    return type(X).__module__.split(".")[0] in {"dask", "dask_expr"} and hasattr(X, "to_delayed")


def match_input_type(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method with one result per sample, so that Dask input gives a Dask array."""

    @functools.wraps(method)
    def apply(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_lazy(X):
            return method(self, X, *args, **kwargs)
        return apply_lazily(functools.partial(_call_method, method, self, args, kwargs), X)

    return apply


def _call_method(
    method: Callable[..., Any],
    estimator: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    X: Any,
) -> Any:
    return np.asarray(method(estimator, X, *args, **kwargs))


def apply_lazily(function: Callable[..., AnyArray], X: Any, *, numbered: bool = False) -> Any:
    """Apply a function to the blocks of Dask input; return a Dask array (n,) or (n, k).

    If `numbered` is true, the number of the block is the second argument of the function.
    """
    import dask.array as da

    if not numbered:
        function = functools.partial(_ignore_number, function)
    if not hasattr(X, "chunks"):  # a data frame, whose partitions have unknown lengths
        sample = function(_make_two_rows(X._meta), 0)
        to_feature_array(X._meta, finite=False, min_samples=0)  # columns that are not numeric
        shape = (np.nan, *sample.shape[1:])
        parts = [
            da.from_delayed(_delay_call(function, part, number), shape, sample.dtype)
            for number, part in enumerate(X.to_delayed())
        ]
        return da.concatenate(parts)
    check_two_dimensional(X)
    X = X.rechunk({1: -1})
    sample = function(np.zeros((1, X.shape[1]), dtype=X.dtype), 0)
    call = functools.partial(_call_with_number, function)
    if sample.ndim == 1:
        return X.map_blocks(call, dtype=sample.dtype, drop_axis=1, meta=sample[:0])
    chunks = (X.chunks[0], (sample.shape[1],))
    return X.map_blocks(call, dtype=sample.dtype, chunks=chunks, meta=sample[:0])


def apply_to_samples(function: Callable[[Any], AnyArray], X: Any) -> Any:
    """Apply a function to samples, lazily for Dask input."""
    return apply_lazily(function, X) if is_lazy(X) else function(X)


def _ignore_number(function: Callable[[Any], AnyArray], X: Any, _: int) -> AnyArray:
    return function(X)


def _call_with_number(function: Callable[[Any, int], AnyArray], X: Any, block_id: Any) -> AnyArray:
    """Call a function with a block and its number; Dask passes `block_id`."""
    return function(X, int(block_id[0]))


def _delay_call(function: Callable[[Any, int], AnyArray], part: Any, number: int) -> Any:
    from dask.delayed import delayed

    return delayed(function, traverse=False)(part, number)


def _make_two_rows(meta: Any) -> Any:
    """Return two rows of zeros with the columns of an empty data frame."""
    return meta.reindex(range(2)).astype(object).fillna(0).astype(np.float64)


def check_two_dimensional(X: Any) -> None:
    """Raise ValueError unless the Dask array has two dimensions."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a Dask array with {X.ndim} dimension(s) instead.")


def compute_eagerly(values: Any) -> Any:
    """Return values in memory; Dask collections are computed."""
    return values.compute() if is_lazy(values) else values


def compute_together(*values: Any) -> tuple[Any, ...]:
    """Return values in memory as `compute_eagerly` does, Dask collections in one pass."""
    if any(is_lazy(value) for value in values):
        import dask

        values = dask.compute(*values)
    return values


def take_values(values: AnyArray, codes: Any) -> Any:
    """Return values[codes]; lazily if codes are a Dask array."""
    if is_lazy(codes):
        return codes.map_blocks(functools.partial(np.take, values), dtype=values.dtype)
    return values[codes]
