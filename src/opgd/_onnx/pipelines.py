"""Pipelines: which steps can be converted, the inputs of the graph, and its conversion."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import StringTensorType
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from opgd._onnx.encoder import check_encoder, has_one_input
from opgd._onnx.graph import TYPES, Graph
from opgd._onnx.prediction import ESTIMATORS
from opgd._onnx.registration import FLOATS, declare_outputs, get_dtype, register
from opgd._tables.columns import CategoryColumn
from opgd.table_encoder import TableEncoder

WORDS = ("passthrough", None)
"""Steps that do nothing."""
ENDING = "_double"
"""Ending of the names of inputs that are converted to double precision."""


@dataclass(frozen=True)
class Input:
    """An input of a graph: the column that it is, if it is one, and its type."""

    column: str | None
    is_text: bool
    width: int

    def make_type(self, dtype: str) -> Any:
        """Return the type for skl2onnx, with numbers of this type."""
        kind = StringTensorType if self.is_text else FLOATS[dtype]
        return kind([None, self.width])


@dataclass(frozen=True)
class Conversion:
    """What a graph consists of."""

    steps: list[tuple[str, Any]]  # before the final estimator
    final: Any
    inputs: dict[str, Input]  # by name
    outputs: tuple[str, ...]
    dtype: str  # of inputs and outputs
    compute_dtype: str

    def run(self, target_opset: int, metadata: dict[str, str]) -> onnx.ModelProto:
        """Return the graph, with metadata."""
        register()
        is_cast = self.dtype != self.compute_dtype
        endings = {name: ENDING * (is_cast and not i.is_text) for name, i in self.inputs.items()}
        estimators = [step for _, step in [*self.steps, ("", self.final)]]
        double = {"double": self.compute_dtype == "float64"}
        try:
            graph = convert_sklearn(
                Pipeline([*self.steps, ("", self.final)]) if self.steps else self.final,
                name="opgd",
                initial_types=[
                    (name + endings[name], each.make_type(self.compute_dtype))
                    for name, each in self.inputs.items()
                ],
                target_opset={"": target_opset, "ai.onnx.ml": 2},
                custom_parsers=dict.fromkeys((TableEncoder, *ESTIMATORS), self._parse),
                custom_conversion_functions={SimpleImputer: convert_imputer},
                options={id(step): double for step in estimators if type(step) in ESTIMATORS},
            )
        except ValueError:
            raise
        except Exception as error:  # of many classes
            listed = ", ".join(f"{name!r} ({type(step).__name__})" for name, step in self.steps)
            reason = str(error).split(". ")[0].split("\n")[0].rstrip(".")
            raise TypeError(f"skl2onnx cannot convert the steps {listed}: {reason}.") from error
        for name, ending in endings.items():
            if ending:
                _cast_input(graph.graph, name, name + ending)
        onnx.helper.set_model_props(graph, metadata)
        onnx.checker.check_model(graph)
        return graph

    def _parse(
        self,
        scope: Any,
        step: Any,
        variables: list[Any],
        custom_parsers: Any = None,  # noqa: ARG002
    ) -> list[Any]:
        """Declare the outputs of a step, for skl2onnx."""
        if step is self.final:
            return declare_outputs(scope, step, variables, self.outputs, self.dtype)
        names = ("features",) if isinstance(step, TableEncoder) else ("scores",)
        return declare_outputs(scope, step, variables, names, self.compute_dtype)


def split_steps(model: Any) -> tuple[list[tuple[str, Any]], Any]:
    """Return the fitted steps that transform samples, and the final estimator."""
    steps, final, place = [], model, ""
    if isinstance(model, Pipeline):
        *steps, (_, final) = model.steps
        steps = [(name, step) for name, step in steps if step not in WORDS]
        place = "a Pipeline that ends in "
    if type(final) not in ESTIMATORS:
        raise TypeError(
            f"Cannot convert {place}{type(final).__name__} to ONNX; supported are "
            f"{list_supported()}."
        )
    check_is_fitted(final)
    for number, (name, step) in enumerate(steps):
        check_is_fitted(step)
        if isinstance(step, TableEncoder):
            if number:
                raise TypeError(f"TableEncoder {name!r} must be the first step of the Pipeline.")
            is_imputed = len(steps) > 1 and isinstance(steps[1][1], SimpleImputer)
            check_encoder(step, allow_missing=is_imputed)
        elif type(step) in ESTIMATORS and not hasattr(step, "transform"):
            raise TypeError(f"Step {name!r} ({type(step).__name__}) has no transform.")
    return steps, final


def list_supported() -> str:
    """Return the names of the estimators that can be converted."""
    names = ", ".join(kind.__name__ for kind in ESTIMATORS)
    return f"{names}, and a Pipeline that ends in one of them"


def list_inputs(first: Any, reserved: tuple[str, ...]) -> dict[str, Input]:
    """Return the inputs of a graph by name; `first` is the first step, `reserved` are names."""
    if not isinstance(first, TableEncoder) or has_one_input(first):
        return {"X": Input(None, False, int(first.n_features_in_))}
    inputs: dict[str, Input] = {}
    for column in first.columns_:
        taken = {*reserved, *inputs, *(name + ENDING for name in inputs)}
        name = _make_identifier(column.name, taken)
        inputs[name] = Input(column.name, isinstance(column, CategoryColumn), 1)
    return inputs


def _make_identifier(text: str, taken: set[str]) -> str:
    """Return a name of ASCII letters, digits and underscores, as ONNX requires."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not name or name[0].isdigit():
        name = f"_{name}"
    candidate, number = name, 2
    while candidate in taken or candidate + ENDING in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def _cast_input(graph: onnx.GraphProto, name: str, inner: str) -> None:
    """Replace an input in double precision by one in float32 that is converted."""
    for entry in graph.input:
        if entry.name == inner:
            entry.name = name
            entry.type.tensor_type.elem_type = TYPES["float32"]
    node = onnx.helper.make_node("Cast", [name], [inner], to=TYPES["float64"])
    graph.node.insert(0, node)


def convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    """Add a graph of SimpleImputer, since that of skl2onnx does not exist in double precision."""
    imputer, graph = operator.raw_operator, Graph(scope, container, get_dtype(operator.inputs))
    is_nan = isinstance(imputer.missing_values, float) and np.isnan(imputer.missing_values)
    values = np.asarray(imputer.statistics_)
    if not is_nan or imputer.add_indicator or values.dtype.kind not in "iuf":
        raise TypeError("SimpleImputer is converted for numbers, without add_indicator")
    if np.isnan(values.astype(np.float64)).any():
        raise TypeError("SimpleImputer has features without any value")
    features = operator.inputs[0].full_name
    is_missing = graph.add("IsNaN", features)
    output = operator.outputs[0].full_name
    graph.add("Where", is_missing, values.astype(np.float64), features, output=output)
