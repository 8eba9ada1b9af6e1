"""From a fitted estimator to JSON and tensors, and back."""

import re
from typing import Any

from opgd._base.gaussian import GaussianModel, describe_projection
from opgd._model_file.encoding import NotStorable, Reader, Unfit, Writer
from opgd._model_file.schema import ESTIMATORS, OPTIONAL, RECORDS, Parts, check_attributes
from opgd._model_file.upgrade import upgrade_estimators, upgrade_fitted
from opgd.core.gaussians import FORMS

MISFITS = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


def described(
    estimator: Any, writer: Writer, prefix: str, left_out: dict[str, str]
) -> dict[str, Any]:
    """An estimator as JSON; what cannot be stored is described in words in `left_out`."""
    name = type(estimator).__name__
    parts = ESTIMATORS[name]
    parameters, fitted = estimator.get_params(deep=False), dict(vars(estimator))
    written: dict[str, Any] = {"estimator": name, "parameters": {}, "fitted": {}, "estimators": {}}
    for key, value in parameters.items():
        try:
            written["parameters"][key] = _parameter(key, value, writer, f"{prefix}parameters")
        except NotStorable:
            words = re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))
            left_out[prefix + key] = f"{prefix}{key}={words[:200]}"
    for key in parameters:
        fitted.pop(key, None)
    for key in parts.estimators:
        inner = fitted.pop(key)
        written["estimators"][key] = described(inner, writer, f"{prefix}{key}.", left_out)
    if isinstance(estimator, GaussianModel) and "_projection" in fitted:
        for key in describe_projection(estimator, fitted["_projection"]):
            fitted.pop(key)
    for key, value in _flat(fitted).items():
        if key not in parts.attributes and key not in OPTIONAL:
            left_out[prefix + key] = prefix + key
            continue
        write = writer.labels if key == "classes_" else writer.encode
        try:
            written["fitted"][key] = write(value, f"{prefix}{key}")
        except NotStorable as error:
            raise NotStorable(f"its {key} ({error})") from None
    return written


def _parameter(key: str, value: Any, writer: Writer, prefix: str) -> Any:
    """A parameter as JSON, and its tensors in the writer; none of these if it is not storable."""
    if key == "priors" and hasattr(value, "to_dict"):  # a Series, by its index
        value = value.to_dict()
    before = dict(writer.tensors)
    try:
        return writer.encode(value, f"{prefix}.{key}")
    except NotStorable:
        writer.tensors = before
        raise


def _flat(fitted: dict[str, Any]) -> dict[str, Any]:
    """Fitted attributes, with the fields of records one by one, and forms by name."""
    flat: dict[str, Any] = {}
    for key, value in fitted.items():
        if key in RECORDS:
            flat |= _flat({f"{key}.{field}": inner for field, inner in vars(value).items()})
        else:
            flat[key] = value.name if key == "_projection.form" else value
    return flat


def loaded(model: dict[str, Any], tensors: dict[str, Any]) -> Any:
    """The estimator of a file's contents."""
    reader = Reader(tensors)
    try:
        estimator = _rebuilt(model, reader, model["version"])
    except Unfit:
        raise
    except MISFITS as error:
        raise Unfit(f"its contents do not fit together ({type(error).__name__})") from None
    if reader.tensors:
        raise Unfit("it has tensors that belong to nothing")
    return estimator


def _rebuilt(written: dict[str, Any], reader: Reader, version: int, only: str | None = None) -> Any:
    name = written["estimator"]
    if name not in ESTIMATORS or only not in (None, name):
        raise Unfit(f"it is a model of the unknown kind {name!r}")
    parts = ESTIMATORS[name]
    parameters = {key: reader.decode(value) for key, value in written["parameters"].items()}
    unknown = set(parameters) - set(parts.estimator().get_params(deep=False))
    if unknown:
        raise Unfit(f"{name} has no parameter {min(unknown)!r} here")
    fitted = {key: reader.decode(value) for key, value in written["fitted"].items()}
    inner = _rebuilt_estimators(parts, upgrade_estimators(written, version), reader, version)
    fitted = upgrade_fitted(fitted, inner, version)
    check_attributes(parts, fitted)
    estimator = parts.estimator(**parameters)
    fitted = _with_records(fitted) | inner
    if "_projection" in fitted:
        estimator._store(fitted)
    else:
        vars(estimator).update(fitted)
    return estimator


def _rebuilt_estimators(
    parts: Parts, written: dict[str, Any], reader: Reader, version: int
) -> dict[str, Any]:
    if set(written) != set(parts.estimators):
        raise Unfit(f"its estimators are not those of {parts.estimator.__name__}")
    return {
        key: _rebuilt(written[key], reader, version, only=name)
        for key, name in parts.estimators.items()
    }


def _with_records(fitted: dict[str, Any]) -> dict[str, Any]:
    """Fitted attributes with the records that their fields make up."""
    fitted = dict(fitted)
    if "_projection.form" in fitted:
        fitted["_projection.form"] = FORMS[fitted["_projection.form"]]
    for key, record in RECORDS.items():
        fields = [name for name in fitted if name.rpartition(".")[0] == key]
        if fields:
            fitted[key] = record(**{name.rpartition(".")[2]: fitted.pop(name) for name in fields})
    return fitted
