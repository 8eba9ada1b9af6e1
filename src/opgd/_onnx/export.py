"""to_onnx, which converts fitted estimators and pipelines to ONNX graphs."""

import importlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from opgd._utils.text import list_names
from opgd._utils.validation import check_choice, check_integer
from opgd._utils.versions import get_version
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core.types import IntArray

if TYPE_CHECKING:
    import onnx

DTYPES = ["float32", "float64"]
OPSETS = 13, 18, 22
"""Versions of the operator set: smallest, default (of onnxruntime 1.14) and largest."""
COARSEST = 1e-3
"""Spacing of float32 numbers in standard deviations above which there is a warning."""


def to_onnx(
    model: Any,
    *,
    dtype: str = "float32",
    compute_dtype: str = "float64",
    outputs: Any = None,
    target_opset: int = OPSETS[1],
) -> "onnx.ModelProto":
    """Convert a fitted estimator, or a Pipeline that ends in one, to an ONNX graph.

    The graph computes predictions without Python, for example with onnxruntime. Its outputs are

    - ``label``, the result of `predict`: strings, or integers (also for boolean labels);
    - ``probabilities``, that of `predict_proba`, with temperature and background;
    - ``scores``, that of `transform`;
    - ``typicality``, that of `typicality`.

    The number of samples is free. Results for samples with missing values (NaN) are NaN, and
    their label is an empty string, or an integer below all others: the graph contains no
    conditional distributions.

    The input is ``X``, of shape (n_samples, n_features). If the first step of a Pipeline is a
    `TableEncoder`, each column that it uses is an input of shape (n_samples, 1): numbers, and
    categories as strings such as ``"gold"``, ``"True"`` or ``"3"``, without surrounding spaces.

    Parameters
    ----------
    model : object
        Fitted `OPGDClassifier`, `OPGDClassifierCV`, `OPGDSemiSupervised` or `OPGDMixture`; a
        classifier of `opgd.baselines` whose classes are mixtures of Gaussians; or a Pipeline that
        ends in one of them. Other steps can be `TableEncoder`, these estimators, and
        transformers of scikit-learn that skl2onnx converts.
    dtype : {"float32", "float64"}, default="float32"
        Type of the numbers in inputs and outputs.
    compute_dtype : {"float64", "float32"}, default="float64"
        Type in which the graph computes. Use "float32" for runtimes without double precision;
        probabilities then have errors of about 1e-6, more if covariances are nearly singular.
    outputs : sequence of str, default=None
        Names of outputs, to leave others out. None means all that the estimator has.
    target_opset : int, default=18
        Version of the ONNX operator set, at least 13.

    Returns
    -------
    graph : onnx.ModelProto
        ``onnx.save(graph, path)`` writes it. Its metadata contain ``classes``, the labels in the
        order of the probabilities, and ``inputs``, the names of the columns by input, as JSON.

    Warns
    -----
    DataWarning
        If float32 is too coarse for a feature, because its mean is large compared with its
        standard deviation.

    Raises
    ------
    TypeError
        If the estimator or a step of the Pipeline cannot be converted.
    ValueError
        If a column of the table encoder has dates, numbers as text (such as percentages), or
        missing values that no SimpleImputer fills afterwards.

    Notes
    -----
    ``import opgd.onnx`` registers the converters with skl2onnx, so that ``convert_sklearn``
    accepts these estimators as well.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = to_onnx(OPGDClassifier().fit(X, y))
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities', 'scores', 'typicality']
    """
    check_choice("dtype", dtype, DTYPES)
    check_choice("compute_dtype", compute_dtype, DTYPES)
    if (dtype, compute_dtype) == ("float64", "float32"):
        raise ValueError("compute_dtype='float32' requires dtype='float32', got 'float64'.")
    check_integer("target_opset", target_opset, OPSETS[0], OPSETS[-1])
    pipelines = import_part("pipelines")
    steps, final = pipelines.split_steps(model)
    prediction = import_part("prediction").describe(final)
    names = _check_outputs(outputs, prediction.outputs, final)
    if not steps and dtype == "float32":
        _warn_about_offsets(final, prediction.used)
    inputs = pipelines.list_inputs(steps[0][1] if steps else final, names)
    conversion = pipelines.Conversion(steps, final, inputs, names, dtype, compute_dtype)
    columns = {name: each.column for name, each in inputs.items() if each.column is not None}
    feature_names = [str(name) for name in getattr(final, "feature_names_in_", ())]
    metadata = {
        "opgd": get_version(),
        "estimator": type(final).__name__,
        "classes": json.dumps(prediction.labels.tolist()),
        "feature_names": json.dumps(feature_names),
        "inputs": json.dumps(columns),
    }
    graph: onnx.ModelProto = conversion.run(int(target_opset), metadata)
    return graph


def import_part(name: str) -> Any:
    """Return a module of `opgd._onnx`; raise an ImportError that names the extra to install."""
    try:
        return importlib.import_module(f"opgd._onnx.{name}")
    except ImportError as error:
        package = (error.name or "").split(".")[0]
        if package not in ("onnx", "skl2onnx"):
            raise
        raise ImportError(
            f'Conversion to ONNX needs {package}; install it with: pip install "opgd[onnx]"',
            name=package,
        ) from None


def _check_outputs(outputs: Any, present: list[str], final: Any) -> tuple[str, ...]:
    if outputs is None:
        return tuple(present)
    names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    for name in names:
        if name not in present:
            raise ValueError(
                f"outputs must be among {', '.join(present)} for {type(final).__name__}; got "
                f"{name!r}."
            )
    if not names or len(set(names)) < len(names):
        raise ValueError(f"outputs must be one or more distinct names, got {outputs!r}.")
    return tuple(name for name in present if name in names)


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
