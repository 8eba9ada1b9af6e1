"""The graph of class probabilities, from the Gaussians of a fitted projection."""

import numpy as np

from opgd._onnx.graph import Graph
from opgd._onnx.prediction import NoiseRule, Prediction
from opgd.core.fitted import FittedProjection
from opgd.core.scoring import FARTHEST, log_joint_at_means
from opgd.core.standardization import Standardization
from opgd.core.types import IntArray

LIMITS = {"float32": 1e14, "float64": FARTHEST}
"""Bounds of scores in standard deviations; sums of their squares must be finite."""
LEAST_CONSTANT = -1e30
"""Log joint at the mean of a Gaussian without weight."""


def add_centered(graph: Graph, features: str, prediction: Prediction) -> str:
    """Add the samples, without unused features, less the center of the model, (n, p_used)."""
    used, center = prediction.used, prediction.center
    if len(used) < len(center):
        features = graph.add("Gather", features, used, axis=1)
        center = center[used]
    # the rest of the center matters where it is large compared with the differences
    first = center.astype(graph.dtype).astype(np.float64)
    centered = graph.add("Sub", features, first)
    return graph.add("Sub", centered, center - first) if np.any(center != first) else centered


def add_squared_distances(
    graph: Graph, centered: str, projection: FittedProjection, used: IntArray
) -> str:
    """Add squared Mahalanobis distances to every Gaussian in the projection, (n, C)."""
    standardization, limit = Standardization.make(projection), LIMITS[graph.dtype.name]
    n_gaussians, q = projection.gaussians.means.shape
    scores = graph.add("MatMul", centered, standardization.components[:, used].T)
    scores = graph.add("Clip", scores, -limit, limit)
    # no element of the matrix exceeds 1, so that the squares are finite as well
    standardized = graph.add("Gemm", scores, standardization.matrix, -standardization.offsets)
    by_gaussian = graph.add("Reshape", standardized, np.array([0, n_gaussians, q]))
    return graph.reduce("ReduceSumSquare", by_gaussian)


def add_class_log_joint(graph: Graph, distances: list[str], prediction: Prediction) -> str:
    """Add the log joints of the classes, divided by the temperature, (n, K).

    They lack a constant, which all classes have in common.
    """
    total = ""
    for squared, projection in zip(distances, prediction.projections, strict=True):
        constants = log_joint_at_means(projection.gaussians, projection.form)
        constants = np.maximum(constants - constants.max(), LEAST_CONSTANT)
        joint = graph.add("Add", graph.add("Mul", squared, -0.5), constants)
        counts = np.bincount(projection.gaussian_classes)
        if len(counts) < len(constants):
            parts = graph.split(joint, counts.tolist())
            joint = graph.add(
                "Concat", *[graph.log_sum_exp(part, keep=True) for part in parts], axis=1
            )
        total = graph.add("Add", total, joint) if total else joint
    temperature = prediction.projections[0].temperature
    return total if temperature == 1 else graph.add("Div", total, temperature)


def add_probabilities(graph: Graph, log_joint: str, prediction: Prediction) -> str:
    """Add posterior probabilities, with the share of the background, (n, K)."""
    peaks = graph.reduce("ReduceMax", log_joint, keep=True)
    powers = graph.add("Exp", graph.add("Sub", log_joint, peaks))
    posteriors = graph.add("Div", powers, graph.reduce("ReduceSum", powers, keep=True))
    share = prediction.projections[0].background
    if share == 0:
        return posteriors
    mixed = graph.add("Mul", posteriors, 1.0 - share)
    return graph.add("Add", mixed, share * prediction.priors)


def add_is_noise(graph: Graph, centered: str, squared: str, rule: NoiseRule, used: IntArray) -> str:
    """Add whether each sample is more probably noise, (n,)."""
    distances = squared
    if rule.matrix.shape[1]:
        rest = graph.add("Add", graph.add("MatMul", centered, rule.matrix[used]), rule.shift)
        limit = LIMITS[graph.dtype.name]
        rest = graph.reduce("ReduceSumSquare", graph.add("Clip", rest, -limit, limit), keep=True)
        distances = graph.add("Add", squared, rest)
    stretched = graph.add("Log", graph.add("Add", graph.add("Div", distances, rule.scales), 1.0))
    joint = graph.add("Sub", rule.constants, graph.add("Mul", stretched, rule.factors))
    return graph.add("Less", graph.log_sum_exp(joint), rule.log_threshold)
