"""Python and NumPy values as JSON, with arrays kept aside as tensors.

Plain values stand for themselves; all others are objects whose entry "is" names one of a few kinds.
Nothing is looked up by a name from a file, but for these kinds and the types of numbers below.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from opgd.core.types import AnyArray

MOST_LEVELS = 32
FLOATS_AS_TENSOR = 16
"""Lists of so many floats are kept as a tensor."""
SPARE_BYTES = 2**26
BYTES_PER_BYTE = 64
"""Words may take this much room beside, and so many times more than, the tensors of a file."""
NUMBERS = re.compile(r"[<>|](b1|[iu][1248]|f[248]|M8\[([1-9]\d{0,8})?(Y|M|W|D|h|m|s|ms|us|ns)\])")
WORDS = re.compile(r"[<>]U\d{1,8}")
SEQUENCES: dict[str, type[Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}


class NotStorable(TypeError):  # noqa: N818
    """A value for which the format has no place; the message says of what kind it is."""


class Unfit(ValueError):  # noqa: N818
    """Something in a file that no writer has put there; the message is the end of a sentence."""


class Writer:
    """Turns values into JSON and collects the tensors on the way."""

    def __init__(self) -> None:
        self.tensors: dict[str, AnyArray] = {}

    def encode(self, value: Any, name: str, level: int = 0) -> Any:
        """The value as JSON; its arrays become tensors whose names begin with `name`."""
        if level > MOST_LEVELS:
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
            if len(value) >= FLOATS_AS_TENSOR and all(type(own) is float for own in value):
                return {"is": "floats", "tensor": self._tensor(np.array(value), name)}
            return self._items(value, name, level)
        if SEQUENCES.get(kind.__name__) is kind:
            items = list(value) if kind is tuple else sorted(value, key=repr)
            return {"is": kind.__name__, "items": self._items(items, name, level)}
        if kind is range:
            return {"is": "range", "items": [value.start, value.stop, value.step]}
        if isinstance(value, Mapping):
            keys = self._items(list(value), f"{name}.keys", level)
            values = [
                self.encode(own, f"{name}.{key if type(key) is str else i}", level)
                for i, (key, own) in enumerate(value.items())
            ]
            return {"is": "dict", "keys": keys, "values": values}
        if hasattr(value, "__array__"):  # of pandas or polars
            return self.array(np.asarray(value), name)
        raise NotStorable(kind.__name__)

    def _items(self, values: list[Any], name: str, level: int) -> list[Any]:
        return [self.encode(own, f"{name}.{i}", level) for i, own in enumerate(values)]

    def array(self, array: AnyArray, name: str) -> dict[str, Any]:
        """An array of numbers or of words."""
        if array.dtype.kind not in "UO":
            dtype = _number_type(array.dtype)
            # products depend on the order of the cells in memory, in their last bits
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
        codes = [places.setdefault(self._cell(own, name), len(places)) for own in cells]
        written: dict[str, Any] = {
            "is": "words",
            "dtype": array.dtype.str,
            "values": [json.loads(own) for own in places],
        }
        if array.ndim != 1 or len(places) < len(codes):
            stored = np.array(codes, dtype=np.int64).reshape(array.shape)
            written["codes"] = self._tensor(stored, name)
        return written

    def labels(self, array: AnyArray, name: str) -> dict[str, Any]:
        """Different labels, all in the JSON, where everybody can read them."""
        if array.dtype.kind in "UO":
            return self.array(array, name)
        values = [_plain(own) for own in array]
        return {"is": "labels", "dtype": _number_type(array.dtype), "values": values}

    def _cell(self, value: Any, name: str) -> str:
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
    """Turns JSON back into values; every tensor has to be used once."""

    def __init__(self, tensors: dict[str, AnyArray]) -> None:
        self.tensors = dict(tensors)
        stored = sum(own.nbytes for own in tensors.values())
        self.room = SPARE_BYTES + BYTES_PER_BYTE * stored

    def decode(self, written: Any, level: int = 0) -> Any:
        """The value of JSON that `Writer.encode` has made; an error for any other."""
        if level > MOST_LEVELS:
            raise Unfit("it has too many levels of nesting")
        if isinstance(written, list):
            return [self.decode(own, level + 1) for own in written]
        if not isinstance(written, dict):
            return written
        kind = written.get("is")
        if kind == "scalar":
            return _number_array([written["value"]], written["dtype"])[0]
        if kind == "float":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[written["value"]]
        if kind == "floats":
            return self._take(written["tensor"], "f8", 1).tolist()
        if kind == "array":
            return self._array(written)
        if kind == "labels":
            return _number_array(written["values"], written["dtype"])
        if kind == "words":
            return self._words(written, level)
        if kind == "range":
            return range(*map(_integer, written["items"]))
        if kind == "dict":
            keys, values = self.decode([written["keys"], written["values"]], level)
            if len(set(keys)) != len(keys):
                raise Unfit("it has a key twice")
            return dict(zip(keys, values, strict=True))
        if kind in SEQUENCES:
            return SEQUENCES[kind](self.decode(_list(written["items"]), level))
        raise Unfit(f"it has a value of the unknown kind {kind!r}")

    def _take(self, name: Any, dtype: str, n_axes: int | None = None) -> AnyArray:
        tensor = self.tensors.pop(name)
        if tensor.dtype != np.dtype(dtype) or n_axes not in (None, tensor.ndim):
            raise Unfit(f"its tensor {name!r} has another type or shape than it says")
        return tensor

    def _array(self, written: dict[str, Any]) -> AnyArray:
        dtype = _known_type(written["dtype"], NUMBERS)
        stored = self._take(written["tensor"], _kept_as(dtype))
        axes = [_integer(axis) for axis in _list(written["axes"])]
        if sorted(axes) != list(range(stored.ndim)):
            raise Unfit("it has an array whose axes are none")
        with np.errstate(all="ignore"):
            array = stored.astype(dtype, copy=False)
        return array.transpose(np.argsort(axes)) if axes != sorted(axes) else array

    def _words(self, written: dict[str, Any], level: int) -> AnyArray:
        text = written["dtype"]
        dtype = np.dtype(object) if text == "|O" else _known_type(text, WORDS)
        values = self.decode(_list(written["values"]), level + 1)
        if dtype.kind == "U" and not all(type(own) is str for own in values):
            raise Unfit("it has words that are none")
        if dtype.kind == "U" and max(map(len, values), default=0) > dtype.itemsize // 4:
            raise Unfit("it has words that are longer than it says")
        codes = None
        if "codes" in written:
            codes = self._take(written["codes"], "i8")
            if codes.size and not 0 <= codes.min() <= codes.max() < len(values):
                raise Unfit("it has codes of words that are not there")
        n_cells = len(values) + (0 if codes is None else codes.size)
        self.room -= n_cells * dtype.itemsize
        if self.room < 0:
            raise Unfit("its words would take too much memory")
        words = np.empty(len(values), dtype=dtype)
        for place, value in enumerate(values):  # one by one: a list is a value too
            words[place] = value
        return words if codes is None else words[codes]


def _number_type(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "U":
        return dtype.str
    if not NUMBERS.fullmatch(dtype.str):
        raise NotStorable(f"numbers of type {dtype}")
    return dtype.str


def _known_type(text: Any, known: re.Pattern[str]) -> np.dtype[Any]:
    if not isinstance(text, str) or not known.fullmatch(text):
        raise Unfit(f"it has values of the unknown type {text!r}")
    return np.dtype(text)


def _kept_as(dtype: np.dtype[Any]) -> str:
    """The type of tensor that keeps numbers of this type: one of four."""
    if dtype.kind == "f":
        return "f8" if dtype.itemsize == 8 else "f4"
    return "?" if dtype.kind == "b" else "i8"


def _plain(value: Any) -> Any:
    """A NumPy scalar as a value of JSON; floats that are not finite as words."""
    if value.dtype.kind == "M":
        return int(value.astype(np.int64))
    plain = value.item()
    return repr(plain) if isinstance(plain, float) and not math.isfinite(plain) else plain


def _number_array(values: Any, text: Any) -> AnyArray:
    """Numbers in the JSON as an array, (n,); or one word."""
    values = _list(values)
    if isinstance(text, str) and WORDS.fullmatch(text):
        if not all(type(own) is str for own in values):
            raise Unfit("it has a word that is none")
        return np.array(values, dtype=f"{text[0]}U{max(map(len, values), default=1) or 1}")
    dtype = _known_type(text, NUMBERS)
    wanted: Any = {"b": bool, "f": float}.get(dtype.kind, int)
    if wanted is float:
        values = [float(own) if own in ("nan", "inf", "-inf") else own for own in values]
    if not all(type(own) is wanted for own in values):
        raise Unfit(f"it has numbers that are not of their type {dtype}")
    if dtype.kind in "bf":
        with np.errstate(all="ignore"):
            return np.array(values, dtype=wanted).astype(dtype)
    limits = np.iinfo(np.int64 if dtype.kind == "M" else dtype)
    if values and not limits.min <= min(values) <= max(values) <= limits.max:
        raise Unfit(f"it has numbers too large for their type {dtype}")
    return np.array(values, dtype=limits.dtype).astype(dtype)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Unfit("it has no list where there should be one")
    return value


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise Unfit("it has no integer where there should be one")
    return value
