"""Checks of values read from a model file, one for each kind of fitted attribute.

A check returns whether a value is valid. It receives the sizes known so far, by letter, and adds
those that occur first in its value.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from opgd.core.gaussians import FORMS

Check = Callable[[Any, dict[str, int]], bool]


def _has_shape(value: Any, kind: str, letters: str, sizes: dict[str, int]) -> bool:
    """Return whether an array has these sizes; new letters are added to `sizes`."""
    names = letters.split()
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kind:
        return False
    return value.ndim == len(names) and all(
        sizes.setdefault(name, size) == size for name, size in zip(names, value.shape, strict=True)
    )


def numbers(letters: str, *, above: float = -np.inf, finite: bool = True) -> Check:
    """Return a check for a float array of this shape."""

    def check(value: Any, sizes: dict[str, int]) -> bool:
        if not _has_shape(value, "f", letters, sizes):
            return False
        return not finite or bool(np.all(np.isfinite(value) & (value > above)))

    return check


def either(*checks: Check) -> Check:
    """Return a check that accepts what any of several checks accepts."""
    return lambda value, sizes: any(check(value, sizes) for check in checks)


def codes(letters: str, below: str) -> Check:
    """Return a check for an array of integers from 0 to a size minus one."""

    def check(value: Any, sizes: dict[str, int]) -> bool:
        if not _has_shape(value, "i", letters, sizes):
            return False
        return value.size == 0 or bool(value.min() >= 0 and value.max() < sizes[below])

    return check


def logarithms(value: Any, sizes: dict[str, int]) -> bool:
    """Check log probabilities of Gaussians; those of empty clusters may be -inf."""
    return _has_shape(value, "f", "C", sizes) and bool(
        np.all(value < np.inf) and np.any(value > -np.inf)
    )


def gaussian_classes(value: Any, sizes: dict[str, int]) -> bool:
    """Check the classes of the Gaussians: all classes, in ascending order."""
    return (
        _has_shape(value, "i", "C", sizes)
        and np.array_equal(np.unique(value), np.arange(sizes["K"]))
        and bool(np.all(np.diff(value) >= 0))
    )


def each_gaussian(value: Any, sizes: dict[str, int]) -> bool:
    """Check the clusters of the Gaussians: each Gaussian is one cluster."""
    return _has_shape(value, "i", "C", sizes) and np.array_equal(value, np.arange(len(value)))


def labels(value: Any, sizes: dict[str, int]) -> bool:
    """Check class labels: at least one, all distinct."""
    if not _has_shape(value, "biufMUO", "K", sizes) or len(value) == 0:
        return False
    return len(set(value.tolist())) == len(value)


def names(value: Any, sizes: dict[str, int]) -> bool:
    """Check feature names."""
    return _has_shape(value, "O", "p", sizes) and all(isinstance(name, str) for name in value)


def sample_labels(value: Any, sizes: dict[str, int]) -> bool:
    """Check labels of the training samples."""
    return _has_shape(value, "biufMUO", "n", sizes)


def size(letter: str) -> Check:
    """Return a check for an integer that equals a known size."""
    return lambda value, sizes: type(value) is int and sizes.get(letter) == value


def count(value: Any, sizes: dict[str, int]) -> bool:  # noqa: ARG001
    """Check a nonnegative integer."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return is_integer and int(value) >= 0


def real(value: Any, sizes: dict[str, int]) -> bool:  # noqa: ARG001
    """Check a float."""
    return isinstance(value, float)


def positive(value: Any, sizes: dict[str, int]) -> bool:
    """Check a finite float above zero."""
    return real(value, sizes) and 0 < value < np.inf


def flag(value: Any, sizes: dict[str, int]) -> bool:  # noqa: ARG001
    """Check a boolean."""
    return isinstance(value, bool | np.bool_)


def floats(value: Any, sizes: dict[str, int]) -> bool:
    """Check a list of floats."""
    return isinstance(value, list) and all(real(item, sizes) for item in value)


def form(value: Any, sizes: dict[str, int]) -> bool:  # noqa: ARG001
    """Check the name of a form of covariances."""
    return isinstance(value, str) and value in FORMS


def output(value: Any, sizes: dict[str, int]) -> bool:  # noqa: ARG001
    """Check the configuration of `set_output`."""
    if not isinstance(value, dict) or not set(value) <= {"transform"}:
        return False
    return all(name in (None, "default", "pandas", "polars") for name in value.values())


def table(value: Any, _: dict[str, int], *, needed: set[str]) -> bool:
    """Check a dict of arrays of one length; `params` is a list of dicts."""
    if not isinstance(value, dict) or not needed <= set(value):
        return False
    columns = {key: column for key, column in value.items() if key != "params"}
    sizes: dict[str, int] = {}
    if "params" in value:
        params = value["params"]
        if not isinstance(params, list) or not all(isinstance(item, dict) for item in params):
            return False
        sizes["m"] = len(params)
    return (
        all(isinstance(key, str) for key in value)
        and all(_has_shape(column, "biufO", "m", sizes) for column in columns.values())
        and sizes["m"] > 0
    )
