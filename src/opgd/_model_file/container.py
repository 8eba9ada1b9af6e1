"""Model files as bytes: safetensors files whose only metadata entry is a JSON string.

A checksum covers the JSON and all tensors. The header is checked, also against the size of the
file, before anything else is read.
"""

import hashlib
import json
import math
from typing import Any, BinaryIO

import numpy as np

from opgd._model_file.encoding import MAX_CONTAINERS, InvalidContent, count_containers
from opgd.core.types import AnyArray

FORMAT = "opgd model"
VERSION = 4
KEY = "opgd"
"""Name of the metadata entry. There is only one, since safetensors does not keep their order."""
MAX_HEADER = 2**25
MAX_TENSORS = 2**16
MAX_DIMENSIONS = 8
SIZES = {"F64": 8, "F32": 4, "I64": 8, "BOOL": 1}


def pack(model: dict[str, Any], tensors: dict[str, AnyArray]) -> bytes:
    """Return the bytes of a model file."""
    model = {"format": FORMAT, "version": VERSION, **model}
    text = _canonical(model | {"sha256": _checksum(model, tensors)})
    data: bytes = _safetensors().save(tensors, metadata={KEY: text})
    if int.from_bytes(data[:8], "little") > MAX_HEADER:
        raise InvalidContent(
            f"its labels, names and parameters take more than {MAX_HEADER >> 20} MB"
        )
    return data


def unpack(stream: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the decoded JSON and the tensors of a stream of `size` bytes, after all checks."""
    library = _safetensors()
    start = stream.read(8)
    length = int.from_bytes(start, "little")
    if size < 8 or len(start) < 8 or length > min(MAX_HEADER, size):
        raise InvalidContent(
            "it is not a model file, as opgd fit and save_model write it, or is truncated"
        )
    header = stream.read(length)
    if 8 + length > size or len(header) < length:
        raise InvalidContent("the file is truncated")
    model = _check_header(_parse_json(header, "header"), size - 8 - length)
    _check_version(model)
    data = start + header + stream.read(size - 8 - length)
    if len(data) != size or stream.read(1):
        raise InvalidContent("the file changed while it was read")
    try:
        tensors = {name: np.array(tensor) for name, tensor in library.load(data).items()}
    except Exception as error:  # not all versions of safetensors have a common exception class
        raise InvalidContent(f"safetensors cannot read the file ({type(error).__name__})") from None
    for tensor in tensors.values():
        if tensor.dtype == bool and tensor.size and tensor.view(np.uint8).max() > 1:
            raise InvalidContent("a boolean tensor has values other than 0 and 1")
    if model.pop("sha256", None) != _checksum_untrusted(model, tensors):
        raise InvalidContent("the file is damaged: its checksum does not match its contents")
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


def _checksum_untrusted(model: dict[str, Any], tensors: dict[str, AnyArray]) -> str:
    """Return the checksum of file contents that JSON may not be able to represent.

    Files may contain numbers such as 1e999, which is parsed as infinity, and deep nesting.
    """
    try:
        return _checksum(model, tensors)
    except (ValueError, RecursionError):
        raise InvalidContent(
            "its metadata contains infinite numbers or is nested too deeply"
        ) from None


def _parse_json(text: str | bytes, part: str) -> Any:
    """Return decoded JSON; reject duplicate keys and the constants NaN and Infinity."""

    def build_dict(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(decoded := dict(items)) < len(items):
            raise InvalidContent(f"its {part} has a duplicate key")
        return decoded

    def reject_constant(constant: str) -> None:
        raise InvalidContent(f"its {part} contains {constant}, which is not valid JSON")

    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        if count_containers(decoded) > MAX_CONTAINERS:
            raise InvalidContent(f"its {part} has more than {MAX_CONTAINERS} lists and objects")
        return json.loads(decoded, object_pairs_hook=build_dict, parse_constant=reject_constant)
    except InvalidContent:
        raise
    except (ValueError, RecursionError):
        raise InvalidContent(f"its {part} is not valid JSON") from None


def _check_header(header: Any, n_bytes: int) -> dict[str, Any]:
    """Return the decoded JSON, and check that tensors fill the rest of the file without gaps."""
    if not isinstance(header, dict):
        raise InvalidContent("its header is not a valid safetensors header")
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise InvalidContent("the file is not an opgd model")
    if len(metadata) > 1 or len(header) > MAX_TENSORS:
        raise InvalidContent(
            "the file has more metadata entries or tensors than an opgd model can have"
        )
    end = 0
    for begin, stop in sorted(_check_entry(entry) for entry in header.values()):
        if begin != end:
            raise InvalidContent("its tensors overlap or leave gaps")
        end = stop
    if end != n_bytes:
        raise InvalidContent("the size of the file does not match its tensors")
    model = _parse_json(metadata[KEY], "metadata")
    if not isinstance(model, dict) or model.get("format") != FORMAT:
        raise InvalidContent("the file is not an opgd model")
    return model


def _check_entry(entry: Any) -> tuple[int, int]:
    """Return the start and end offsets of a tensor, and check its type, shape and size."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise InvalidContent("its header is not a valid safetensors header")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in SIZES:
        raise InvalidContent(f"a tensor has the unsupported type {dtype!r}")
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or any(type(n) is not int or n < 0 for n in numbers):
            raise InvalidContent("a tensor has an invalid shape or invalid offsets")
    if len(shape) > MAX_DIMENSIONS or len(offsets) != 2:
        raise InvalidContent("a tensor has an invalid shape or invalid offsets")
    if offsets[1] - offsets[0] != SIZES[dtype] * math.prod(shape):
        raise InvalidContent("the shape of a tensor does not match its offsets")
    return offsets[0], offsets[1]


def _check_version(model: dict[str, Any]) -> None:
    version = model.get("version")
    if type(version) is not int or version < 1:
        raise InvalidContent("its format version is missing or invalid")
    if version > VERSION:
        raise InvalidContent(
            f"its format version {version} is newer than {VERSION}, the latest that this version "
            "of opgd reads; upgrade opgd"
        )
