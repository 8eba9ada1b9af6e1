"""Checks of what is read from a model file, one for each kind of fitted attribute.

A check is told the sizes that are known so far, by letter, and adds those it sees first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from opgd.core.gaussians import FORMS

Check = Callable[[Any, dict[str, int]], bool]


def _has_shape(value: Any, kind: str, letters: str, sizes: dict[str, int]) -> bool:
    """Whether an array has these sizes; letters seen for the first time get theirs."""
    names = letters.split()
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kind:
        return False
    return value.ndim == len(names) and all(
        sizes.setdefault(name, size) == size for name, size in zip(names, value.shape, strict=True)
    )


def numbers(letters: str, *, above: float = -np.inf, finite: bool = True) -> Check:
    """An array of floats of this shape."""

    def check(value: Any, sizes: dict[str, int]) -> bool:
        if not _has_shape(value, "f", letters, sizes):
            return False
        return not finite or bool(np.all(np.isfinite(value) & (value > above)))

    return check


def either(*checks: Check) -> Check:
    """Any one of several."""
    return lambda value, sizes: any(check(value, sizes) for check in checks)


def codes(letters: str, below: str) -> Check:
    """An array of integers from 0 to a size."""

    def check(value: Any, sizes: dict[str, int]) -> bool:
        if not _has_shape(value, "i", letters, sizes):
            return False
        return value.size == 0 or bool(value.min() >= 0 and value.max() < sizes[below])

    return check


def logarithms(value: Any, sizes: dict[str, int]) -> bool:
    """Log probabilities of Gaussians; a cluster may have died out."""
    return _has_shape(value, "f", "C", sizes) and bool(
        np.all(value < np.inf) and np.any(value > -np.inf)
    )


def gaussian_classes(value: Any, sizes: dict[str, int]) -> bool:
    """Classes of the Gaussians: all of them, in ascending order."""
    return (
        _has_shape(value, "i", "C", sizes)
        and np.array_equal(np.unique(value), np.arange(sizes["K"]))
        and bool(np.all(np.diff(value) >= 0))
    )


def each_gaussian(value: Any, sizes: dict[str, int]) -> bool:
    """Clusters of the Gaussians: each is one."""
    return _has_shape(value, "i", "C", sizes) and np.array_equal(value, np.arange(len(value)))


def labels(value: Any, sizes: dict[str, int]) -> bool:
    """Different labels."""
    if not _has_shape(value, "biufMUO", "K", sizes) or len(value) == 0:
        return False
    return len(set(value.tolist())) == len(value)


def names(value: Any, sizes: dict[str, int]) -> bool:
    """Names of the columns."""
    return _has_shape(value, "O", "p", sizes) and all(isinstance(own, str) for own in value)


def row_labels(value: Any, sizes: dict[str, int]) -> bool:
    """Labels of the training rows."""
    return _has_shape(value, "biufMUO", "n", sizes)


def size(letter: str) -> Check:
    """An integer that counts something else."""
    return lambda value, sizes: type(value) is int and sizes.get(letter) == value


def count(value: Any, sizes: dict[str, int]) -> bool:  # noqa: ARG001
    """An integer."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and int(value) >= 0


def real(value: Any, sizes: dict[str, int]) -> bool:  # noqa: ARG001
    """A float."""
    return isinstance(value, float)


def positive(value: Any, sizes: dict[str, int]) -> bool:
    """A float above zero."""
    return real(value, sizes) and 0 < value < np.inf


def flag(value: Any, sizes: dict[str, int]) -> bool:  # noqa: ARG001
    """True or False."""
    return isinstance(value, bool | np.bool_)


def floats(value: Any, sizes: dict[str, int]) -> bool:
    """A list of floats."""
    return isinstance(value, list) and all(real(own, sizes) for own in value)


def form(value: Any, sizes: dict[str, int]) -> bool:  # noqa: ARG001
    """A form of covariances."""
    return isinstance(value, str) and value in FORMS


def output(value: Any, sizes: dict[str, int]) -> bool:  # noqa: ARG001
    """What `set_output` was told."""
    if not isinstance(value, dict) or not set(value) <= {"transform"}:
        return False
    return all(own in (None, "default", "pandas", "polars") for own in value.values())


def table(value: Any, _: dict[str, int], *, needed: set[str]) -> bool:
    """Columns of one length by name; `params` is a list of dicts."""
    if not isinstance(value, dict) or not needed <= set(value):
        return False
    columns = {key: own for key, own in value.items() if key != "params"}
    sizes: dict[str, int] = {}
    if "params" in value:
        params = value["params"]
        if not isinstance(params, list) or not all(isinstance(own, dict) for own in params):
            return False
        sizes["m"] = len(params)
    return (
        all(isinstance(key, str) for key in value)
        and all(_has_shape(own, "biufO", "m", sizes) for own in columns.values())
        and sizes["m"] > 0
    )
