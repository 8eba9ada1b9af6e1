"""Mutations of valid model files: of each field by its declaration, of parameters, and of bytes."""

import copy
import json
from functools import singledispatch

import numpy as np

from opgd._model_file import fields
from opgd._model_file.schema import ESTIMATORS, OPTIONAL
from tests._model_file.forging import GOLDEN, read, write
from tests.fuzzing import damaged_bytes, damaged_json

FILES = {path.stem: path.read_bytes() for path in sorted(GOLDEN.glob("*.opgd"))}
EXTREMES = [0.0, -0.0, 1.0, -1.0, 1e-320, -1e-320, 1e-300, 1e-12, 1e12, 1e155, 1e300, 1.7e308]
NOT_FINITE = [np.nan, np.inf, -np.inf]
INTEGERS = [0, 1, -1, 2, 3, 7, 10**6, 10**9, 2**31, 2**62, 2**63 - 1, -(2**63), 2**63, 10**30]
COLLIDING = [i * (2**61 - 1) for i in range(40)]
TEXTS = ["", "a", "full", "diag", "linear", "polynomial", "spline", "nan", "\x00", "\ud800"]


def as_node(value):
    """Return a plain value as JSON of the format."""
    if isinstance(value, float) and not np.isfinite(value):
        return {"is": "float", "value": repr(value)}
    return value


def any_value(rng):
    """Return JSON of any kind that the format has, valid or not."""
    values = [
        *[None, True, False, *INTEGERS, *map(as_node, EXTREMES + NOT_FINITE), *TEXTS],
        *[[], {}, [[]], [1, 2], [0.5] * 40, "x" * 20_000],
        {"is": "range", "items": [0, rng.choice([5, 10**6, 10**7, 10**12, 10**30]), 1]},
        {"is": "range", "items": [0, 10, 0]},
        *[
            {"is": kind, "items": items}
            for kind in ("set", "tuple", "frozenset")
            for items in ([], [1, 1], [[]], COLLIDING, {"is": "range", "items": [0, 10**9, 1]})
        ],
        *[
            {"is": "dict", "keys": keys, "values": [0] * n}
            for keys, n in (
                ([], 0),
                (COLLIDING, 40),
                ([0, 1, 2], 3),
                (["a", "b"], 2),
                ([1], 2),
                ({"is": "range", "items": [0, 10**12, 1]}, 0),
            )
        ],
        *[
            {"is": "labels", "dtype": dtype, "values": values}
            for dtype, values in (
                ("<i8", [3, 2, 1]),
                ("<f8", [0.0, "nan", 1.0]),
                ("<U9", ["a", "b", "b"]),
                ("|b1", [False, True]),
                ("<M8[s]", [0, -(2**63), 1]),
                ("<f8", ["inf", 0.5, 1.0]),
                ("<U9", ["x" * 5000, *["y"] * 3000]),
                ("|i1", [300]),
                ("<f2", [1e300, 2.0, 3.0]),
            )
        ],
        *[
            {"is": "words", "dtype": dtype, "values": values}
            for dtype, values in (
                ("|O", [1, "a", None]),
                ("|O", [2, 1, 0]),
                ("|O", [10**30, 10**31, 10**32]),
                ("|O", ["a", "b", "c"]),
                ("<U99999999", ["a", "b"]),
                ("<U1", ["aa", "b"]),
                ("|O", [{"is": "float", "value": "nan"}, 1.0, 2.0]),
                ("|O", [[], {}, "a"]),
            )
        ],
        {"is": "scalar", "dtype": "<f8", "value": "nan"},
        {"is": "scalar", "dtype": "<U3", "value": "abc"},
        {"is": "floats", "tensor": "missing"},
    ]
    return copy.deepcopy(rng.choice(values))


def other_array(rng, array):
    """Return an array with other values, another shape or another type."""
    array = array.copy()
    with np.errstate(all="ignore"):
        kind = rng.randrange(12)
        if kind <= 3 and array.size:
            extreme = rng.choice(EXTREMES + NOT_FINITE)
            if array.dtype.kind == "i":
                extreme = rng.choice([n for n in INTEGERS if -(2**63) <= n < 2**63])
            array.ravel()[rng.randrange(array.size)] = extreme
        elif kind == 4 and array.dtype.kind == "f":
            array[...] = rng.choice(EXTREMES + NOT_FINITE)
        elif kind == 5 and array.dtype.kind == "f":
            array *= rng.choice([0.0, -1.0, 1e-300, 1e-150, 1e150, 1e300, 1e308])
        elif kind == 6 and array.ndim:
            axis = rng.randrange(array.ndim)
            size = rng.choice([0, 1, array.shape[axis] - 1, array.shape[axis] + 1])
            array = np.take(array, np.arange(max(size, 0)), axis=axis, mode="wrap")
        elif kind == 7:
            array = rng.choice([array.T, array[None], array.ravel(), array[:0], array[::-1]])
        elif kind == 8:
            array = array.astype(rng.choice(["<f4", "<i8", "|b1", "<f8"]))
        elif kind == 9 and array.ndim:
            array = np.roll(array, 1, axis=0)
        elif kind == 10 and array.ndim and len(array):
            array[-1] = array[0]
        elif array.dtype.kind == "f":
            array = np.nextafter(array, rng.choice([-np.inf, np.inf]))
    return np.ascontiguousarray(array)


@singledispatch
def other_value(field, rng, contents, name):
    """Return another value for a field, as JSON or as an array."""
    return any_value(rng)


@other_value.register(fields.Array)
@other_value.register(fields.Either)
@other_value.register(fields.Codes)
@other_value.register(fields.GaussianClasses)
def _(field, rng, contents, name):
    if rng.random() < 0.1:
        return any_value(rng)
    array = contents.array(name)
    low, high = getattr(field, "low", -np.inf), getattr(field, "high", np.inf)
    bounds = [bound for bound in (low, high) if np.isfinite(bound)]
    if bounds and rng.random() < 0.3 and array.size:
        array, bound = array.copy(), rng.choice(bounds)
        values = [bound, np.nextafter(bound, -np.inf), np.nextafter(bound, np.inf), -bound]
        array.ravel()[rng.randrange(array.size)] = rng.choice(values)
        return array
    return other_array(rng, array)


@other_value.register(fields.Number)
def _(field, rng, contents, name):
    values = [*EXTREMES, *NOT_FINITE, field.low, field.high, field.high * 2, 3, True, "1.0", None]
    return as_node(rng.choice(values))


@other_value.register(fields.Count)
@other_value.register(fields.Size)
def _(field, rng, contents, name):
    value = contents.fitted[name]
    step = [value + rng.choice([-1, 1, 2])] if isinstance(value, int) else []
    return rng.choice([*step, *INTEGERS, 1.0, True, "3", None])


@other_value.register(fields.Choice)
def _(field, rng, contents, name):
    return rng.choice([*field.options, *TEXTS, None, 3, list(field.options)])


@other_value.register(fields.Labels)
@other_value.register(fields.Names)
@other_value.register(fields.SampleLabels)
def _(field, rng, contents, name):
    node = copy.deepcopy(contents.fitted[name])
    values = node.get("values", [])
    kind = rng.randrange(7)
    if kind == 0 and values:
        values[-1] = values[0]
    elif kind == 1:
        values.reverse()
    elif kind == 2 and values:
        values.pop()
    elif kind == 3:
        values.append(rng.choice(["zzz", "", 3, None, 1.5, "x" * 20_000]))
    elif kind == 4:
        values[:] = rng.choice([[1, 2, 3], [0.5, 1.5, 2.5], [False, True], COLLIDING[:3]])
        node["dtype"] = "|O"
    elif kind == 5:
        node["dtype"] = rng.choice(["|O", "<U1", "<U99999999", ">U10", "<i8", "<M8[s]"])
    else:
        return any_value(rng)
    return node


def declared_fields(content):
    """Return the fields of an encoded estimator that its contents have."""
    declared = ESTIMATORS[content["estimator"]].attributes | OPTIONAL
    return {name: declared.get(name) for name in content["fitted"]}


def mutate_fields(rng, data):
    """Change one or a few fields of a model, or of the model inside it."""
    contents = read(data)
    inner = contents.model.get("estimators", {}).get("best_estimator_")
    inner = inner or contents.model.get("best_estimator")
    view = copy.copy(contents)
    if inner is not None and rng.random() < 0.6:
        view.model = inner
    declared = declared_fields(view.model)
    for name in rng.sample(sorted(declared), rng.choice([1, 1, 1, 1, 2, 3])):
        try:
            value = other_value(declared[name], rng, view, name)
            if declared[name] is None and rng.random() < 0.7:  # of version 1
                value = other_array(rng, view.array(name))
        except (KeyError, TypeError):
            value = any_value(rng)
        view.put(name, value)
    return write(contents)


def mutate_sizes(rng, data):
    """Cut or repeat one dimension in all arrays that have its size, so that sizes agree."""
    contents = read(data)
    size = rng.choice([s for tensor in contents.tensors.values() for s in tensor.shape] or [1])
    new = rng.choice([0, 1, max(size - 1, 0), size + 1, 2 * size])
    for name, tensor in contents.tensors.items():
        for axis, length in enumerate(tensor.shape):
            if length == size:
                tensor = np.take(tensor, np.arange(new), axis=axis, mode="wrap")
        contents.tensors[name] = tensor
    for name, value in contents.fitted.items():
        if value == size and type(value) is int:
            contents.fitted[name] = new
        elif isinstance(value, dict) and len(value.get("values", [])) == size:
            value["values"] = [value["values"][i % size] for i in range(new)]
            if rng.random() < 0.5 and all(isinstance(item, str) for item in value["values"]):
                value["values"] = [f"{i:05}" for i in range(new)]
    return write(contents)


def mutate_parameters(rng, data):
    """Change constructor parameters, or entries of the description."""
    contents = read(data)
    if rng.random() < 0.3:
        contents.model = damaged_json(rng, contents.model)
    else:
        parameters = contents.model["parameters"]
        parameters[rng.choice(sorted(parameters))] = any_value(rng)
    return write(contents)


def mutate_header(rng, data):
    """Change the header; the length of the file still agrees."""
    length = int.from_bytes(data[:8], "little")
    header = json.dumps(damaged_json(rng, json.loads(data[8 : 8 + length]))).encode()
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def mutate_bytes(rng, data):
    """Change bits, bytes or stretches."""
    return damaged_bytes(rng, data)


MUTATIONS = {
    "fields": mutate_fields,
    "sizes": mutate_sizes,
    "parameters": mutate_parameters,
    "header": mutate_header,
    "bytes": mutate_bytes,
}
SHARES = [0.55, 0.1, 0.2, 0.05, 0.1]


def mutant(rng):
    """Return the name of a mutation, the name of a file, and the changed bytes; or None."""
    kind, name = rng.choices(list(MUTATIONS), SHARES)[0], rng.choice(list(FILES))
    try:
        return kind, name, MUTATIONS[kind](rng, FILES[name])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None  # nobody could have written this file
