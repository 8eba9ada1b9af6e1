"""Validation of X and weights by scikit-learn, after a check of what it would accept silently."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from opgd._utils.text import list_names
from opgd.core.types import AnyArray, FloatArray

FLOAT_DTYPES = [np.float64, np.float32]
NUMERIC = re.compile(r"bool|u?int\d|float|double|halffloat|decimal|null", re.IGNORECASE)
"""Names of the numeric dtypes of NumPy, pandas, polars and pyarrow."""
SINGLE = re.compile(r"float(32)?(\[pyarrow\])?", re.IGNORECASE)
REFUSED = (str, bytes, date, time, timedelta, np.datetime64, np.timedelta64)
"""Types of objects that are refused by the name of their column; scikit-learn refuses others."""
LOADERS = ("to_native", "df", "to_pandas", "toPandas", "collect", "execute")
"""Methods by which containers that are evaluated lazily return their values."""


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
    X, dtype = prepare_features(X)
    with _explain_overflow("X"):
        return validate_data(
            estimator,
            X,
            reset=reset,
            dtype=dtype,
            ensure_all_finite="allow-nan" if allow_nan else True,
            ensure_min_samples=min_samples,
        )


def to_feature_array(X: Any, *, finite: bool | str = True, min_samples: int = 1) -> AnyArray:
    """Return X as an array of floats, without an estimator; used for blocks of Dask input.

    `finite` is True, False, or "allow-nan", which accepts NaN but not infinity.
    """
    X, dtype = prepare_features(X)
    with _explain_overflow("X"):
        values: AnyArray = check_array(
            X,
            dtype=dtype,
            ensure_all_finite=finite,
            ensure_min_samples=min_samples,
            input_name="X",
        )
    return values


def to_number_vector(name: str, values: Any) -> FloatArray:
    """Return one number per sample, such as weights; they may be missing (nan) or infinite."""
    values = _prepare_array(to_memory(values, name), name)
    with _explain_overflow(name):
        vector: FloatArray = check_array(
            values, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, input_name=name
        )
    return vector


@contextmanager
def _explain_overflow(name: str) -> Iterator[None]:
    """Turn the overflow of an integer of hundreds of digits into a ValueError."""
    try:
        # scikit-learn checks for finite values by their sum, which may overflow
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except OverflowError as error:
        raise ValueError(f"Input {name}: {error}.") from None


def prepare_features(X: Any) -> tuple[Any, Any]:
    """Return X as scikit-learn reads it, and the dtypes to convert it to.

    Raise ValueError for columns of text, categories or dates, which may look like numbers to it.
    """
    X = to_memory(X, "X")
    is_arrow = hasattr(X, "combine_chunks")
    if not is_arrow and not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return _prepare_array(X), FLOAT_DTYPES
    names = list(X.schema.names if is_arrow else X.columns)
    dtypes = list(X.schema.types if is_arrow else X.dtypes)
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"X has more than one column named {repeated[0]!r}.")
    if any(str(dtype).startswith("Sparse") for dtype in dtypes):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required. Use X.sparse.to_dense()."
        )
    faults, has_na = {}, False
    for j, dtype in enumerate(dtypes):
        fault = "" if NUMERIC.match(str(dtype)) else str(dtype)
        if fault.lower() == "object":
            types = set(map(type, X.iloc[:, j] if hasattr(X, "iloc") else X.to_series(j)))
            fault, has_na = _find_fault(types), has_na or _has_na(types)
        if fault:
            faults[repr(names[j])] = fault
    if faults:
        _raise_not_numeric(faults)
    if has_na and hasattr(X, "where"):  # a pandas frame
        X = X.where(X.notna(), np.nan)
    if not dtypes:
        return np.empty(X.shape), FLOAT_DTYPES  # scikit-learn refuses this shape
    is_single = all(SINGLE.fullmatch(str(dtype)) for dtype in dtypes)
    return X, np.float32 if is_single else FLOAT_DTYPES


def to_memory(values: Any, name: str) -> Any:
    """Return values in memory; Dask collections are computed.

    Raise TypeError for other tables that are not in memory, with the method that loads them.
    """
    if hasattr(values, "__dask_graph__"):
        return values.compute()
    is_frame = any(hasattr(values, method) for method in ("iloc", "get_columns", "combine_chunks"))
    if hasattr(type(values), "columns") and not is_frame:
        loader = next((loader for loader in LOADERS if hasattr(values, loader)), None)
        if loader is not None:
            library = type(values).__module__.split(".")[0].lstrip("_")
            raise TypeError(
                f"{name} is a {type(values).__name__} of {library}, which cannot be used directly. "
                f"Pass {name}.{loader}() instead."
            )
    return values


def fill_masked(values: Any) -> AnyArray:
    """Return a masked array as an array, of objects with None if some values are masked."""
    if not np.ma.is_masked(values):
        return np.asarray(values)
    filled = np.array(values.data, dtype=object)
    filled[np.ma.getmaskarray(values)] = None
    return filled


def _prepare_array(X: Any, name: str = "") -> Any:
    """Return an array or list with nan for missing values; `name` is that of a vector."""
    if isinstance(X, list | tuple):
        if any(isinstance(row, np.ma.MaskedArray) for row in X):
            X = np.ma.stack(X)
        else:  # NumPy makes text of numbers beside text
            X = array if (array := np.asarray(X)).dtype.kind not in "US" else np.array(X, object)
    if isinstance(X, np.ma.MaskedArray):
        X = X.filled(np.nan) if X.dtype.kind == "f" else fill_masked(X)
    if not isinstance(X, np.ndarray) and not issparse(X):
        X = np.asarray(X)
    if X.dtype.kind in "USMmV":
        raise ValueError(f"{name or 'X'} is not numeric: it has dtype {X.dtype}.")
    if X.dtype.kind != "O":
        return X
    kinds = [set(map(type, column)) for column in (X.T if X.ndim == 2 else [X.ravel()])]
    faults = {str(j): fault for j, types in enumerate(kinds) if (fault := _find_fault(types))}
    if faults and name:
        raise ValueError(f"{name} is not numeric ({next(iter(faults.values()))}).")
    if faults:
        _raise_not_numeric(faults)
    if any(map(_has_na, kinds)):
        X = np.where(np.vectorize(lambda value: _has_na({type(value)}))(X), np.nan, X)
    return X


def _find_fault(types: set[type]) -> str:
    """Return the name of a type that is refused, or an empty string."""
    return min((found.__name__ for found in types if issubclass(found, REFUSED)), default="")


def _has_na(types: set[type]) -> bool:
    """Return whether pandas' NA is among the types; it cannot be converted to a float."""
    return any(found.__name__ == "NAType" for found in types)


def _raise_not_numeric(faults: dict[str, str]) -> None:
    """Raise ValueError that names columns and their types."""
    is_single, kinds = len(faults) == 1, ", ".join(dict.fromkeys(faults.values()))
    subject, verb, pronoun = ("Column", "is", "it") if is_single else ("Columns", "are", "them")
    raise ValueError(
        f"{subject} {list_names(list(faults))} {verb} not numeric ({kinds}). Convert {pronoun} to "
        f"numbers, for example with opgd.TableEncoder, or drop {pronoun}."
    )
