"""Encoding of models: estimators of opgd, and pipelines that end in one."""

import warnings
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from opgd._model_file.encoding import InvalidContent, NotStorable, Reader, Writer
from opgd._model_file.probe import FAILURES, METHODS
from opgd._model_file.sample_rows import make_row, to_object_row
from opgd._model_file.schema import ESTIMATORS
from opgd._model_file.state import DECODING_ERRORS, encode_estimator, rebuild_estimator
from opgd._model_file.step_schema import STEPS
from opgd._model_file.steps import WORDS, decode_steps, encode_steps

PIPELINE = "Pipeline"


def is_storable(model: Any) -> bool:
    """Return whether this is one of our estimators, or a pipeline that ends in one."""
    if type(model) is Pipeline:
        return type(model.steps[-1][1]) is not Pipeline and is_storable(model.steps[-1][1])
    name = type(model).__name__
    return name in ESTIMATORS and type(model) is ESTIMATORS[name].estimator


def encode_model(model: Any, writer: Writer, left_out: dict[str, str]) -> dict[str, Any]:
    """Return a model as JSON; `left_out` receives descriptions of what cannot be stored."""
    if type(model) is not Pipeline:
        return encode_estimator(model, writer, "", left_out)
    *steps, (name, final) = model.steps
    if getattr(model, "memory", None) is not None:
        left_out["memory"] = "memory"
    if getattr(model, "transform_input", None) is not None:
        raise NotStorable("a Pipeline with transform_input")
    return {
        "estimator": PIPELINE,
        "steps": encode_steps(steps, writer, "", left_out),
        "final": [str(name), encode_estimator(final, writer, f"{name}.", left_out)],
    }


def decode_model(model: dict[str, Any], tensors: dict[str, Any]) -> Any:
    """Return the model that the contents of a file describe."""
    reader = Reader(tensors)
    try:
        with np.errstate(all="ignore"):  # invalid numbers overflow in checks
            if model["estimator"] == PIPELINE:
                estimator = _rebuild_pipeline(model, reader)
            else:
                estimator = rebuild_estimator(model, reader, model["version"])
    except InvalidContent:
        raise
    except DECODING_ERRORS as error:
        raise InvalidContent(f"its contents are inconsistent ({type(error).__name__})") from None
    if reader.tensors:
        raise InvalidContent("it has unused tensors")
    return estimator


def _rebuild_pipeline(model: dict[str, Any], reader: Reader) -> Pipeline:
    deferred: list[tuple[Any, Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows for checks have no feature names
        steps = decode_steps(model["steps"], reader, deferred)
        name, content = model["final"]
        final = rebuild_estimator(content, reader, model["version"])
        if type(name) is not str or name in {key for key, _ in steps} or "__" in name:
            raise InvalidContent("the names of its steps are not distinct strings")
        pipeline = Pipeline([*steps, (name, final)])
        _check_results(pipeline)
    for step, output in deferred:
        step._sklearn_output_config = output
    return pipeline


def _check_results(pipeline: Pipeline) -> None:
    """Raise InvalidContent unless a row passes all steps and has finite results."""
    steps = [step for _, step in pipeline.steps[:-1] if step not in WORDS]
    final = pipeline.steps[-1][1]
    try:
        row = to_object_row(make_row(steps[0])) if steps else np.zeros((1, final.n_features_in_))
        for step in steps:
            row = step.transform(row)
        row = np.asarray(row, dtype=np.float64)
        if row.shape != (1, final.n_features_in_) or not np.all(np.isfinite(row)):
            raise InvalidContent("the steps of its pipeline do not match each other")
        for name in METHODS:
            if hasattr(final, name) and not np.all(np.isfinite(getattr(final, name)(row))):
                raise InvalidContent(f"the model is invalid: {name} is not finite")
    except FAILURES as error:
        if isinstance(error, InvalidContent):
            raise
        raise InvalidContent(
            f"a step of its pipeline raises {type(error).__name__} for a row of valid cells"
        ) from None


def list_supported() -> str:
    """Return the names of the classes that model files can contain."""
    return f"{', '.join(ESTIMATORS)}, and a Pipeline of {', '.join(STEPS)} that ends in one of them"
