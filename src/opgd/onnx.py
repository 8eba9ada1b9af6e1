"""Conversion of fitted estimators to ONNX graphs."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from opgd._base.projection import ProjectionMixin
from opgd._utils.text import list_names
from opgd._utils.validation import check_choice
from opgd._utils.versions import get_version
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.baselines import (
    CommonPrincipalComponents,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from opgd.classifier import OPGDClassifier
from opgd.classifier_cv import OPGDClassifierCV
from opgd.core.scoring import FARTHEST, log_joint_at_means
from opgd.core.types import AnyArray, IntArray
from opgd.mixture import OPGDMixture
from opgd.semi_supervised import OPGDSemiSupervised

if TYPE_CHECKING:
    import onnx

__all__ = ["to_onnx"]

ESTIMATORS: tuple[type[Any], ...] = (
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDSemiSupervised,
    OPGDMixture,
    CommonPrincipalComponents,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
DTYPES = ["float32", "float64"]
OPSET, IR_VERSION = 18, 8
"""Versions of the operator set and of the format, of onnxruntime 1.14."""
LIMITS = {"float32": 1e14, "float64": FARTHEST}
"""Bounds of scores in standard deviations, so that sums of their squares are finite."""
LEAST_CONSTANT = -1e30
"""Log joint at the mean of a Gaussian without weight, in place of -inf."""
COARSEST = 1e-3
"""Spacing of float32 numbers in standard deviations above which there is a warning."""
NOISE = -1
"""Label of noise."""


def to_onnx(
    model: Any,
    *,
    dtype: str = "float32",
    compute_dtype: str = "float64",
    outputs: Any = None,
) -> "onnx.ModelProto":
    """Convert a fitted estimator to an ONNX graph.

    The graph computes predictions without Python, for example with onnxruntime. Its input is
    ``X``, of shape (n_samples, n_features), and its outputs are

    - ``label``, the result of `predict`: strings, or integers (also for boolean labels);
    - ``probabilities``, that of `predict_proba`, with temperature and background;
    - ``scores``, that of `transform`, if the estimator has it.

    The number of samples is free. Results for samples with missing values (NaN) are NaN, and
    their label is an empty string, or an integer below all others: the graph contains no
    conditional distributions.

    Parameters
    ----------
    model : object
        Fitted `OPGDClassifier`, `OPGDClassifierCV`, `OPGDSemiSupervised` or `OPGDMixture`, or a
        classifier of `opgd.baselines`. For a Pipeline, convert its last step; the graph then
        takes the features that the other steps return.
    dtype : {"float32", "float64"}, default="float32"
        Type of the numbers in input and outputs.
    compute_dtype : {"float64", "float32"}, default="float64"
        Type in which the graph computes. Use "float32" for runtimes without double precision;
        probabilities then have errors of about 1e-6, more if covariances are nearly singular.
    outputs : sequence of str, default=None
        Names of outputs, to leave others out. None means all that the estimator has.

    Returns
    -------
    graph : onnx.ModelProto
        ``onnx.save(graph, path)`` writes it. It uses version 18 of the operator set. Its metadata
        contain ``classes``, the labels in the order of the probabilities, and ``feature_names``,
        as JSON.

    Warns
    -----
    DataWarning
        If float32 is too coarse for a feature, because its mean is large compared with its
        standard deviation.

    Raises
    ------
    TypeError
        If the estimator cannot be converted, or its labels are neither integers nor strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = to_onnx(OPGDClassifier().fit(X, y))
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities', 'scores']
    """
    check_choice("dtype", dtype, DTYPES)
    check_choice("compute_dtype", compute_dtype, DTYPES)
    if (dtype, compute_dtype) == ("float64", "float32"):
        raise ValueError("compute_dtype='float32' requires dtype='float32', got 'float64'.")
    if type(model) not in ESTIMATORS:
        advice = f"supported are {', '.join(kind.__name__ for kind in ESTIMATORS)}"
        if isinstance(model, Pipeline):
            advice = "convert its last step, whose input are the features that the others return"
        raise TypeError(f"Cannot convert {type(model).__name__} to ONNX; {advice}.")
    check_is_fitted(model)
    has_scores, is_mixture = isinstance(model, ProjectionMixin), isinstance(model, OPGDMixture)
    present = ["label", "probabilities", *["scores"] * has_scores]
    names = present if outputs is None else [outputs] if isinstance(outputs, str) else [*outputs]
    if not names or not set(names) <= set(present):
        raise ValueError(
            f"outputs of {type(model).__name__} must be among {', '.join(present)}, got "
            f"{outputs!r}."
        )
    labels = _check_labels(np.arange(model.n_clusters_) if is_mixture else model.classes_)
    noise = _NoiseRule(model) if is_mixture and model._noise is not None else None
    projection, gaussians = model._projection, model._projection.gaussians
    center, components = projection.center, projection.components
    rows = components if noise is None else np.vstack([components, noise.matrix.T])
    used = np.flatnonzero(np.any(rows != 0, axis=0))
    if dtype == "float32":
        _warn_about_offsets(model, used)
    graph = _Graph(compute_dtype)

    # samples less the center; its rest matters where it is large compared with the differences
    X = graph.cast("X", compute_dtype)
    if len(used) < len(center):
        X = graph.add("Gather", X, used, axis=1)
    rounded = center[used].astype(compute_dtype).astype(np.float64)
    centered = graph.add("Sub", X, rounded)
    if np.any(center[used] != rounded):
        centered = graph.add("Sub", centered, center[used] - rounded)
    is_missing = graph.add("IsNaN", graph.reduce("ReduceSum", centered, keepdims=1))  # (n, 1)
    results = {}
    if has_scores:
        scores = graph.add("MatMul", centered, components[:, used].T)
        results["scores"] = graph.add("Add", scores, components @ center)

    # squared distances from every Gaussian: scores in units of the smallest standard deviations
    # are standardized for all Gaussians by one product, of a matrix with elements of at most 1
    n_gaussians, q = gaussians.means.shape
    factors = projection.form.factors(gaussians)
    if factors.ndim == 2:
        factors = factors[:, :, None] * np.eye(q)
    units, limit = np.abs(factors).max(axis=(0, 1)), LIMITS[compute_dtype]
    scores = graph.add("MatMul", centered, (components * units[:, None])[:, used].T)
    scores = graph.add("Clip", scores, -limit, limit)
    matrix = (factors / units).transpose(2, 0, 1).reshape(q, n_gaussians * q)
    offsets = np.einsum("cjl,cl->cj", factors, gaussians.means).ravel()
    standardized = graph.add("Gemm", scores, matrix, -offsets)
    standardized = graph.add("Reshape", standardized, np.array([0, n_gaussians, q]))
    squared = graph.reduce("ReduceSumSquare", standardized)  # (n, C)

    # log joints of the classes, up to a constant of each sample, and probabilities
    constants = log_joint_at_means(gaussians, projection.form)
    constants = np.maximum(constants - constants.max(), LEAST_CONSTANT)
    log_joint = graph.add("Add", graph.add("Mul", squared, -0.5), constants)
    counts = np.bincount(projection.gaussian_classes)
    if len(counts) < n_gaussians:
        parts = graph.split(log_joint, counts)
        sums = [graph.reduce("ReduceLogSumExp", part, keepdims=1) for part in parts]
        log_joint = graph.add("Concat", *sums, axis=1)
    log_joint = graph.add("Div", log_joint, projection.temperature)
    probabilities, share = graph.add("Softmax", log_joint, axis=1), projection.background
    if share > 0:
        probabilities = graph.add("Mul", probabilities, 1.0 - share)
        probabilities = graph.add("Add", probabilities, share * model.priors_)
    results["probabilities"] = probabilities

    # labels, from log joints if possible: they differ where probabilities round to the same number
    is_text = labels.dtype.kind == "O"
    if "label" in names:
        best = probabilities if share > 0 else log_joint
        codes = graph.add("ArgMax", best, axis=1, keepdims=0)
        if noise is not None:
            is_noise = noise.add_to(graph, centered, squared, used)
            codes = graph.add("Where", is_noise, len(labels), codes)
        codes = graph.add("Where", graph.reduce("Squeeze", is_missing), len(labels) + 1, codes)
        last = ["", ""] if is_text else [NOISE, min(labels.min(), NOISE if noise else 0) - 1]
        graph.add("Gather", np.array([*labels, *last], dtype=labels.dtype), codes, output="label")
    for name in sorted({*names} - {"label"}):
        graph.cast(graph.add("Where", is_missing, np.nan, results[name]), dtype, output=name)

    shapes: dict[str, list[Any]] = {
        "X": ["n_samples", len(center)],
        "label": ["n_samples"],
        "probabilities": ["n_samples", len(labels)],
        "scores": ["n_samples", len(components)],
    }
    kinds = dict.fromkeys(shapes, dtype) | {"label": "str" if is_text else "int64"}
    metadata = {
        "opgd": get_version(),
        "estimator": type(model).__name__,
        "classes": json.dumps(labels.tolist()),
        "feature_names": json.dumps(
            [str(name) for name in getattr(model, "feature_names_in_", ())]
        ),
    }
    return graph.finish([name for name in present if name in names], kinds, shapes, metadata)


class _NoiseRule:
    """A sample is noise if its density under t distributions in all features is low.

    With d^2 the squared distance from a Gaussian within the projection and r^2 the squared length
    of (x - center) @ matrix + shift, the log joint of its t distribution is

        constant - factor log(1 + (d^2 + r^2) / scale)
    """

    def __init__(self, mixture: OPGDMixture) -> None:
        noise, density = mixture._noise, mixture._density()
        assert noise is not None
        rank, tails, at_means = density.coordinates.rank, noise.tails, density.log_joint_at_means
        self.matrix = density.coordinates.matrix @ linalg.null_space(density.span)  # (p, R - q)
        self.shift = (mixture._projection.center - density.coordinates.center) @ self.matrix
        self.constants = tails.log_joint(np.zeros((1, len(at_means))), at_means, rank)[0]
        self.factors, self.scales = 0.5 * (tails.degrees + rank), tails.degrees * tails.scales
        self.threshold = -np.inf if noise.share == 0 else np.inf
        if 0 < noise.share < 1:
            self.threshold = float(noise.compare(np.zeros(1))[0])

    def add_to(self, graph: "_Graph", centered: str, squared: str, used: IntArray) -> str:
        """Add whether each sample is noise, (n,)."""
        if self.matrix.shape[1]:
            rest = graph.add("Add", graph.add("MatMul", centered, self.matrix[used]), self.shift)
            limit = LIMITS[graph.dtype.name]
            rest = graph.add("Clip", rest, -limit, limit)
            squared = graph.add("Add", squared, graph.reduce("ReduceSumSquare", rest, keepdims=1))
        stretched = graph.add("Log", graph.add("Add", graph.add("Div", squared, self.scales), 1.0))
        joint = graph.add("Sub", self.constants, graph.add("Mul", stretched, self.factors))
        return graph.add("Less", graph.reduce("ReduceLogSumExp", joint), self.threshold)


class _Graph:
    """Nodes and constants of a graph that computes in one floating-point type.

    Tensors are represented by their names; arrays and numbers among the inputs of a node become
    constants.
    """

    def __init__(self, dtype: str) -> None:
        try:
            import onnx
        except ImportError:
            raise ImportError(
                "Conversion to ONNX needs onnx: the extra 'onnx' is missing; see Installation."
            ) from None
        self.onnx, self.dtype = onnx, np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: Any, output: str = "", **attributes: Any) -> str:
        """Add a node with one output; return its name."""
        output = output or f"{operator.lower()}_{len(self.nodes)}"
        names = [each if isinstance(each, str) else self._add_constant(each) for each in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def cast(self, tensor: str, dtype: str, output: str = "") -> str:
        return self.add("Cast", tensor, output=output, to=self._get_type(dtype))

    def reduce(self, operator: str, tensor: str, **attributes: Any) -> str:
        """Reduce the last axis, which remains with length one if `keepdims` is 1."""
        if operator.startswith("Reduce"):
            attributes = {"keepdims": 0} | attributes
        return self.add(operator, tensor, np.array([-1]), **attributes)

    def split(self, tensor: str, sizes: IntArray) -> list[str]:
        """Split the columns into parts of these sizes."""
        outputs = [f"part_{k}" for k in range(len(sizes))]
        inputs = [tensor, self._add_constant(sizes)]
        self.nodes.append(self.onnx.helper.make_node("Split", inputs, outputs, axis=1))
        return outputs

    def finish(
        self,
        outputs: list[str],
        kinds: dict[str, str],
        shapes: dict[str, list[Any]],
        metadata: dict[str, str],
    ) -> "onnx.ModelProto":
        """Return the graph with input X and these outputs."""
        helper = self.onnx.helper
        declared = {
            name: helper.make_tensor_value_info(name, self._get_type(kinds[name]), shapes[name])
            for name in ("X", *outputs)
        }
        entry = declared.pop("X")
        graph = helper.make_graph(self.nodes, "opgd", [entry], [*declared.values()], self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        converted: onnx.ModelProto = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="opgd"
        )
        helper.set_model_props(converted, metadata)
        self.onnx.checker.check_model(converted)
        return converted

    def _get_type(self, dtype: str) -> int:
        kind = np.dtype(object if dtype == "str" else dtype)
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(kind))

    def _add_constant(self, values: Any) -> str:
        array = np.asarray(values)
        if array.dtype.kind in "iu":
            array = array.astype(np.int64)
        elif array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                converted = array.astype(self.dtype)
            if np.any(np.isinf(converted) & np.isfinite(array)):
                raise ValueError(
                    "The model has numbers that float32 cannot represent; pass "
                    "compute_dtype='float64', or change the units of the features."
                )
            array = converted
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name


def _check_labels(labels: AnyArray) -> AnyArray:
    """Return labels as int64 or as an array of str; raise TypeError if they are neither."""
    if labels.dtype.kind in "biuf":
        with np.errstate(invalid="ignore"):  # huge numbers
            numbers = labels.astype(np.int64)
        if np.all(numbers == labels):
            return numbers
    for label in labels.tolist():
        if not isinstance(label, str):
            raise TypeError(
                f"Class labels must be integers or strings to be converted, got {label!r}."
            )
    return np.array(labels.tolist(), dtype=object)


def _warn_about_offsets(estimator: Any, used: IntArray) -> None:
    """Warn if the spacing of float32 numbers near the center is large for a feature."""
    coordinates = getattr(estimator, "_coordinates", None)
    if coordinates is None:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        spacing = np.spacing(np.abs(coordinates.center[used]).astype(np.float32))
        is_fine = spacing.astype(np.float64) <= COARSEST * coordinates.scale[used]
    if not is_fine.all():
        names = estimator._column_names()
        listed = list_names([names[j] for j in used[~is_fine]])
        warn_caller(
            f"float32 is too coarse for {listed}: the mean is large compared with the standard "
            "deviation, or the unit is extreme. Pass dtype='float64', or shift or rescale the "
            "feature and fit again.",
            DataWarning,
        )
