"""Converters for skl2onnx."""

from functools import cache
from typing import Any

from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)

from opgd._onnx.encoder import add_features
from opgd._onnx.graph import Graph
from opgd._onnx.model import add_outputs
from opgd._onnx.prediction import ESTIMATORS, describe
from opgd.table_encoder import TableEncoder

FLOATS = {"float32": FloatTensorType, "float64": DoubleTensorType}
DEFAULT_OUTPUTS = ("label", "probabilities")
OPTIONS: dict[str, Any] = {
    "zipmap": [True, False, "columns"],
    "output_class_labels": [True, False],
    "nocl": [False],
    "double": [True, False],
}
"""Options of the converters; with `double`, the default, float32 graphs compute in double."""


def get_dtype(variables: list[Any]) -> str:
    """Return the floating-point type of graphs with these variables."""
    is_double = any(isinstance(variable.type, DoubleTensorType) for variable in variables)
    return "float64" if is_double else "float32"


def declare_outputs(
    scope: Any, model: Any, inputs: list[Any], names: tuple[str, ...], dtype: str
) -> list[Any]:
    """Declare an operator with these outputs; return the variables."""
    operator = scope.declare_local_operator(_make_alias(type(model)), model)
    operator.inputs = inputs
    for name in names:
        kind = Int64TensorType if name == "label" else FLOATS[dtype]
        operator.outputs.append(scope.declare_local_variable(name, kind()))
    outputs: list[Any] = operator.outputs
    return outputs


def _parse_mixture(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:  # noqa: ARG001
    return declare_outputs(scope, model, inputs, DEFAULT_OUTPUTS, get_dtype(inputs))


def _parse_encoder(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:  # noqa: ARG001
    return declare_outputs(scope, model, inputs, ("features",), get_dtype(inputs))


def _set_estimator_shapes(operator: Any) -> None:
    n_samples = operator.inputs[0].get_first_dimension()
    prediction = describe(operator.raw_operator)
    n_classes = len(prediction.labels)
    for variable in operator.outputs:
        if variable.raw_name == "label":
            is_text = prediction.labels.dtype.kind == "O"
            variable.type = (StringTensorType if is_text else Int64TensorType)([n_samples])
        elif variable.raw_name == "typicality":
            variable.type.shape = [n_samples]
        elif variable.raw_name == "scores" and prediction.components is not None:
            variable.type.shape = [n_samples, len(prediction.components)]
        else:
            variable.type.shape = [n_samples, n_classes]


def _set_encoder_shapes(operator: Any) -> None:
    n_features = len(operator.raw_operator.get_feature_names_out())
    shape = [operator.inputs[0].get_first_dimension(), n_features]
    operator.outputs[0].type.shape = shape


def _convert_estimator(scope: Any, operator: Any, container: Any) -> None:
    model, dtype = operator.raw_operator, get_dtype(operator.inputs)
    if container.get_options(model, {"double": True})["double"]:
        dtype = "float64"
    graph = Graph(scope, container, dtype)
    parts = [graph.cast(variable.full_name, dtype) for variable in operator.inputs]
    features = parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)
    outputs = {
        variable.raw_name: (variable.full_name, get_dtype([variable]))
        for variable in operator.outputs
    }
    add_outputs(graph, features, describe(model), outputs)


def _convert_encoder(scope: Any, operator: Any, container: Any) -> None:
    graph = Graph(scope, container, get_dtype(operator.outputs))
    names = [variable.full_name for variable in operator.inputs]
    add_features(graph, names, operator.raw_operator, operator.outputs[0].full_name)


def _make_alias(kind: type[Any]) -> str:
    return f"Opgd{kind.__name__}"


@cache
def register() -> None:
    """Register the converters of all estimators and of the table encoder, once."""
    for kind in ESTIMATORS:
        is_classifier = hasattr(kind, "predict_log_proba")
        update_registered_converter(
            kind,
            _make_alias(kind),
            _set_estimator_shapes,
            _convert_estimator,
            parser=None if is_classifier else _parse_mixture,
            options=OPTIONS,
        )
    update_registered_converter(
        TableEncoder,
        _make_alias(TableEncoder),
        _set_encoder_shapes,
        _convert_encoder,
        parser=_parse_encoder,
    )
