"""Nodes and constants of an ONNX graph, added by name."""

from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from opgd.core.types import AnyArray

TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64}
"""Element types of ONNX by the names of NumPy's."""
AXES_AS_INPUT = 18
"""Version of the operator set from which all reductions take their axes as an input."""


class Graph:
    """Part of a graph that computes in one floating-point type.

    Tensors are represented by their names, which are strings; arrays and numbers among the inputs
    of a node become constants.
    """

    def __init__(self, scope: Any, container: Any, dtype: str) -> None:
        self.scope, self.container, self.dtype = scope, container, np.dtype(dtype)

    def add(self, operator: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Add a node with one output, of a new name unless it is given; return the name."""
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        result: str = output or self.scope.get_unique_variable_name(operator.lower())
        self.container.add_node(operator, names, [result], **attributes)
        return result

    def split(self, tensor: str, sizes: list[int]) -> list[str]:
        """Split a tensor along its second axis into parts of these sizes."""
        names = [self.scope.get_unique_variable_name("part") for _ in sizes]
        self.container.add_node("Split", [tensor, self.constant(np.array(sizes))], names, axis=1)
        return names

    def constant(self, values: Any) -> str:
        """Add a constant: floating-point numbers in the type of the graph, integers or text."""
        name: str = self.scope.get_unique_variable_name("constant")
        array = np.asarray(values)
        if array.dtype.kind in "UO":
            content = [text.encode() for text in array.tolist()]
            self.container.add_initializer(name, TensorProto.STRING, array.shape, content)
            return name
        if array.dtype.kind != "b":
            array = self._convert(array)
        self.container.add_initializer(name, None, None, numpy_helper.from_array(array))
        return name

    def _convert(self, array: AnyArray) -> AnyArray:
        if array.dtype.kind in "iu":
            return array.astype(np.int64)
        with np.errstate(over="ignore"):
            converted = array.astype(self.dtype)
        if np.any(np.isinf(converted) & np.isfinite(array)):
            raise ValueError(
                "The model has numbers that float32 cannot represent; pass "
                "compute_dtype='float64', or change the units of the features."
            )
        return converted

    def cast(self, tensor: str, dtype: Any, output: str | None = None) -> str:
        """Convert a tensor to a type of NumPy."""
        return self.add("Cast", tensor, output=output, to=TYPES[np.dtype(dtype).name])

    def reduce(self, operator: str, tensor: str, *, keep: bool = False) -> str:
        """Reduce a tensor along its last axis; keep the axis with length one if `keep`."""
        since = 13 if operator == "ReduceSum" else AXES_AS_INPUT
        if self.container.target_opset >= since:
            return self.add(operator, tensor, np.array([-1]), keepdims=int(keep))
        return self.add(operator, tensor, axes=[-1], keepdims=int(keep))

    def log_sum_exp(self, tensor: str, *, keep: bool = False) -> str:
        """Compute log-sum-exp along the last axis; the largest term is subtracted first."""
        peaks = self.reduce("ReduceMax", tensor, keep=True)
        powers = self.add("Exp", self.add("Sub", tensor, peaks))
        sums = self.add("Log", self.reduce("ReduceSum", powers, keep=True))
        total = self.add("Add", sums, peaks)
        return total if keep else self.add("Squeeze", total, np.array([-1]))
