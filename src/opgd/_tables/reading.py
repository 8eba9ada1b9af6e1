"""Columns of data frames and arrays, as cells."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from opgd._tables.cells import Cells, NumberCells, read_cells
from opgd._utils.columns import compute_lazy, fill_masked, is_plain
from opgd._utils.features import (
    DataFrame,
    check_unique_names,
    convert_list,
    read_frame,
    validate_features,
)
from opgd._utils.text import list_names
from opgd.core.types import AnyArray


def to_container(X: Any) -> Any:
    """Return Dask collections in memory, and lists and masked arrays as arrays."""
    X = compute_lazy(X)
    if isinstance(X, list | tuple):
        X = convert_list(X)
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind not in "biuf":
        X = fill_masked(X)
    return X


def is_numeric_array(X: Any) -> bool:
    """Return whether X is neither a data frame nor an array of objects or text."""
    return read_frame(X) is None and getattr(X, "dtype", np.dtype(float)).kind not in "OUSMmT"


def read_training_columns(estimator: Any, X: Any) -> dict[str, Cells]:
    """Return the cells of all columns by name, and set the feature names of the estimator."""
    frame = read_frame(X)
    if frame is None:
        return _read_array(estimator, X, reset=True)
    _check_frame(frame)
    validate_data(estimator, X, reset=True, skip_check_array=True)
    names = get_input_names(estimator)
    return dict(zip(names, _read_frame_columns(frame, names, range(len(names))), strict=True))


def read_new_columns(estimator: Any, X: Any, needed: list[str]) -> list[Cells]:
    """Return the cells of the needed columns; data frames are searched by name."""
    frame = read_frame(X)
    if frame is None:
        cells = _read_array(estimator, X, reset=False)
        return [cells[name] for name in needed]
    _check_frame(frame)
    if hasattr(estimator, "feature_names_in_"):
        places = {name: j for j, name in enumerate(frame.names)}
        _check_present(frame, needed)
    else:
        validate_data(estimator, X, reset=False, skip_check_array=True)
        places = {name: j for j, name in enumerate(get_input_names(estimator))}
    return _read_frame_columns(frame, needed, [places[name] for name in needed])


def get_input_names(estimator: Any) -> list[str]:
    """Return the names of the columns; "x0", "x1"... if they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def find_row_numbers(X: Any, positions: AnyArray) -> list[str]:
    """Return the columns of a pandas data frame that number the rows of a larger table.

    In a part of the rows, at `positions`, these numbers are not consecutive.
    """
    if not hasattr(X, "iloc"):
        return []
    names = []
    for j, dtype in enumerate(X.dtypes):
        if is_plain(dtype) and dtype.kind in "iu":
            differences = X.iloc[:, j].to_numpy() - positions
            names += [str(X.columns[j])] * bool(np.all(differences == differences[0]))
    return names


def _read_frame_columns(frame: DataFrame, names: list[str], places: Sequence[int]) -> list[Cells]:
    """Return the cells of columns; NumPy numbers of pandas are read at once, which is faster."""
    kinds = {frame.dtypes[j].kind if is_plain(frame.dtypes[j]) else "O" for j in places}
    if hasattr(frame.native, "iloc") and kinds <= set("iuf"):
        values = frame.native.iloc[:, list(places)].to_numpy()
        if not np.any(np.isinf(values)):
            values = values if values.dtype.kind == "f" else values.astype(np.float64)
            return [NumberCells(column) for column in values.T]
    return [
        read_cells(name, frame.column(j), frame.dtypes[j])
        for name, j in zip(names, places, strict=True)
    ]


def _read_array(estimator: Any, X: Any, reset: bool) -> dict[str, Cells]:
    if is_numeric_array(X):
        array = validate_features(estimator, X, reset=reset, allow_nan=True)
        cells: list[Cells] = [NumberCells(column) for column in array.T]
    else:
        array = _check_objects(X)
        validate_data(estimator, array, reset=reset, skip_check_array=True)
        names = get_input_names(estimator)
        cells = [
            read_cells(name, column, column.dtype)
            for name, column in zip(names, array.T, strict=True)
        ]
    return dict(zip(get_input_names(estimator), cells, strict=True))


def _check_objects(X: Any) -> AnyArray:
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data, or pass a "
            "data frame."
        )
    _check_shape(array.shape)
    return array


def _check_frame(frame: DataFrame) -> None:
    check_unique_names(frame)
    _check_shape(frame.native.shape)


def _check_shape(shape: tuple[int, int]) -> None:
    for size, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if not size:
            raise ValueError(f"Found array with 0 {what} (shape={shape}); at least 1 is required.")


def _check_present(frame: DataFrame, needed: list[str]) -> None:
    present = set(frame.names)
    absent = [repr(name) for name in needed if name not in present]
    if absent:
        noun = "column" if len(absent) == 1 else "columns"
        raise ValueError(
            f"X has no {noun} {list_names(absent)}, which the encoder was fitted to; its columns "
            f"are {list_names([repr(name) for name in frame.names])}."
        )
