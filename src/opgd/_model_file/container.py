"""The bytes of a model file: a safetensors file whose only metadata is one text of JSON.

The text and all tensors are under one checksum. The header is read and checked, against the size
of the file too, before anything else is.
"""

import hashlib
import json
import math
from typing import Any, BinaryIO

import numpy as np

from opgd._model_file.encoding import Unfit
from opgd.core.types import AnyArray

FORMAT = "opgd model"
VERSION = 2
KEY = "opgd"
"""Name of the only metadata: safetensors writes several in any order."""
MAX_HEADER = 2**25
MAX_TENSORS = 2**16
MAX_AXES = 8
SIZES = {"F64": 8, "F32": 4, "I64": 8, "BOOL": 1}


def pack(model: dict[str, Any], tensors: dict[str, AnyArray]) -> bytes:
    """The bytes of a file."""
    model = {"format": FORMAT, "version": VERSION, **model}
    text = _canonical(model | {"sha256": _checksum(model, tensors)})
    data: bytes = _safetensors().save(tensors, metadata={KEY: text})
    if int.from_bytes(data[:8], "little") > MAX_HEADER:
        raise Unfit(f"its labels, names and settings take more than {MAX_HEADER >> 20} MB")
    return data


def unpack(stream: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """The JSON and the tensors of a stream of `size` bytes, if they are what was written."""
    library = _safetensors()
    start = stream.read(8)
    length = int.from_bytes(start, "little")
    if size < 8 or len(start) < 8 or length > min(MAX_HEADER, size):
        raise Unfit("it is no model file (safetensors), or only the beginning of one")
    header = stream.read(length)
    if 8 + length > size or len(header) < length:
        raise Unfit("it is only the beginning of a file")
    model = _check_header(_parsed(header, "header"), size - 8 - length)
    _check_version(model)
    data = start + header + stream.read(size - 8 - length)
    if len(data) != size or stream.read(1):
        raise Unfit("it changed while it was read")
    try:
        tensors = {name: np.array(own) for name, own in library.load(data).items()}
    except Exception as error:  # its own errors have no common base in all versions
        raise Unfit(f"safetensors cannot read it ({type(error).__name__})") from None
    for tensor in tensors.values():
        if tensor.dtype == bool and tensor.size and tensor.view(np.uint8).max() > 1:
            raise Unfit("it has truth values that are neither true nor false")
    if model.pop("sha256", None) != _checksum_of_stranger(model, tensors):
        raise Unfit("it is damaged: its checksum does not belong to its contents")
    return model, tensors


def _safetensors() -> Any:
    try:
        from safetensors import numpy as library
    except ImportError:
        raise ImportError(
            'Model files need the package safetensors: pip install "opgd[model]".'
        ) from None
    return library


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _checksum(model: dict[str, Any], tensors: dict[str, AnyArray]) -> str:
    digest = hashlib.sha256(_canonical(model).encode())
    for name, stored in sorted(tensors.items()):
        tensor = stored.astype(stored.dtype.newbyteorder("<"), copy=False)
        digest.update(_canonical([name, tensor.dtype.str, tensor.shape]).encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()


def _checksum_of_stranger(model: dict[str, Any], tensors: dict[str, AnyArray]) -> str:
    """The same for what may not be written again: 1e999 is infinite, and levels may be many."""
    try:
        return _checksum(model, tensors)
    except (ValueError, RecursionError):
        raise Unfit("its description has numbers or levels that no model has") from None


def _parsed(text: str | bytes, what: str) -> Any:
    """JSON without duplicate keys and without numbers that are not finite."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(items)) < len(items):
            raise Unfit(f"its {what} has a key twice")
        return found

    def refused(constant: str) -> None:
        raise Unfit(f"its {what} has the number {constant}")

    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        return json.loads(decoded, object_pairs_hook=pairs, parse_constant=refused)
    except Unfit:
        raise
    except (ValueError, RecursionError):
        raise Unfit(f"its {what} is not JSON") from None


def _check_header(header: Any, n_bytes: int) -> dict[str, Any]:
    """The JSON of the model; tensors must fill the rest of the file without gaps."""
    if not isinstance(header, dict):
        raise Unfit("its header is not that of a safetensors file")
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise Unfit("it is not a model of opgd")
    if len(metadata) > 1 or len(header) > MAX_TENSORS:
        raise Unfit("it has more in it than a model")
    end = 0
    for first, last in sorted(_place(entry) for entry in header.values()):
        if first != end:
            raise Unfit("its tensors overlap or leave gaps")
        end = last
    if end != n_bytes:
        raise Unfit("its tensors and its size do not agree")
    model = _parsed(metadata[KEY], "description")
    if not isinstance(model, dict) or model.get("format") != FORMAT:
        raise Unfit("it is not a model of opgd")
    return model


def _place(entry: Any) -> tuple[int, int]:
    """Where a tensor begins and ends; its shape must fill the place."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise Unfit("its header is not that of a safetensors file")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in SIZES:
        raise Unfit(f"it has a tensor of the type {dtype!r}, which models do not have")
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or any(type(n) is not int or n < 0 for n in numbers):
            raise Unfit("it has a tensor of impossible shape or place")
    if len(shape) > MAX_AXES or len(offsets) != 2:
        raise Unfit("it has a tensor of impossible shape or place")
    if offsets[1] - offsets[0] != SIZES[dtype] * math.prod(shape):
        raise Unfit("it has a tensor whose shape does not fill its place")
    return offsets[0], offsets[1]


def _check_version(model: dict[str, Any]) -> None:
    version = model.get("version")
    if type(version) is not int or version < 1:
        raise Unfit("it does not say which version of the format it has")
    if version > VERSION:
        raise Unfit(
            f"its format has version {version} and this opgd reads versions up to {VERSION}; "
            "upgrade opgd"
        )
