"""Encoding of fitted estimators as JSON and tensors, and decoding."""

import json
import re
from typing import Any

from opgd._base.gaussian import GaussianModel, describe_projection
from opgd._model_file.encoding import (
    MAX_CONTAINERS,
    InvalidContent,
    NotStorable,
    Reader,
    Writer,
    count_containers,
)
from opgd._model_file.probe import check_results
from opgd._model_file.schema import (
    ESTIMATORS,
    HELD_OUT,
    LEFT_OUT,
    OPTIONAL,
    RECORDS,
    Parts,
    check_attributes,
    check_parameters,
)
from opgd._model_file.upgrade import upgrade_estimators, upgrade_fitted
from opgd.core.gaussians import FORMS

DECODING_ERRORS = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


def encode_estimator(
    estimator: Any, writer: Writer, prefix: str, left_out: dict[str, str]
) -> dict[str, Any]:
    """Return an estimator as JSON; `left_out` receives descriptions of what cannot be stored."""
    name = type(estimator).__name__
    parts = ESTIMATORS[name]
    parameters, fitted = estimator.get_params(deep=False), dict(vars(estimator))
    content: dict[str, Any] = {"estimator": name, "parameters": {}, "fitted": {}, "estimators": {}}
    for key, value in parameters.items():
        try:
            content["parameters"][key] = _encode_parameter(
                key, value, writer, f"{prefix}parameters"
            )
        except NotStorable:
            text = re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))
            left_out[prefix + key] = f"{prefix}{key}={text[:200]}"
    for key in parameters:
        fitted.pop(key, None)
    for key in parts.estimators:
        inner = fitted.pop(key)
        content["estimators"][key] = encode_estimator(inner, writer, f"{prefix}{key}.", left_out)
    if isinstance(estimator, GaussianModel) and "_projection" in fitted:
        for key in describe_projection(estimator, fitted["_projection"]):
            fitted.pop(key)
    for key, value in _flatten(fitted).items():
        if key not in parts.attributes | OPTIONAL | HELD_OUT | LEFT_OUT:
            left_out[prefix + key] = prefix + key
            continue
        write = writer.labels if key == "classes_" else writer.encode
        try:
            content["fitted"][key] = write(value, f"{prefix}{key}")
        except NotStorable as error:
            raise NotStorable(f"its {key} ({error})") from None
    return content


def _encode_parameter(key: str, value: Any, writer: Writer, prefix: str) -> Any:
    """Return a parameter as JSON; if it cannot be stored, leave no tensors in the writer."""
    if key == "priors" and hasattr(value, "to_dict"):  # a Series, indexed by class label
        value = value.to_dict()
    before = dict(writer.tensors)
    try:
        node = writer.encode(value, f"{prefix}.{key}")
        if count_containers(json.dumps(node)) > MAX_CONTAINERS // 2:
            raise NotStorable("a value with many lists")
        return node
    except NotStorable:
        writer.tensors = before
        raise


def _flatten(fitted: dict[str, Any]) -> dict[str, Any]:
    """Return fitted attributes with one entry for each field of a record, and forms by name.

    Fields of records that are None are left out.
    """
    flat: dict[str, Any] = {}
    for key, value in fitted.items():
        if key in RECORDS:
            fields = {
                name: inner
                for name, inner in vars(value).items()
                if inner is not None and name != "completion"  # it follows from other attributes
            }
            flat |= _flatten({f"{key}.{name}": inner for name, inner in fields.items()})
        else:
            flat[key] = value.name if key == "_projection.form" else value
    return flat


def rebuild_estimator(
    content: dict[str, Any], reader: Reader, version: int, only: str | None = None
) -> Any:
    """Return the estimator that the contents of a file describe."""
    name = content["estimator"]
    if name not in ESTIMATORS or only not in (None, name):
        raise InvalidContent(f"it contains an estimator of the unexpected type {name!r}")
    parts = ESTIMATORS[name]
    parameters = {key: reader.decode(value) for key, value in content["parameters"].items()}
    check_parameters(parts, parameters)
    fitted = {key: reader.decode(value) for key, value in content["fitted"].items()}
    inner = _rebuild_estimators(parts, upgrade_estimators(content, version), reader, version)
    fitted = upgrade_fitted(fitted, inner, version)
    check_attributes(parts, fitted, inner)
    estimator = parts.estimator(**parameters)
    # names and output settings follow the check of results, since arrays have no names
    optional = {key: fitted.pop(key) for key in OPTIONAL if key in fitted}
    fitted = _build_records(fitted) | inner
    if "_projection" in fitted:
        estimator._store(fitted)
    else:
        vars(estimator).update(fitted)
    if not inner:  # otherwise, results are those of the inner estimator
        check_results(estimator)
    vars(estimator).update(optional)
    return estimator


def _rebuild_estimators(
    parts: Parts, content: dict[str, Any], reader: Reader, version: int
) -> dict[str, Any]:
    if set(content) != set(parts.estimators):
        raise InvalidContent(f"its estimators are not those of {parts.estimator.__name__}")
    return {
        key: rebuild_estimator(content[key], reader, version, only=name)
        for key, name in parts.estimators.items()
    }


def _build_records(fitted: dict[str, Any]) -> dict[str, Any]:
    """Return fitted attributes with records in place of their separate fields."""
    fitted = dict(fitted)
    if "_projection.form" in fitted:
        fitted["_projection.form"] = FORMS[fitted["_projection.form"]]
    for key, record in RECORDS.items():
        fields = [name for name in fitted if name.rpartition(".")[0] == key]
        if fields:
            fitted[key] = record(**{name.rpartition(".")[2]: fitted.pop(name) for name in fields})
    return fitted
