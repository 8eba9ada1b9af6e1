"""Encoding of Python and NumPy values as JSON and tensors.

JSON represents plain values directly, and all others as objects whose entry "is" names their kind.
Names from a file are only compared with these kinds and with the number types below; they never
refer to Python objects.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from opgd.core.types import AnyArray

MAX_LEVELS = 32
FLOATS_AS_TENSOR = 16
"""Length from which a list of floats is stored as a tensor."""
MAX_CONTAINERS = 2**18
"""Maximum number of lists and objects in JSON, which take up to 40 times the memory of the text."""
MAX_RANGE = 2**20
"""Maximum length of a range, which a fit converts to a list."""
MAX_EQUAL_HASHES = 8
"""Maximum number of dict keys or set items with one hash; lookups compare all of them."""
SPARE_BYTES = 2**25
BYTES_PER_BYTE = 16
"""Strings may take SPARE_BYTES, plus BYTES_PER_BYTE for each byte of tensors in the file."""
NUMBERS = re.compile(r"[<>|](b1|[iu][1248]|f[248]|M8\[([1-9]\d{0,8})?(Y|M|W|D|h|m|s|ms|us|ns)\])")
WORDS = re.compile(r"[<>]U\d{1,8}")
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"')
SEQUENCES: dict[str, type[Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}


class NotStorable(TypeError):  # noqa: N818
    """Raised for a value that the format cannot represent; the message names its type."""


class InvalidContent(ValueError):  # noqa: N818
    """Raised for invalid contents of a file; the message completes "Cannot load ...: "."""


class Writer:
    """Encode values as JSON, and collect their tensors."""

    def __init__(self) -> None:
        self.tensors: dict[str, AnyArray] = {}

    def encode(self, value: Any, name: str, level: int = 0) -> Any:
        """Return the value as JSON; arrays become tensors whose names begin with `name`."""
        if level > MAX_LEVELS:
            raise NotStorable("too many levels of nesting")
        if isinstance(value, np.generic):
            return {"is": "scalar", "dtype": _number_type(value.dtype), "value": _plain(value)}
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            value = float(value)
            return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
        if isinstance(value, np.ndarray):
            return self.array(np.asarray(value), name)
        return self._collection(value, name, level + 1)

    def _collection(self, value: Any, name: str, level: int) -> Any:
        kind = type(value)
        if kind is list:
            if len(value) >= FLOATS_AS_TENSOR and all(type(item) is float for item in value):
                return {"is": "floats", "tensor": self._tensor(np.array(value), name)}
            return self._items(value, name, level)
        if SEQUENCES.get(kind.__name__) is kind:
            items = list(value) if kind is tuple else sorted(value, key=repr)
            return {"is": kind.__name__, "items": self._items(items, name, level)}
        if kind is range:
            if not _is_moderate(value):
                raise NotStorable("a range of more than a million numbers")
            return {"is": "range", "items": [value.start, value.stop, value.step]}
        if isinstance(value, Mapping):
            keys = self._items(list(value), f"{name}.keys", level)
            values = [
                self.encode(item, f"{name}.{key if type(key) is str else i}", level)
                for i, (key, item) in enumerate(value.items())
            ]
            return {"is": "dict", "keys": keys, "values": values}
        if hasattr(value, "__array__"):  # pandas or polars
            return self.array(np.asarray(value), name)
        raise NotStorable(kind.__name__)

    def _items(self, values: list[Any], name: str, level: int) -> list[Any]:
        return [self.encode(value, f"{name}.{i}", level) for i, value in enumerate(values)]

    def array(self, array: AnyArray, name: str) -> dict[str, Any]:
        """Return an array of numbers or strings as JSON."""
        if array.dtype.kind not in "UO":
            dtype = _number_type(array.dtype)
            # The memory layout is kept: it affects the last bits of matrix products.
            axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
            if array.flags.c_contiguous:
                axes = list(range(array.ndim))
            stored = array.transpose(axes).astype(_kept_as(array.dtype), order="C")
            return {
                "is": "array",
                "dtype": dtype,
                "axes": axes,
                "tensor": self._tensor(stored, name),
            }
        places: dict[str, int] = {}
        cells = array.ravel().tolist()
        codes = [places.setdefault(self._encode_cell(cell, name), len(places)) for cell in cells]
        node: dict[str, Any] = {
            "is": "words",
            "dtype": array.dtype.str,
            "values": [json.loads(cell) for cell in places],
        }
        if array.ndim != 1 or len(places) < len(codes):
            stored = np.array(codes, dtype=np.int64).reshape(array.shape)
            node["codes"] = self._tensor(stored, name)
        return node

    def labels(self, array: AnyArray, name: str) -> dict[str, Any]:
        """Return distinct labels as JSON without tensors, so that the file remains readable."""
        if array.dtype.kind in "UO":
            return self.array(array, name)
        values = [_plain(label) for label in array]
        return {"is": "labels", "dtype": _number_type(array.dtype), "values": values}

    def _encode_cell(self, value: Any, name: str) -> str:
        before = len(self.tensors)
        cell = json.dumps(self.encode(value, name, 1))
        if len(self.tensors) > before:
            raise NotStorable("an array inside an array")
        return cell

    def _tensor(self, array: AnyArray, name: str) -> str:
        name = re.sub(r"[^\w.]", "_", name, flags=re.ASCII)[:200]
        while name in self.tensors:
            name += "_"
        self.tensors[name] = array
        return name


class Reader:
    """Decode values from JSON and tensors; each tensor must be used exactly once."""

    def __init__(self, tensors: dict[str, AnyArray]) -> None:
        self.tensors = dict(tensors)
        stored = sum(tensor.nbytes for tensor in tensors.values())
        self.room = SPARE_BYTES + BYTES_PER_BYTE * stored

    def decode(self, node: Any, level: int = 0) -> Any:
        """Return the value encoded by `Writer.encode`; raise InvalidContent for any other JSON."""
        if level > MAX_LEVELS:
            raise InvalidContent("its values are nested too deeply")
        if isinstance(node, list):
            return [self.decode(item, level + 1) for item in node]
        if not isinstance(node, dict):
            return node
        kind = node.get("is")
        if kind == "scalar":
            return self._decode_numbers([node["value"]], node["dtype"])[0]
        if kind == "float":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[node["value"]]
        if kind == "floats":
            return self._take(node["tensor"], "f8", 1).tolist()
        if kind == "array":
            return self._decode_array(node)
        if kind == "labels":
            return self._decode_numbers(node["values"], node["dtype"])
        if kind == "words":
            return self._decode_strings(node, level)
        if kind == "range":
            numbers = range(*map(_integer, _list(node["items"])))
            if not _is_moderate(numbers):
                raise InvalidContent("it has a range of more than a million numbers")
            return numbers
        if kind == "dict":
            keys = _check_hashes(self.decode(_list(node["keys"]), level))
            values = self.decode(_list(node["values"]), level)
            if len(set(keys)) != len(keys):
                raise InvalidContent("a dict has a duplicate key")
            return dict(zip(keys, values, strict=True))
        if isinstance(kind, str) and kind in SEQUENCES:
            items = self.decode(_list(node["items"]), level)
            return SEQUENCES[kind](items if kind == "tuple" else _check_hashes(items))
        raise InvalidContent(f"a value has the unknown kind {kind!r}")

    def _take(self, name: Any, dtype: str, n_axes: int | None = None) -> AnyArray:
        tensor = self.tensors.pop(name)
        if tensor.dtype != np.dtype(dtype) or n_axes not in (None, tensor.ndim):
            raise InvalidContent(
                f"tensor {name!r} has a type or shape other than stated in the metadata"
            )
        return tensor

    def _decode_array(self, node: dict[str, Any]) -> AnyArray:
        dtype = _known_type(node["dtype"], NUMBERS)
        stored = self._take(node["tensor"], _kept_as(dtype))
        axes = [_integer(axis) for axis in _list(node["axes"])]
        if sorted(axes) != list(range(stored.ndim)):
            raise InvalidContent("the axes of an array are not a permutation")
        with np.errstate(all="ignore"):
            array = stored.astype(dtype, copy=False)
        return array.transpose(np.argsort(axes)) if axes != sorted(axes) else array

    def _decode_strings(self, node: dict[str, Any], level: int) -> AnyArray:
        text = node["dtype"]
        dtype = np.dtype(object) if text == "|O" else _known_type(text, WORDS)
        values = self.decode(_list(node["values"]), level + 1)
        if dtype.kind == "U" and not all(type(value) is str for value in values):
            raise InvalidContent("an array of strings has values of another type")
        if dtype.kind == "U" and max(map(len, values), default=0) > dtype.itemsize // 4:
            raise InvalidContent("an array has strings longer than its type allows")
        codes = None
        if "codes" in node:
            codes = self._take(node["codes"], "i8")
            if codes.size and not 0 <= codes.min() <= codes.max() < len(values):
                raise InvalidContent("the codes of an array of strings are out of range")
        n_cells = len(values) + (0 if codes is None else codes.size)
        self._reserve(n_cells * dtype.itemsize)
        strings = np.empty(len(values), dtype=dtype)
        for place, value in enumerate(values):  # one by one, since a value can be a list
            strings[place] = value
        return strings if codes is None else strings[codes]

    def _decode_numbers(self, values: Any, text: Any) -> AnyArray:
        """Return an array (n,) of the numbers or strings in a JSON list."""
        values = _list(values)
        if isinstance(text, str) and WORDS.fullmatch(text):
            if not all(type(value) is str for value in values):
                raise InvalidContent("an array of strings has values of another type")
            width = max(map(len, values), default=1) or 1
            self._reserve(4 * width * len(values))
            return np.array(values, dtype=f"{text[0]}U{width}")
        dtype = _known_type(text, NUMBERS)
        python_type: Any = {"b": bool, "f": float}.get(dtype.kind, int)
        if python_type is float:
            values = [float(v) if v in ("nan", "inf", "-inf") else v for v in values]
        if not all(type(value) is python_type for value in values):
            raise InvalidContent(f"it has numbers that are not of the stated type {dtype}")
        if dtype.kind in "bf":
            with np.errstate(all="ignore"):
                return np.array(values, dtype=python_type).astype(dtype)
        limits = np.iinfo(np.int64 if dtype.kind == "M" else dtype)
        if values and not limits.min <= min(values) <= max(values) <= limits.max:
            raise InvalidContent(f"it has numbers out of range for the type {dtype}")
        return np.array(values, dtype=limits.dtype).astype(dtype)

    def _reserve(self, n_bytes: int) -> None:
        """Count the memory of an array of strings, which can exceed that of the file."""
        self.room -= n_bytes
        if self.room < 0:
            raise InvalidContent("its strings would require too much memory")


def count_containers(text: str) -> int:
    """Return the number of lists and objects in JSON, or of such brackets if these are few."""
    n_brackets = text.count("[") + text.count("{")
    if n_brackets <= MAX_CONTAINERS:
        return n_brackets
    outside = STRINGS.sub("", text)
    return outside.count("[") + outside.count("{")


def _number_type(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "U":
        return dtype.str
    if not NUMBERS.fullmatch(dtype.str):
        raise NotStorable(f"numbers of type {dtype}")
    return dtype.str


def _known_type(text: Any, pattern: re.Pattern[str]) -> np.dtype[Any]:
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise InvalidContent(f"it has values of the unsupported type {text!r}")
    return np.dtype(text)


def _kept_as(dtype: np.dtype[Any]) -> str:
    """Return the tensor type for numbers of this type."""
    if dtype.kind == "f":
        return "f8" if dtype.itemsize == 8 else "f4"
    return "?" if dtype.kind == "b" else "i8"


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as a JSON value; nan and infinities become strings."""
    if value.dtype.kind == "M":
        return int(value.astype(np.int64))
    plain = value.item()
    return repr(plain) if isinstance(plain, float) and not math.isfinite(plain) else plain


def _is_moderate(numbers: range) -> bool:
    try:
        return len(numbers) <= MAX_RANGE
    except OverflowError:
        return False


def _check_hashes(items: list[Any]) -> list[Any]:
    """Return the items of a dict or set, unless so many have one hash that comparing takes long."""
    hashes = sorted(map(hash, items))
    if any(one == other for one, other in zip(hashes, hashes[MAX_EQUAL_HASHES:], strict=False)):
        raise InvalidContent("a dict or set has many items with the same hash")
    return items


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidContent("it has a value of another type where a list is expected")
    return value


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise InvalidContent("it has a value of another type where an integer is expected")
    return value
