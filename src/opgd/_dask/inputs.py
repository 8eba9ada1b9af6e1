"""From what users have in Dask (X, y, weights) to rows for the core, checked part by part."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask.delayed import delayed
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from opgd._dask.engine import DaskEngine, Part, persist_if_small
from opgd._dask.lazy import check_two_dimensional, is_lazy
from opgd._utils.labels import label_array
from opgd._utils.text import list_names
from opgd._utils.validation import FLOAT_DTYPES, MAX_WEIGHT
from opgd.core.types import AnyArray, FloatArray, IntArray


class RawPart(NamedTuple):
    """One block of what was given, as arrays."""

    X: AnyArray
    labels: AnyArray  # empty where there are none
    weights: FloatArray | None


class PartSummary(NamedTuple):
    """What has to be known of a part before it can be used."""

    n_rows: int
    n_columns: int
    dtype: Any
    lengths: tuple[int, ...]  # of y and weights, where there are some
    not_finite: IntArray  # columns
    labels: AnyArray  # different ones, of rows with a positive weight
    bad_weights: str
    n_present: int
    n_bytes: int
    weight: float
    square_weight: float


Encode = Callable[[AnyArray], tuple[AnyArray, IntArray]]
"""From labels to the classes in order and codes."""
Codes = Callable[[AnyArray, AnyArray], IntArray]
"""From labels and classes to codes."""


@dataclass(frozen=True)
class LazyRows:
    """Rows for the core, and the parts they came from."""

    engine: DaskEngine
    classes: AnyArray
    raw: list[Any]
    lengths: list[int]

    def answers(self, function: Callable[[RawPart], AnyArray], sample: AnyArray) -> Any:
        """A Dask array of the answers to all rows; `sample` is an answer to a few."""
        answered = delayed(function, pure=False, traverse=False)
        return da.concatenate(
            [
                da.from_delayed(answered(part), (length, *sample.shape[1:]), sample.dtype)
                for part, length in zip(self.raw, self.lengths, strict=True)
            ]
        )


def no_labels(y: AnyArray) -> tuple[AnyArray, IntArray]:
    """One class, for rows without labels."""
    return np.zeros(1, dtype=np.intp), np.zeros(len(y), dtype=np.intp)


def lazy_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    encode: Encode,
    codes: Codes | None = None,
) -> LazyRows:
    """Check X, y and weights, tell the estimator its columns, and hand the rows to the workers.

    `encode` makes classes of the different labels of all parts, `codes` is then used on each part;
    without `codes` there are no labels.
    """
    names = _check_columns(estimator, X)
    blocks = _blocks(X)
    lengths = [int(n) for n in X.chunks[0]] if _known(X) else None
    if lengths is None and not all(own is None or is_lazy(own) for own in (y, sample_weight)):
        lengths = list(dask.compute(*[delayed(len)(block) for block in blocks]))
    beside = [
        _beside(own, name, X, len(blocks), lengths)
        for own, name in ((y, "y"), (sample_weight, "sample_weight"))
    ]
    make = delayed(_raw_part, pure=False)
    raw = [make(*own) for own in zip(blocks, *beside, strict=True)]
    if _known(X):
        raw = persist_if_small(raw, X.nbytes)
    found = dask.compute(*[delayed(_inspect, pure=False)(part, y is not None) for part in raw])
    _refuse(list(found), names)
    if not _known(X):
        raw = persist_if_small(raw, sum(own.n_bytes for own in found))
    labels = [own.labels for own in found if len(own.labels)]
    classes, some_codes = encode(np.concatenate(labels) if y is not None else np.zeros(1))
    encoded = delayed(_encoded_part, pure=False)
    present = [k for k, own in enumerate(found) if own.n_present]
    dtype = np.result_type(*[own.dtype for own in found])
    sent = delayed((classes, codes), pure=False, traverse=False)
    engine = DaskEngine(
        persist_if_small(
            [encoded(raw[k], sent, dtype) for k in present], sum(own.n_bytes for own in found)
        ),
        np.array([found[k].n_present for k in present]),
        found[0].n_columns,
        dtype,
        total_weight=sum(own.weight for own in found),
        total_square_weight=sum(own.square_weight for own in found),
        partly_labeled=bool(np.any(some_codes < 0)),
    )
    return LazyRows(engine, classes, raw, [own.n_rows for own in found])


def _check_columns(estimator: Any, X: Any) -> list[str]:
    if _is_frame(X):
        validate_data(estimator, X._meta, skip_check_array=True)
    else:
        check_two_dimensional(X)
        if np.isnan(X.shape[1]):
            raise ValueError("X is a Dask array that does not know its number of columns.")
        validate_data(estimator, np.empty((1, X.shape[1])), skip_check_array=True)
    own: list[str] = estimator._column_names()
    return own


def _is_frame(X: Any) -> bool:
    return not hasattr(X, "chunks")


def _known(X: Any) -> bool:
    """Whether the lengths of the blocks are known."""
    return not _is_frame(X) and not np.any(np.isnan(X.chunks[0]))


def _blocks(X: Any) -> list[Any]:
    if _is_frame(X):
        return list(X.to_delayed())
    return list(X.rechunk({1: -1}).to_delayed().ravel())


def _beside(own: Any, name: str, X: Any, n_blocks: int, lengths: list[int] | None) -> list[Any]:
    """Blocks of y or of weights that belong to those of X."""
    if own is None:
        return [None] * n_blocks
    if not is_lazy(own):
        assert lengths is not None
        values = label_array(own) if name == "y" else np.asarray(own, dtype=np.float64)
        if name != "y" and values.ndim == 0:
            values = np.full(sum(lengths), float(values))
        if values.shape != (sum(lengths),):
            raise ValueError(f"X has {sum(lengths)} rows, but {name} has the shape {values.shape}.")
        return list(np.split(values, np.cumsum(lengths)[:-1]))
    if not _is_frame(own):
        if own.ndim == 2 and own.shape[1] == 1:
            own = own[:, 0]
        if own.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got {own.ndim}.")
        if _known(X) and _known(own) and len(own) == len(X):
            own = own.rechunk((X.chunks[0],))
    blocks = list(np.ravel(np.array(own.to_delayed(), dtype=object)))
    if len(blocks) != n_blocks:
        raise ValueError(
            f"X has {n_blocks} partitions and {name} has {len(blocks)}; they must be cut alike "
            "(take both from one data frame, or rechunk one of them)."
        )
    return blocks


def _raw_part(X: Any, y: Any, weights: Any) -> RawPart:
    rows = check_array(
        X,
        dtype=FLOAT_DTYPES,
        ensure_all_finite=False,
        ensure_min_samples=0,
        input_name="X",
    )
    labels = np.empty(0) if y is None else label_array(y)
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64).ravel()
    return RawPart(rows, labels, weights)


def _inspect(part: RawPart, with_labels: bool) -> PartSummary:
    X, labels, weights = part
    present = slice(None) if weights is None else weights > 0
    own = np.ones(len(X)) if weights is None else weights
    bad = ""
    if not np.all(np.isfinite(own)):
        bad = "has values that are not finite"
    elif np.any(own < 0):
        bad = "has negative entries"
    elif len(own) and own.max() > MAX_WEIGHT:
        bad = "has entries too large to be added up; rescale them"
    beside = [other for other in (labels if with_labels else None, weights) if other is not None]
    alike = all(len(other) == len(X) for other in beside)
    return PartSummary(
        n_rows=len(X),
        n_columns=X.shape[1],
        dtype=X.dtype,
        lengths=tuple(len(other) for other in beside),
        not_finite=np.flatnonzero(~np.isfinite(X).all(axis=0)) if len(X) else np.empty(0, np.intp),
        labels=_different(labels[present]) if with_labels and alike else np.empty(0),
        bad_weights=bad,
        n_present=int(np.sum(own > 0)),
        n_bytes=X.nbytes,
        weight=float(own.sum()),
        square_weight=float(own @ own),
    )


def _different(labels: AnyArray) -> AnyArray:
    """Each label once; types that cannot be sorted stay as they are."""
    try:
        return np.unique(labels)
    except TypeError:
        return np.array(list(dict.fromkeys(labels.tolist())), dtype=object)


def _refuse(found: list[PartSummary], names: list[str]) -> None:
    """Say what is wrong with the parts, if anything is."""
    for number, own in enumerate(found):
        if any(length != own.n_rows for length in own.lengths):
            raise ValueError(
                f"Partition {number} of X has {own.n_rows} rows, but those of y or sample_weight "
                f"have {max(own.lengths)}; they must be cut alike."
            )
        if own.bad_weights:
            raise ValueError(f"sample_weight {own.bad_weights}.")
    columns = sorted({int(j) for own in found for j in own.not_finite})
    if columns:
        listed = list_names([names[j] for j in columns])
        raise ValueError(
            f"Input X contains NaN or infinity in {listed}; fill or leave out those rows."
        )
    n_rows = sum(own.n_rows for own in found)
    if n_rows < 2:
        raise ValueError(f"Found array with {n_rows} sample(s) while a minimum of 2 is required.")
    if not any(own.n_present for own in found):
        raise ValueError("sample_weight is zero for all rows; at least one must be positive.")


def _encoded_part(part: RawPart, sent: tuple[AnyArray, Codes | None], dtype: Any) -> Part:
    classes, codes = sent
    X, labels, weights = part
    labels = np.zeros(len(X), dtype=np.intp) if codes is None else codes(labels, classes)
    X = X.astype(dtype, copy=False)
    if weights is None or np.all(weights > 0):
        return Part(X, labels, weights)
    present = weights > 0  # a row of weight zero is no row
    return Part(X[present], labels[present], weights[present])
