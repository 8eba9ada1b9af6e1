"""The graph of all outputs of an estimator."""

import numpy as np

from opgd._onnx.gaussians import (
    add_centered,
    add_class_log_joint,
    add_is_noise,
    add_probabilities,
    add_squared_distances,
)
from opgd._onnx.graph import Graph
from opgd._onnx.prediction import Prediction
from opgd._onnx.typicality import add_typicality


def add_outputs(
    graph: Graph, features: str, prediction: Prediction, outputs: dict[str, tuple[str, str]]
) -> None:
    """Add the requested outputs, given by the name of the tensor and its type.

    Samples with missing values have nan as results, and a label of their own.
    """
    centered, used = add_centered(graph, features, prediction), prediction.used
    # the sum is nan if a value is
    is_missing = graph.add("IsNaN", graph.reduce("ReduceSum", centered))
    results = {}
    if "scores" in outputs:
        assert prediction.components is not None
        shift = prediction.components @ prediction.center
        scores = graph.add("MatMul", centered, prediction.components[:, used].T)
        results["scores"] = graph.add("Add", scores, shift)
    if set(outputs) - {"scores"}:
        distances = [
            add_squared_distances(graph, centered, projection, used)
            for projection in prediction.projections
        ]
    if "typicality" in outputs:
        nearest = graph.reduce("ReduceMin", distances[0])
        n_components = prediction.projections[0].n_components
        results["typicality"] = add_typicality(graph, nearest, n_components, prediction.held_out)
    if set(outputs) & {"label", "probabilities"}:
        log_joint = add_class_log_joint(graph, distances, prediction)
        results["probabilities"] = add_probabilities(graph, log_joint, prediction)
    for name, result in results.items():
        if name in outputs:
            is_row = name != "typicality"
            mask = graph.add("Unsqueeze", is_missing, np.array([1])) if is_row else is_missing
            graph.cast(graph.add("Where", mask, np.nan, result), outputs[name][1], outputs[name][0])
    if "label" in outputs:
        # log joints differ where probabilities round to the same number
        has_background = prediction.projections[0].background > 0
        best = results["probabilities"] if has_background else log_joint
        codes = graph.add("ArgMax", best, axis=1, keepdims=0)
        n_labels = len(prediction.labels)
        if prediction.noise is not None:
            is_noise = add_is_noise(graph, centered, distances[0], prediction.noise, used)
            codes = graph.add("Where", is_noise, np.int64(n_labels + 1), codes)
        codes = graph.add("Where", is_missing, np.int64(n_labels), codes)
        graph.add("Gather", prediction.label_table, codes, output=outputs["label"][0])
