"""Encoding of the steps of a pipeline as JSON and tensors, and decoding."""

import inspect
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from opgd._model_file.encoder_state import describe_encoder, restore_encoder
from opgd._model_file.encoding import InvalidContent, NotStorable, Reader, Writer
from opgd._model_file.sample_rows import make_row, to_object_row
from opgd._model_file.schema import OUTPUT
from opgd._model_file.step_schema import COMMON, NOT_NEEDED, STEPS, StepParts, check_step
from opgd.core.types import AnyArray
from opgd.table_encoder import TableEncoder

WORDS = ("passthrough", "drop")
"""Words that stand for a step."""
STRUCTURE = ("steps", "transformers", "remainder", "kinds")
"""Parameters that are stored with the steps that they contain."""
MAX_CELLS = 2**22
"""Maximum size of the table that an encoder of categories is fitted to again."""
MAX_STEPS = 2**8
UNKNOWN = "\x00 none of the categories"


# writing


def encode_step(step: Any, writer: Writer, prefix: str, left_out: dict[str, str]) -> Any:
    """Return a fitted step as JSON; raise NotStorable for other classes, by name."""
    if isinstance(step, str) or step is None:
        return {"estimator": step or "passthrough"}
    name = type(step).__name__
    if name not in STEPS or type(step) is not STEPS[name].step:
        raise NotStorable(f"a step of type {name} (supported are {', '.join(STEPS)})")
    parts = STEPS[name]
    parameters = _collect_parameters(parts, step, prefix, left_out)
    content: dict[str, Any] = {
        "estimator": name,
        "parameters": _encode_all(parameters, writer, f"{prefix}parameters."),
        "fitted": _encode_all(_collect_fitted(parts, step), writer, prefix),
    }
    if isinstance(step, TableEncoder):
        description = describe_encoder(step)
        content["table"] = writer.encode(description, f"{prefix}table")
    elif isinstance(step, ColumnTransformer):
        inner = [(key, value) for key, value, _ in step.transformers_]
        content["steps"] = encode_steps(inner, writer, prefix, left_out)
    elif isinstance(step, Pipeline):
        content["steps"] = encode_steps(step.steps, writer, prefix, left_out)
    return content


def encode_steps(
    steps: list[tuple[str, Any]], writer: Writer, prefix: str, left_out: dict[str, str]
) -> list[list[Any]]:
    """Return named steps as JSON."""
    return [
        [str(name), encode_step(step, writer, f"{prefix}{name}.", left_out)] for name, step in steps
    ]


def _encode_all(values: dict[str, Any], writer: Writer, prefix: str) -> dict[str, Any]:
    encoded = {}
    for name, value in values.items():
        try:
            encoded[name] = writer.encode(value, f"{prefix}{name}")
        except NotStorable as error:
            raise NotStorable(f"its {name} ({error})") from None
    return encoded


def _collect_parameters(
    parts: StepParts, step: Any, prefix: str, left_out: dict[str, str]
) -> dict[str, Any]:
    """Return the parameters to store; others must have their default values."""
    name = parts.step.__name__
    defaults = {
        key: parameter.default
        for key, parameter in inspect.signature(parts.step).parameters.items()
    }
    parameters = {}
    for key, value in parts.fixed.items():
        if getattr(step, key) != value:
            given = str(getattr(step, key))[:100]
            raise NotStorable(f"{name} with {key}={given} (supported is {key}={value})")
    for key, value in step.get_params(deep=False).items():
        if key in parts.parameters and parts.parameters[key].accepts(value, {}):
            parameters[key] = value
        elif key in STRUCTURE or _is_same(value, defaults[key]):
            continue
        elif key in NOT_NEEDED or key == "categories":  # a fit has used them
            left_out[prefix + key] = f"{prefix}{key}"
        else:
            raise NotStorable(f"{name} with {key}={str(value)[:100]}")
    return parameters


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and value == default)


def _collect_fitted(parts: StepParts, step: Any) -> dict[str, Any]:
    """Return the attributes to store, with plain integers and floats."""
    fitted = {name: _get_attribute(step, name) for name in parts.attributes}
    fitted |= {name: vars(step)[name] for name in COMMON if name in vars(step)}
    return fitted


def _get_attribute(step: Any, name: str) -> Any:
    if name == "columns":
        return [_find_places(step, columns) for _, _, columns in step.transformers_]
    if name == "infrequent_categories_":
        return getattr(step, name, [None] * len(step.categories_))
    value = getattr(step, name, None)
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _find_places(step: ColumnTransformer, columns: Any) -> list[int]:
    """Return the positions of columns that are named, numbered, masked or sliced."""
    names = {name: j for j, name in enumerate(getattr(step, "feature_names_in_", []))}
    everything = np.arange(step.n_features_in_)
    if isinstance(columns, slice):
        start = names.get(columns.start, columns.start)
        stop = columns.stop
        stop = names[stop] + 1 if isinstance(stop, str) else stop  # names include the last column
        places: AnyArray = everything[slice(start, stop, columns.step)]
    elif isinstance(columns, str | int):
        raise NotStorable("a ColumnTransformer with a single column that is not in a list")
    else:
        chosen = list(columns)
        numbers = [names.get(column, column) for column in chosen]
        mask = bool(chosen) and isinstance(chosen[0], bool | np.bool_)
        places = everything[np.array(numbers, dtype=bool if mask else np.intp)]
    return places.tolist()


# reading


def decode_step(content: Any, reader: Reader, deferred: list[tuple[Any, Any]]) -> Any:
    """Return the step; `deferred` receives steps and the set_output configurations to set later."""
    name = content["estimator"]
    if name in WORDS:
        return name
    if name not in STEPS:
        raise InvalidContent(f"it contains a step of the unexpected type {name!r}")
    parts = STEPS[name]
    parameters = {key: reader.decode(value) for key, value in content["parameters"].items()}
    fitted = {key: reader.decode(value) for key, value in content["fitted"].items()}
    check_step(parts, parameters, fitted)
    steps = decode_steps(content.get("steps", []), reader, deferred)
    output = fitted.pop(OUTPUT, None)
    step = _rebuild(parts, parameters, fitted, steps)
    if isinstance(step, TableEncoder):
        restore_encoder(step, reader.decode(content["table"]))
    if output is not None:
        deferred.append((step, output))
    return step


def decode_steps(
    content: Any, reader: Reader, deferred: list[tuple[Any, Any]]
) -> list[tuple[str, Any]]:
    """Return named steps; names must be distinct."""
    if not isinstance(content, list) or len(content) > MAX_STEPS:
        raise InvalidContent("its steps are not a list, or are too many")
    steps = [(name, decode_step(step, reader, deferred)) for name, step in content]
    names = [name for name, _ in steps]
    if not all(type(name) is str for name in names) or len(set(names)) < len(names):
        raise InvalidContent("the names of its steps are not distinct strings")
    return steps


def _rebuild(
    parts: StepParts,
    parameters: dict[str, Any],
    fitted: dict[str, Any],
    steps: list[tuple[str, Any]],
) -> Any:
    if parts.step is Pipeline:
        if not steps:
            raise InvalidContent("it has a pipeline without steps")
        return Pipeline(steps, **parameters)
    if parts.step is ColumnTransformer:
        step = _rebuild_columns(parameters, fitted, steps)
    elif parts.step is SimpleImputer:
        step = _rebuild_imputer(parameters, fitted)
    elif parts.step in (OneHotEncoder, OrdinalEncoder):
        step = _rebuild_categories(parts.step, parameters, fitted)
    else:
        step = parts.step(**parameters)
        vars(step).update({name: value for name, value in fitted.items() if value is not None})
        for name in set(parts.attributes) - {"n_features_in_"}:
            vars(step).setdefault(name, None)  # scalers have None for what they do not need
    if "feature_names_in_" in fitted:
        step.feature_names_in_ = fitted["feature_names_in_"]
    return step


def _rebuild_imputer(parameters: dict[str, Any], fitted: dict[str, Any]) -> SimpleImputer:
    """Return an imputer fitted to one row: the values that it fills cells with."""
    imputer, values = SimpleImputer(**parameters), fitted["statistics_"]
    if len(values) != fitted["n_features_in_"]:
        raise InvalidContent("its statistics_ (SimpleImputer) do not match its features")
    missing = parameters.get("missing_values", np.nan)
    row = [missing if value is None or value != value else value for value in values.tolist()]
    imputer.fit(to_object_row(row) if values.dtype.kind in "OU" else np.array([row], values.dtype))
    if not all(map(_is_equal, imputer.statistics_.tolist(), values.tolist())):
        raise InvalidContent("its statistics_ (SimpleImputer) do not match its parameters")
    return imputer


def _is_equal(value: Any, other: Any) -> bool:
    return bool(value == other or (value != value and other != other))


def _rebuild_categories(
    step: type[Any], parameters: dict[str, Any], fitted: dict[str, Any]
) -> OneHotEncoder | OrdinalEncoder:
    """Return an encoder fitted to a table in which the same categories are infrequent.

    Frequent categories occur in it twice, infrequent ones never; an unknown one fills other rows.
    """
    categories, infrequent = fitted["categories_"], fitted["infrequent_categories_"]
    if not len(categories) == len(infrequent) == fitted["n_features_in_"]:
        raise InvalidContent(f"the categories of its {step.__name__} do not match its features")
    grouped = any(group is not None for group in infrequent)
    rare = [set() if group is None else set(group.tolist()) for group in infrequent]
    frequent = [
        [value for value in values.tolist() if value not in rare[j]]
        for j, values in enumerate(categories)
    ]
    n_rows = 2 * max([1, *map(len, frequent)])
    if n_rows * len(categories) > MAX_CELLS:
        raise InvalidContent(f"its {step.__name__} has too many categories")
    table = np.full((n_rows, len(categories)), UNKNOWN, dtype=object)
    for j, values in enumerate(frequent):
        for i, value in enumerate(2 * values):
            table[i, j] = value
    unknown = {} if step is OneHotEncoder else {"unknown_value": -1}
    encoder = step(**parameters)
    encoder.set_params(
        categories=[values.astype(object) for values in categories],
        handle_unknown="ignore" if step is OneHotEncoder else "use_encoded_value",
        min_frequency=2 if grouped else None,
        max_categories=None,
        **unknown,
    )
    encoder.fit(table)
    defaults = step().get_params()
    names = ("handle_unknown", "min_frequency", "max_categories", *unknown)
    encoder.set_params(
        categories="auto", **{name: parameters.get(name, defaults[name]) for name in names}
    )
    encoder.categories_ = categories
    return encoder


def _rebuild_columns(
    parameters: dict[str, Any], fitted: dict[str, Any], steps: list[tuple[str, Any]]
) -> ColumnTransformer:
    """Return a ColumnTransformer fitted to one row, with steps that keep their state."""
    places = fitted["columns"]
    if not steps or len(places) != len(steps):
        raise InvalidContent("the columns of its ColumnTransformer do not match its steps")
    if any(isinstance(step, ColumnTransformer | TableEncoder) for _, step in steps):
        raise InvalidContent("its ColumnTransformer contains a step for whole tables")
    frozen = {name: step if step in WORDS else FrozenEstimator(step) for name, step in steps}
    listed = [
        (name, frozen[name], columns)
        for (name, _), columns in zip(steps, places, strict=True)
        if name != "remainder"
    ]
    joint = ColumnTransformer(listed, remainder=frozen.get("remainder", "drop"), **parameters)
    row: list[Any] = [0.0] * fitted["n_features_in_"]
    for (_, step), columns in zip(steps, places, strict=True):
        if step not in WORDS:
            for place, value in zip(columns, make_row(step), strict=True):
                row[place] = value
    joint.fit(to_object_row(row))
    joint.transformers_ = [
        (name, step.estimator if isinstance(step, FrozenEstimator) else step, columns)
        for name, step, columns in joint.transformers_
    ]
    joint.transformers = [(name, _thaw(step), columns) for name, step, columns in listed]
    joint.remainder = _thaw(joint.remainder)
    joint.sparse_output_ = False
    return joint


def _thaw(step: Any) -> Any:
    """Return a step without its fitted state, for the parameters of a ColumnTransformer."""
    return clone(step.estimator) if isinstance(step, FrozenEstimator) else step
