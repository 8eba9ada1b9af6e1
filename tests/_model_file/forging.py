"""Model files with other contents and a valid checksum, written without the package."""

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "data"
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "BOOL": "|b1"}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


@dataclass
class Contents:
    """Description and tensors of a model file."""

    model: dict
    tensors: dict

    @property
    def fitted(self):
        return self.model["fitted"]

    def put(self, name, value):
        """Set a fitted attribute to a JSON value, or to an array."""
        old = self.fitted.get(name)
        if isinstance(old, dict):
            for entry in ("tensor", "codes"):
                self.tensors.pop(old.get(entry), None)
        if isinstance(value, np.ndarray):
            tensor = np.array(value)
            self.tensors[name] = tensor
            axes = list(range(tensor.ndim))
            value = {"is": "array", "dtype": tensor.dtype.str, "axes": axes, "tensor": name}
        self.fitted[name] = value

    def array(self, name):
        """Return a fitted array, with its axes in their order."""
        node = self.fitted[name]
        return self.tensors[node["tensor"]].transpose(np.argsort(node["axes"]))


def read(data):
    """Return the contents of a valid file."""
    length = int.from_bytes(data[:8], "little")
    header, rest = json.loads(data[8 : 8 + length]), data[8 + length :]
    model = json.loads(header.pop("__metadata__")["opgd"])
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensor = np.frombuffer(rest[begin:end], DTYPES[entry["dtype"]])
        tensors[name] = tensor.reshape(entry["shape"]).copy()
    return Contents(model, tensors)


def read_golden(name):
    """Return the contents of a golden file, such as "OPGDClassifier.v1"."""
    return read((GOLDEN / f"{name}.opgd").read_bytes())


def write(contents):
    """Return the bytes of a file with these contents and a valid checksum."""
    model = {key: value for key, value in contents.model.items() if key != "sha256"}
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in contents.tensors.items()}
    digest = hashlib.sha256(_canonical(model).encode())
    header, parts, end = {}, [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])):
        part = tensor.tobytes()
        offsets = [end, end + len(part)]
        shape = list(tensor.shape)
        header[name] = {"dtype": NAMES[tensor.dtype.str], "shape": shape, "data_offsets": offsets}
        parts.append(part)
        end = offsets[1]
        assert len(part) == tensor.itemsize * math.prod(shape)
    for name, tensor in sorted(tensors.items()):
        digest.update(_canonical([name, tensor.dtype.str, tensor.shape]).encode())
        digest.update(tensor.tobytes())
    text = _canonical(model | {"sha256": digest.hexdigest()})
    start = json.dumps({"__metadata__": {"opgd": text}, **header}).encode()
    start += b" " * (-len(start) % 8)
    return b"".join([len(start).to_bytes(8, "little"), start, *parts])


def _canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
