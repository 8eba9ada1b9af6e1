"""Kinds of values in a model file, each declared by its type, shape and range.

A field decides whether it accepts a value, and describes in words what it accepts. It receives the
sizes known so far, by letter, and adds those that occur first in its value. Tests derive invalid
values from the same declarations.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, Protocol

import numpy as np

from opgd.core.types import AnyArray

MAY_BE_ZERO = "m"
"""Letters of sizes that may be zero."""
SMALLEST = float(np.finfo(np.float64).tiny)
"""Least positive number with full precision; the reciprocals of smaller ones can be infinite."""
MAX_LABEL_LENGTH = 10_000
"""Maximum number of characters of a class label, which bounds the cost of comparisons."""

MAX_COLUMNS = 2**20
"""Maximum number of columns of a table that a pipeline takes."""
MAX_BOUND = 1e6
"""Bound of the ends of an interval."""

Sizes = dict[str, int]


class Field(Protocol):
    """Declaration of a value; `str(field)` completes "must be "."""

    def accepts(self, value: Any, sizes: Sizes) -> bool: ...


def _has_shape(value: Any, kinds: str, letters: str, sizes: Sizes) -> bool:
    """Return whether an array has these sizes; new letters are added to `sizes`."""
    names = letters.split()
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        return False
    return value.ndim == len(names) and all(
        sizes.setdefault(name, size) == size and (size > 0 or name in MAY_BE_ZERO)
        for name, size in zip(names, value.shape, strict=True)
    )


def _describe_shape(letters: str) -> str:
    names = letters.split()
    return f"of shape ({', '.join(names)}{',' if len(names) == 1 else ''})"


@dataclass(frozen=True)
class Array:
    """Array of floats within bounds."""

    shape: str
    low: float = -np.inf
    high: float = np.inf
    finite: bool = True

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        if not _has_shape(value, "f", self.shape, sizes):
            return False
        if not self.finite:
            return True
        inside = np.isfinite(value) & (value >= self.low) & (value <= self.high)
        return bool(np.all(inside))

    def __str__(self) -> str:
        numbers = "finite numbers" if self.finite else "numbers"
        return f"{numbers}{_describe_bounds(self.low, self.high)} {_describe_shape(self.shape)}"


@dataclass(frozen=True)
class Number:
    """Float within bounds; any float if `finite` is false."""

    low: float = -np.inf
    high: float = np.inf
    finite: bool = True

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        if not isinstance(value, float):
            return False
        return not self.finite or bool(np.isfinite(value) and self.low <= value <= self.high)

    def __str__(self) -> str:
        return f"a {'finite ' * self.finite}float{_describe_bounds(self.low, self.high)}"


def _describe_bounds(low: float, high: float) -> str:
    if low > -np.inf and high < np.inf:
        return f" from {low:g} to {high:g}"
    if low == SMALLEST:
        return " above 0"
    return f" of at least {low:g}" if low > -np.inf else ""


@dataclass(frozen=True)
class Count:
    """Integer of at least `low`."""

    low: int = 0
    high: int = 2**63 - 1

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
        return is_integer and self.low <= int(value) <= self.high

    def __str__(self) -> str:
        return f"an integer of at least {self.low}"


@dataclass(frozen=True)
class Size:
    """Integer that equals the size denoted by a letter."""

    letter: str

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        return type(value) is int and sizes.get(self.letter) == value

    def __str__(self) -> str:
        return f"equal to {self.letter}, a size of its arrays"


@dataclass(frozen=True)
class Codes:
    """Array of integers from `low` to a size minus one."""

    shape: str
    below: str
    low: int = 0

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        if not _has_shape(value, "i", self.shape, sizes):
            return False
        return bool(value.min() >= self.low and value.max() < sizes[self.below])

    def __str__(self) -> str:
        return f"integers from {self.low} to {self.below} - 1 {_describe_shape(self.shape)}"


@dataclass(frozen=True)
class GaussianClasses:
    """Classes of the Gaussians: all K classes in ascending order."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        if not _has_shape(value, "i", "C", sizes):
            return False
        steps = np.diff(value)
        ascending = value[0] == 0 and bool(np.all((steps == 0) | (steps == 1)))
        return ascending and int(value[-1]) == sizes["K"] - 1

    def __str__(self) -> str:
        return "the integers from 0 to K - 1 in ascending order, possibly repeated"


@dataclass(frozen=True)
class Labels:
    """Class labels: at least one, finite, distinct, and sorted as by `np.unique`."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        if not _has_shape(value, "biufMUO", "K", sizes):
            return False
        if not _are_comparable(value):
            return False
        if value.dtype.kind == "f" and not np.all(np.isfinite(value)):
            return False
        if value.dtype.kind == "M" and np.any(np.isnat(value)):
            return False
        return all(one < other for one, other in pairwise(value))

    def __str__(self) -> str:
        return "distinct, sorted labels of one type, without missing values"


def _are_comparable(labels: AnyArray) -> bool:
    """Return whether labels are all strings of moderate length, or all numbers or dates."""
    if labels.dtype.kind != "O":
        return labels.dtype.kind != "U" or labels.dtype.itemsize <= 4 * MAX_LABEL_LENGTH
    if all(isinstance(label, str) for label in labels):
        return max(map(len, labels)) <= MAX_LABEL_LENGTH
    return all(
        isinstance(label, int) or (isinstance(label, Real) and math.isfinite(label))
        for label in labels
    )


@dataclass(frozen=True)
class SampleLabels:
    """Labels of the training samples, of any type that labels can have."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        return _has_shape(value, "biufMUO", "n", sizes) and _are_comparable(value)

    def __str__(self) -> str:
        return f"labels of one type {_describe_shape('n')}"


@dataclass(frozen=True)
class Names:
    """Feature names: distinct strings."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        if not _has_shape(value, "O", "p", sizes) or not all(type(name) is str for name in value):
            return False
        return len(set(value)) == len(value)

    def __str__(self) -> str:
        return f"distinct strings {_describe_shape('p')}"


@dataclass(frozen=True)
class Flag:
    """Boolean."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        return isinstance(value, bool | np.bool_)

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Choice:
    """One of several strings."""

    options: tuple[str, ...]

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        return isinstance(value, str) and value in self.options

    def __str__(self) -> str:
        return f"one of {', '.join(map(repr, self.options))}"


@dataclass(frozen=True)
class Floats:
    """List of floats."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        return isinstance(value, list) and all(isinstance(item, float) for item in value)

    def __str__(self) -> str:
        return "a list of floats"


@dataclass(frozen=True)
class Output:
    """Configuration of `set_output`."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        if not isinstance(value, dict) or not set(value) <= {"transform"}:
            return False
        options = (None, "default", "pandas", "polars")
        return all(isinstance(name, str | None) and name in options for name in value.values())

    def __str__(self) -> str:
        return "a set_output configuration"


@dataclass(frozen=True)
class Seed:
    """Seed of random numbers: an integer of 32 bits, or None."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        return value is None or Count(0, 2**32 - 1).accepts(value, sizes)

    def __str__(self) -> str:
        return "null or an integer from 0 to 2**32 - 1"


@dataclass(frozen=True)
class Scalar:
    """Single value that a label can be compared with, or None."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        return isinstance(value, str | bool | int | float | np.generic | None)

    def __str__(self) -> str:
        return "null, a string or a number"


@dataclass(frozen=True)
class Table:
    """Dict of arrays of one length, at least 1; `params` is a list of dicts."""

    needed: tuple[str, ...]

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            return False
        if not set(self.needed) <= set(value):
            return False
        columns = {key: column for key, column in value.items() if key != "params"}
        lengths: Sizes = {}
        if "params" in value:
            params = value["params"]
            if not isinstance(params, list) or not all(isinstance(item, dict) for item in params):
                return False
            lengths["rows"] = len(params)
        return all(_has_shape(column, "biufO", "rows", lengths) for column in columns.values())

    def __str__(self) -> str:
        return f"a dict of arrays of the same length that includes {', '.join(self.needed)}"


@dataclass(frozen=True)
class Either:
    """Value that one of several fields accepts."""

    fields: tuple[Field, ...]

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        return any(field.accepts(value, sizes) for field in self.fields)

    def __str__(self) -> str:
        return ", or ".join(map(str, self.fields))


@dataclass(frozen=True)
class Nothing:
    """None."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        return value is None

    def __str__(self) -> str:
        return "null"


@dataclass(frozen=True)
class NewSize:
    """Positive integer that defines the size denoted by a letter."""

    letter: str

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        if type(value) is not int or not 0 < value <= MAX_COLUMNS:
            return False
        return sizes.setdefault(self.letter, value) == value

    def __str__(self) -> str:
        return f"the size {self.letter}"


@dataclass(frozen=True)
class Pair:
    """Tuple of two finite numbers in ascending order."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        if not isinstance(value, tuple) or len(value) != 2:
            return False
        if not all(type(number) in (int, float) for number in value):
            return False
        return -MAX_BOUND <= value[0] < value[1] <= MAX_BOUND

    def __str__(self) -> str:
        return "two numbers in ascending order"


@dataclass(frozen=True)
class Cells:
    """Array of numbers, strings or missing values: categories, or values that fill cells."""

    shape: str = "c"

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        if not _has_shape(value, "biufUO", self.shape, dict(sizes)):
            return False
        if value.dtype.kind != "O":
            return value.dtype.kind != "f" or not np.any(np.isinf(value))
        return all(_is_cell(cell) for cell in value)

    def __str__(self) -> str:
        return f"numbers, strings or missing values {_describe_shape(self.shape)}"


def _is_cell(cell: Any) -> bool:
    if isinstance(cell, str):
        return len(cell) <= MAX_LABEL_LENGTH
    return cell is None or (isinstance(cell, int | float) and not math.isinf(float(cell)))


@dataclass(frozen=True)
class Columns:
    """Columns of a table: distinct positions."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, list) or not all(type(place) is int for place in value):
            return False
        inside = all(0 <= place < sizes["p"] for place in value)
        return inside and len(set(value)) == len(value)

    def __str__(self) -> str:
        return "a list of distinct positions of columns"


@dataclass(frozen=True)
class Text:
    """String of limited length."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:  # noqa: ARG002
        return type(value) is str and len(value) <= MAX_LABEL_LENGTH

    def __str__(self) -> str:
        return "a string"


@dataclass(frozen=True)
class ListOf:
    """List of values that one field accepts."""

    item: Field

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        return isinstance(value, list) and all(self.item.accepts(item, sizes) for item in value)

    def __str__(self) -> str:
        return f"a list of {self.item}"
