"""From a fitted estimator to JSON and tensors, and back."""

import re
from typing import Any

from opgd._model_file.encoding import NotStorable, Reader, Unfit, Writer
from opgd._model_file.schema import ESTIMATORS, OPTIONAL, OUTPUT, RECORDS, check_attributes

CHOSEN = "OPGDClassifierCV"
"""The estimator whose attributes are mostly those of another, its best."""
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
    parameters, found = estimator.get_params(deep=False), dict(vars(estimator))
    written: dict[str, Any] = {"estimator": name, "parameters": {}, "fitted": {}}
    for key, value in parameters.items():
        try:
            written["parameters"][key] = _parameter(key, value, writer, f"{prefix}parameters")
        except NotStorable:
            words = re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))
            left_out[prefix + key] = f"{prefix}{key}={words[:200]}"
    for key in parameters:
        found.pop(key, None)
    if name == CHOSEN:
        best = found.pop("best_estimator_")
        written["best_estimator"] = described(best, writer, f"{prefix}best_estimator.", left_out)
        copied = {*vars(best), "best_params_", "best_score_", "temperature_"} - {OUTPUT}
        found = {key: own for key, own in found.items() if key not in copied}
    for key, value in _flat(found).items():
        if key not in ESTIMATORS[name].attributes and key not in OPTIONAL:
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


def _flat(found: dict[str, Any]) -> dict[str, Any]:
    """Fitted attributes, with the arrays of our records one by one."""
    flat: dict[str, Any] = {}
    for key, value in found.items():
        inside = vars(value) if key in RECORDS else {}
        flat |= {f"{key}.{field}": own for field, own in inside.items()} or {key: value}
    return flat


def loaded(model: dict[str, Any], tensors: dict[str, Any]) -> Any:
    """The estimator of a file's contents."""
    reader = Reader(tensors)
    try:
        estimator = _rebuilt(model, reader)
    except Unfit:
        raise
    except MISFITS as error:
        raise Unfit(f"its contents do not fit together ({type(error).__name__})") from None
    if reader.tensors:
        raise Unfit("it has tensors that belong to nothing")
    return estimator


def _rebuilt(written: dict[str, Any], reader: Reader, only: str | None = None) -> Any:
    name = written["estimator"]
    if name not in ESTIMATORS or only not in (None, name):
        raise Unfit(f"it is a model of the unknown kind {name!r}")
    parts = ESTIMATORS[name]
    parameters = {key: reader.decode(own) for key, own in written["parameters"].items()}
    unknown = set(parameters) - set(parts.estimator().get_params(deep=False))
    if unknown:
        raise Unfit(f"{name} has no parameter {min(unknown)!r} here")
    found = {key: reader.decode(own) for key, own in written["fitted"].items()}
    check_attributes(parts, found)
    for key, record in RECORDS.items():
        fields = {own: found.pop(own) for own in list(found) if own.startswith(f"{key}.")}
        if fields:
            found[key] = record(**{own.partition(".")[2]: value for own, value in fields.items()})
    estimator = parts.estimator(**parameters)
    if name == CHOSEN:
        best = _rebuilt(written["best_estimator"], reader, only="OPGDClassifier")
        found = _chosen(best, found) | found
    vars(estimator).update(found)
    return estimator


def _chosen(best: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The attributes of OPGDClassifierCV that follow from others, as its `fit` sets them."""
    table, index = found["cv_results_"], found["best_index_"]
    own = set(best.get_params()) | {OUTPUT}
    return {key: value for key, value in vars(best).items() if key not in own} | {
        "best_estimator_": best,
        "best_params_": table["params"][index],
        "best_score_": float(table["mean_test_score"][index]),
        "temperature_": best._temperature,
    }
