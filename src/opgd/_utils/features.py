"""Validation of X: all containers are converted to arrays of floats by the same rules.

Arrays and data frames of NumPy numbers are passed to scikit-learn unchanged. Other containers are
converted column by column (see `opgd._utils.columns`), so that no type is converted silently, and
scikit-learn validates the result: feature names, number of features, shape and finite values.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from opgd._utils.columns import (
    Fault,
    compute_lazy,
    convert_column,
    convert_objects,
    fill_masked,
    is_plain,
    raise_faults,
)
from opgd._utils.text import list_names
from opgd.core.types import AnyArray, FloatArray

FLOAT_DTYPES = [np.float64, np.float32]


@dataclass(frozen=True)
class DataFrame:
    """Access to the columns of a pandas or polars data frame, or of a pyarrow table."""

    names: list[Any]
    dtypes: list[Any]
    native: Any

    def column(self, j: int) -> Any:
        """Return a column by its position."""
        if hasattr(self.native, "iloc"):
            return self.native.iloc[:, j]
        if hasattr(self.native, "column_names"):
            return self.native.column(j)
        return self.native.to_series(j)


def read_frame(X: Any) -> DataFrame | None:
    """Return access to the columns of a data frame, or None for other containers."""
    if type(X).__name__ == "LazyFrame" and hasattr(X, "collect"):
        raise TypeError("X is a polars LazyFrame; pass X.collect() instead.")
    if type(X).__name__ == "RecordBatch" and hasattr(X, "schema"):
        raise TypeError("X is a pyarrow RecordBatch; pass pyarrow.Table.from_batches([X]) instead.")
    if hasattr(X, "column_names") and hasattr(X, "schema"):
        return DataFrame(list(X.column_names), list(X.schema.types), X)
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return DataFrame(list(X.columns), list(X.dtypes), X)
    return None


def validate_features(
    estimator: Any,
    X: Any,
    *,
    reset: bool = True,
    min_samples: int = 1,
    allow_nan: bool = False,
) -> AnyArray:
    """Return X as an array of floats, and check or set the feature names of the estimator.

    With `reset=False`, names and number of features must match those of the fit. With `allow_nan`,
    missing values are nan in the result; otherwise they raise ValueError. Infinity always does.
    """
    X = compute_lazy(X)
    options = {
        "dtype": FLOAT_DTYPES,
        "ensure_all_finite": "allow-nan" if allow_nan else True,
        "ensure_min_samples": min_samples,
    }
    frame = read_frame(X)
    values = X
    try:
        # scikit-learn checks for finite values by their sum, which may overflow
        with np.errstate(over="ignore", invalid="ignore"):
            if frame is None:
                values = _convert_array(X)
                return validate_data(estimator, values, reset=reset, **options)
            check_unique_names(frame)
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            values = _convert_frame(frame)
            return check_array(values, estimator=estimator, input_name="X", **options)
    except ValueError as error:
        not_finite = None
        if "Input X contains" in str(error):
            not_finite = _find_non_finite(values, frame, allow_nan)
        if not_finite is None:
            raise  # the error has another cause
    columns, row = not_finite
    name = type(estimator).__name__
    if allow_nan:
        raise ValueError(
            f"Input X contains infinity in {columns}, first in row {row}. {name} requires finite "
            "or missing values: replace the infinite entries by nan or drop those samples."
        )
    raise ValueError(
        f"Input X contains NaN or infinity in {columns}, first in row {row}. {name} requires "
        "finite values: impute the invalid entries (for example with SimpleImputer), drop those "
        "samples, or use an estimator that accepts missing values, such as OPGDClassifier."
    )


def to_feature_array(X: Any, *, finite: bool | str = True, min_samples: int = 1) -> AnyArray:
    """Return X as an array of floats, without an estimator; used for blocks of Dask input.

    `finite` is True, False, or "allow-nan", which accepts NaN but not infinity.
    """
    X = compute_lazy(X)
    frame = read_frame(X)
    if frame is not None:
        check_unique_names(frame)
    values: AnyArray = check_array(
        _convert_array(X) if frame is None else _convert_frame(frame),
        dtype=FLOAT_DTYPES,
        ensure_all_finite=finite,
        ensure_min_samples=min_samples,
        input_name="X",
    )
    return values


def to_number_vector(name: str, values: Any) -> FloatArray:
    """Return one number per sample, such as weights; they may be missing (nan) or infinite."""
    values = compute_lazy(values)
    if isinstance(values, np.ma.MaskedArray):
        values = _fill_masked(values)
    elif isinstance(values, list | tuple):
        values = convert_list(values)
    dtype = getattr(values, "dtype", getattr(values, "type", None))  # pyarrow has types
    if dtype is not None and not is_plain(dtype) and np.ndim(values) == 1:
        values = convert_column(values, dtype)
        if isinstance(values, Fault):
            reason = values.detail or values.kind
            if values.kind == "too large":
                reason = "a value is too large for a float"
            raise ValueError(f"{name} is not numeric ({reason}). Pass one number per sample.")
    vector: FloatArray = check_array(
        values, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, input_name=name
    )
    return vector


def check_unique_names(frame: DataFrame) -> None:
    """Raise ValueError for a data frame with duplicate column names."""
    duplicates = [name for name, number in Counter(frame.names).items() if number > 1]
    if duplicates:
        raise ValueError(
            f"X has more than one column named {duplicates[0]!r}; column names must be unique."
        )


def _convert_frame(frame: DataFrame) -> Any:
    """Return the columns of a data frame as an array of numbers, (n, p), nan where missing.

    Data frames of NumPy numbers are returned unchanged.
    """
    distinct = set(frame.dtypes)
    if not distinct:
        return np.empty(frame.native.shape)  # the caller rejects this shape
    if hasattr(frame.native, "iloc") and all(is_plain(dtype) for dtype in distinct):
        return frame.native
    if all(str(dtype).startswith("Sparse") for dtype in distinct):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required. Use "
            "'X.sparse.to_dense()' to convert the data frame."
        )
    columns = [convert_column(frame.column(j), dtype) for j, dtype in enumerate(frame.dtypes)]
    return _join_columns(columns, [repr(name) for name in frame.names], frame.native.shape)


def _convert_array(X: Any) -> Any:
    """Return an array, list or other object as numbers, or unchanged if scikit-learn rejects it."""
    if isinstance(X, np.ma.MaskedArray):
        X = _fill_masked(X)
    elif isinstance(X, list | tuple):
        X = convert_list(X)
    elif not isinstance(X, np.ndarray):
        if issparse(X) or hasattr(X, "iloc") or not hasattr(X, "__array__"):
            return X  # scikit-learn raises its own error
        X = np.asarray(X)
    if not isinstance(X, np.ndarray) or X.dtype.kind in "biuf":
        return X
    if X.dtype.kind == "V":
        raise ValueError("X is a structured array; pass a 2D array or a data frame instead.")
    if X.ndim != 2:
        return np.zeros(X.shape)  # the caller rejects this shape
    if X.dtype.kind == "O":
        columns = [convert_objects(column) for column in X.T]
    else:
        columns = [convert_column(column, X.dtype) for column in X.T]
    return _join_columns(columns, [str(j) for j in range(X.shape[1])], X.shape)


def _fill_masked(values: Any) -> AnyArray:
    """Return a masked array as an array, with nan or None where a value is masked."""
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    return fill_masked(values)


def convert_list(values: Any) -> Any:
    """Return a list as an array of numbers, or of objects if some are not numbers."""
    if any(isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in values):
        values = [
            _fill_masked(row) if isinstance(row, np.ma.MaskedArray) else row for row in values
        ]
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        lengths = {len(row) if isinstance(row, list | tuple) else -1 for row in values}
        if len(lengths) > 1 or -1 in lengths:
            return values  # scikit-learn raises its own error
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biuf":
        return array
    if not all(isinstance(row, list | tuple) for row in values):
        return np.array(values, dtype=object)
    objects = np.empty((len(values), len(values[0])), dtype=object)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            objects[i, j] = value  # one by one, since a value may be a list
    return objects


def _join_columns(
    columns: list[AnyArray | Fault], names: list[str], shape: tuple[int, int]
) -> AnyArray:
    """Return converted columns as one array, or raise an error that names those with faults."""
    faults = {
        name: column
        for name, column in zip(names, columns, strict=True)
        if isinstance(column, Fault)
    }
    if faults:
        raise_faults(faults)
    arrays = [column for column in columns if isinstance(column, np.ndarray)]
    single = {np.dtype(np.float32)} == {array.dtype for array in arrays}
    values = np.empty(shape, dtype=np.float32 if single else np.float64, order="F")
    for j, array in enumerate(arrays):
        values[:, j] = array
    return values


def _find_non_finite(
    values: Any, frame: DataFrame | None, allow_nan: bool
) -> tuple[str, int] | None:
    """Return the names of columns with values that are not finite, and the first such row."""
    numbers = np.asarray(values, dtype=np.float64)
    bad = np.isinf(numbers) if allow_nan else ~np.isfinite(numbers)
    if not bad.any():
        return None
    places = np.flatnonzero(bad.any(axis=0)).tolist()
    columns = [f"column {j}" if frame is None else repr(frame.names[j]) for j in places]
    return list_names(columns), int(np.flatnonzero(bad.any(axis=1))[0])
