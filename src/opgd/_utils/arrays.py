"""Arrays of other libraries, which scikit-learn accepts with ``array_api_dispatch=True``."""

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import _array_api

from opgd.core.device import Place
from opgd.core.types import AnyArray


def find_place(X: Any) -> Place | None:
    """Return where an array of another library is, or None for NumPy arrays and other input.

    None is also returned unless scikit-learn is configured with ``array_api_dispatch=True``.
    """
    if isinstance(X, np.ndarray) or not get_config()["array_api_dispatch"]:
        return None
    if not (hasattr(X, "__array_namespace__") or hasattr(X, "__dlpack__")) or hasattr(X, "columns"):
        return None
    xp, is_array, device = _array_api.get_namespace_and_device(X)
    if not is_array or _array_api._is_numpy_namespace(xp):
        return None
    return Place(xp, device, _array_api._max_precision_float_dtype(xp, device))


def to_host(values: Any) -> Any:
    """Return an array of another library as a NumPy array, and anything else unchanged."""
    place = find_place(values)
    if place is None:
        return values
    array: AnyArray = _array_api._convert_to_numpy(values, place.xp)
    return array


def put_beside(values: AnyArray, others: Any) -> Any:
    """Return a NumPy array in the library and on the device of another array."""
    place = find_place(others)
    return values if place is None else place.put(values)


def get_namespace(values: Any) -> Any:
    """Return the module with the functions for an array."""
    place = find_place(values)
    return np if place is None else place.xp
