"""Validation of Dask input (X, y, sample_weight), and conversion to a `DaskEngine`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.delayed import delayed
from sklearn.utils.validation import validate_data

from opgd._dask.engine import DaskEngine, Part, persist_if_small
from opgd._dask.lazy import check_two_dimensional, is_lazy
from opgd._utils.features import to_feature_array, to_number_vector
from opgd._utils.labels import find_missing, join_labels, to_label_array
from opgd._utils.text import list_names
from opgd._utils.validation import find_weight_fault
from opgd.core.types import AnyArray, FloatArray, IntArray


class RawPart(NamedTuple):
    """One block of the input, as arrays."""

    X: AnyArray
    labels: AnyArray  # empty without y
    weights: FloatArray | None


class PartSummary(NamedTuple):
    """Summary of one part of the input, for validation and totals."""

    n_rows: int
    n_columns: int
    dtype: Any
    lengths: dict[str, int]  # of y and sample_weight, if given
    not_finite: IntArray  # columns with values that are infinite, or missing if that is invalid
    labels: AnyArray  # distinct labels of rows with a positive weight
    extreme_weights: FloatArray  # lowest, lowest positive and highest weight
    n_present: int  # number of rows with a positive weight
    n_bytes: int
    weight: float
    square_weight: float


Encode = Callable[[AnyArray], tuple[AnyArray, IntArray]]
"""Function from labels to sorted classes and codes."""
Codes = Callable[[AnyArray, AnyArray], IntArray]
"""Function from labels and classes to codes."""


class LazyRows(NamedTuple):
    """An engine for Dask input, and the classes."""

    engine: DaskEngine
    classes: AnyArray


def encode_one_class(y: AnyArray) -> tuple[AnyArray, IntArray]:
    """Encode all samples as one class, for input without labels."""
    return np.zeros(1, dtype=np.intp), np.zeros(len(y), dtype=np.intp)


def validate_dask_input(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    encode: Encode,
    codes: Codes | None = None,
) -> LazyRows:
    """Validate X, y and weights, set the estimator's feature names, and make an engine.

    `encode` computes the classes from the distinct labels of all parts, and `codes` is then applied
    to each part. Without `codes`, samples are not labeled.
    """
    names = _check_columns(estimator, X)
    blocks = split_blocks(X)
    lengths = [int(n) for n in X.chunks[0]] if _has_known_lengths(X) else None
    if lengths is None and not all(
        values is None or is_lazy(values) for values in (y, sample_weight)
    ):
        lengths = count_rows(X).tolist()
    aligned_blocks = [
        _align_blocks(values, name, X, len(blocks), lengths)
        for values, name in ((y, "y"), (sample_weight, "sample_weight"))
    ]
    make_part = delayed(_make_raw_part, pure=False)
    raw = [make_part(*part_inputs) for part_inputs in zip(blocks, *aligned_blocks, strict=True)]
    if _has_known_lengths(X):
        raw = persist_if_small(raw, X.nbytes)
    summarize = delayed(_summarize_part, pure=False)
    allow_nan: bool = estimator._allow_missing
    summaries = dask.compute(*[summarize(part, y is not None, allow_nan) for part in raw])
    _check_parts(list(summaries), names, allow_nan)
    _check_labels(list(summaries))
    n_bytes = sum(summary.n_bytes for summary in summaries)
    if not _has_known_lengths(X):
        raw = persist_if_small(raw, n_bytes)
    labels = [summary.labels for summary in summaries if len(summary.labels)]
    classes, _ = encode(join_labels(labels) if y is not None else np.zeros(1))
    encode_part = delayed(_encode_part, pure=False)
    present = [k for k, summary in enumerate(summaries) if summary.n_present]
    dtype = np.result_type(*[summary.dtype for summary in summaries])
    encoding = delayed((classes, codes), pure=False, traverse=False)
    engine = DaskEngine(
        persist_if_small([encode_part(raw[k], encoding, dtype) for k in present], n_bytes),
        np.array([summaries[k].n_present for k in present]),
        summaries[0].n_columns,
        dtype,
        total_weight=sum(summary.weight for summary in summaries),
        total_square_weight=sum(summary.square_weight for summary in summaries),
    )
    return LazyRows(engine, classes)


def _check_columns(estimator: Any, X: Any) -> list[str]:
    """Set the estimator's feature names and their number; return names for messages."""
    if _is_frame(X):
        to_feature_array(X._meta, finite=False, min_samples=0)  # columns that are not numeric
        validate_data(estimator, X._meta, skip_check_array=True)
    else:
        check_two_dimensional(X)
        if np.isnan(X.shape[1]):
            raise ValueError(
                "X is a Dask array with an unknown number of features; "
                "call X.compute_chunk_sizes() first."
            )
        validate_data(estimator, np.empty((1, X.shape[1])), skip_check_array=True)
    names: list[str] = estimator._column_names()
    return names


def _is_frame(X: Any) -> bool:
    return not hasattr(X, "chunks")


def _has_known_lengths(X: Any) -> bool:
    """Return whether the lengths of the blocks are known."""
    return not _is_frame(X) and not np.any(np.isnan(X.chunks[0]))


def split_blocks(X: Any) -> list[Any]:
    """Return delayed blocks of samples with all features."""
    if _is_frame(X):
        return list(X.to_delayed())
    check_two_dimensional(X)
    return list(X.rechunk({1: -1}).to_delayed().ravel())


def count_rows(X: Any) -> IntArray:
    """Return the numbers of samples of the blocks."""
    if _has_known_lengths(X):
        return np.array(X.chunks[0])
    return np.array(dask.compute(*[delayed(len)(block) for block in split_blocks(X)]))


def load_rows(X: Any, lengths: IntArray, positions: IntArray) -> Any:
    """Return the samples at ascending positions in memory, an array or a data frame.

    `lengths` are those of the blocks.
    """
    ends = np.cumsum(lengths)
    bounds = np.searchsorted(positions, [0, *ends])
    select = delayed(_select_rows, pure=False)
    parts = dask.compute(
        *[
            select(block, positions[begin:end] - (last - length))
            for block, begin, end, last, length in zip(
                split_blocks(X), bounds[:-1], bounds[1:], ends, lengths, strict=True
            )
            if begin < end or not len(positions)
        ]
    )
    if not _is_frame(X):
        return np.concatenate(parts)
    from dask.dataframe.dispatch import concat

    return concat(parts)


def _select_rows(block: Any, rows: IntArray) -> Any:
    return block.iloc[rows] if hasattr(block, "iloc") else block[rows]


def _align_blocks(
    values: Any, name: str, X: Any, n_blocks: int, lengths: list[int] | None
) -> list[Any]:
    """Split y or weights into blocks that match those of X."""
    if values is None:
        return [None] * n_blocks
    if not is_lazy(values):
        assert lengths is not None
        array = to_label_array(values) if name == "y" else to_number_vector(name, values)
        if name != "y" and array.ndim == 0:
            array = np.full(sum(lengths), float(array))
        if array.shape != (sum(lengths),):
            raise ValueError(f"X has {sum(lengths)} samples, but {name} has shape {array.shape}.")
        return list(np.split(array, np.cumsum(lengths)[:-1]))
    if not _is_frame(values):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got {values.ndim}.")
        if _has_known_lengths(X) and _has_known_lengths(values) and len(values) == len(X):
            values = values.rechunk((X.chunks[0],))
    blocks = list(np.ravel(np.array(values.to_delayed(), dtype=object)))
    if len(blocks) != n_blocks:
        raise ValueError(
            f"X has {n_blocks} partitions, but {name} has {len(blocks)}; both must have the same "
            "partitions. Take both from one data frame, or rechunk one of them."
        )
    return blocks


def _make_raw_part(X: Any, y: Any, weights: Any) -> RawPart:
    rows = to_feature_array(X, finite=False, min_samples=0)
    labels = np.empty(0) if y is None else to_label_array(y)
    if weights is not None:
        weights = to_number_vector("sample_weight", weights).ravel()
    return RawPart(rows, labels, weights)


def _summarize_part(part: RawPart, with_labels: bool, allow_nan: bool) -> PartSummary:
    X, labels, weights = part
    invalid = np.isinf(X) if allow_nan else ~np.isfinite(X)
    present = slice(None) if weights is None else weights > 0
    row_weights = np.ones(len(X)) if weights is None else weights
    lengths = {"y": len(labels)} if with_labels else {}
    if weights is not None:
        lengths["sample_weight"] = len(weights)
    consistent = all(length == len(X) for length in lengths.values())
    return PartSummary(
        n_rows=len(X),
        n_columns=X.shape[1],
        dtype=X.dtype,
        lengths=lengths,
        not_finite=np.flatnonzero(invalid.any(axis=0)),
        labels=_find_distinct(labels[present]) if with_labels and consistent else np.empty(0),
        extreme_weights=_find_extremes(row_weights),
        n_present=int(np.sum(row_weights > 0)),
        n_bytes=X.nbytes,
        weight=float(row_weights.sum()),
        square_weight=float(row_weights @ row_weights),
    )


def _find_extremes(weights: FloatArray) -> FloatArray:
    """Return the lowest, the lowest positive and the highest weight; nan if one is not finite."""
    if not np.all(np.isfinite(weights)):
        return np.array([np.nan])
    return np.concatenate(
        [
            selected[[selected.argmin(), selected.argmax()]]
            for selected in (weights, weights[weights > 0])
            if len(selected)
        ]
        or [np.empty(0)]
    )


def _find_distinct(labels: AnyArray) -> AnyArray:
    """Return each label once, sorted if the types allow it."""
    try:
        return np.unique(labels)
    except TypeError:
        return np.array(list(dict.fromkeys(labels.tolist())), dtype=object)


def _check_parts(summaries: list[PartSummary], names: list[str], allow_nan: bool) -> None:
    """Raise ValueError for parts that are inconsistent, not finite, or without samples."""
    for number, summary in enumerate(summaries):
        for name, length in summary.lengths.items():
            if length != summary.n_rows:
                raise ValueError(
                    f"Partition {number} has {summary.n_rows} samples in X but {length} in {name}; "
                    "repartition X, y and sample_weight identically."
                )
    if fault := find_weight_fault(
        np.concatenate([summary.extreme_weights for summary in summaries])
    ):
        raise ValueError(f"sample_weight {fault}.")
    columns = sorted({int(j) for summary in summaries for j in summary.not_finite})
    if columns:
        listed = list_names([names[j] for j in columns])
        raise ValueError(
            f"Input X contains {'' if allow_nan else 'NaN or '}infinity in {listed}; impute the "
            "invalid entries or drop those samples."
        )
    n_rows = sum(summary.n_rows for summary in summaries)
    if n_rows < 2:
        raise ValueError(f"Found array with {n_rows} sample(s) while a minimum of 2 is required.")
    if not any(summary.n_present for summary in summaries):
        raise ValueError("sample_weight is zero for all samples; at least one must be positive.")


def _check_labels(summaries: list[PartSummary]) -> None:
    """Raise ValueError for missing labels, with the partition of the first."""
    for number, summary in enumerate(summaries):
        if find_missing(summary.labels).any():
            raise ValueError(
                f"Input y contains NaN, None or other missing labels, first in partition {number}. "
                "Drop those samples, or use OPGDSemiSupervised for partly labeled data."
            )


def _encode_part(part: RawPart, encoding: tuple[AnyArray, Codes | None], dtype: Any) -> Part:
    """Return the samples of positive weight, with codes of their labels."""
    classes, codes = encoding
    X, labels, weights = part
    X = X.astype(dtype, copy=False)
    if weights is not None and not np.all(weights > 0):
        present = weights > 0  # labels of other samples may be missing
        X, weights = X[present], weights[present]
        labels = labels[present] if codes is not None else labels
    labels = np.zeros(len(X), dtype=np.intp) if codes is None else codes(labels, classes)
    return Part(X, labels, weights)
