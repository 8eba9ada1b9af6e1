"""Rows that are not here: Dask arrays and data frames, answered block by block when asked for."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from opgd.core.types import AnyArray


def is_lazy(X: Any) -> bool:
    """Whether these are an array or a data frame of Dask's; it need not be installed."""
    return type(X).__module__.split(".")[0] in {"dask", "dask_expr"} and hasattr(X, "to_delayed")


def rowwise(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method with an answer for every row: for lazy rows, the answers are lazy too."""

    @functools.wraps(method)
    def answer(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_lazy(X):
            return method(self, X, *args, **kwargs)
        return lazily(functools.partial(_called, method, self, args, kwargs), X)

    return answer


def _called(
    method: Callable[..., Any], owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], X: Any
) -> Any:
    return np.asarray(method(owner, X, *args, **kwargs))


def lazily(function: Callable[[Any], AnyArray], X: Any) -> Any:
    """A Dask array of the answers (n,) or (n, k) to the blocks of lazy rows."""
    import dask.array as da

    if not hasattr(X, "chunks"):  # a data frame: nobody knows how long its partitions are
        sample = function(_two_rows(X._meta))
        shape = (np.nan, *sample.shape[1:])
        parts = [
            da.from_delayed(_answered(part, function), shape, sample.dtype)
            for part in X.to_delayed()
        ]
        return da.concatenate(parts)
    check_two_dimensional(X)
    X = X.rechunk({1: -1})
    sample = function(np.zeros((1, X.shape[1]), dtype=X.dtype))
    if sample.ndim == 1:
        return X.map_blocks(function, dtype=sample.dtype, drop_axis=1, meta=sample[:0])
    chunks = (X.chunks[0], (sample.shape[1],))
    return X.map_blocks(function, dtype=sample.dtype, chunks=chunks, meta=sample[:0])


def answers(function: Callable[[Any], AnyArray], X: Any) -> Any:
    """The answers to rows, now or lazily."""
    return lazily(function, X) if is_lazy(X) else function(X)


def _answered(part: Any, function: Callable[[Any], AnyArray]) -> Any:
    from dask.delayed import delayed

    return delayed(function, traverse=False)(part)


def _two_rows(meta: Any) -> Any:
    """Rows of zeros with the columns of an empty data frame."""
    return meta.reindex(range(2)).astype(object).fillna(0).astype(np.float64)


def check_two_dimensional(X: Any) -> None:
    """Refuse what is no table."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a Dask array with {X.ndim} dimension(s) instead.")


def here(values: Any) -> Any:
    """Values that are in memory, wherever they were."""
    return values.compute() if is_lazy(values) else values


def taken(values: AnyArray, codes: Any) -> Any:
    """values[codes], for codes that may be lazy."""
    if is_lazy(codes):
        return codes.map_blocks(functools.partial(np.take, values), dtype=values.dtype)
    return values[codes]
