"""to_onnx, which converts fitted estimators and pipelines to ONNX graphs."""

import json
import re
from typing import Any

import numpy as np
import onnx
from skl2onnx import convert_sklearn, get_latest_tested_opset_version
from skl2onnx.common.data_types import StringTensorType
from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator
from skl2onnx.sklapi import CastTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from opgd._tables.columns import CategoryColumn
from opgd._utils.text import list_names
from opgd._utils.validation import check_choice, check_integer
from opgd._utils.versions import get_version
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.onnx._encoder import check_encoder, has_one_input
from opgd.onnx._prediction import ESTIMATORS, OUTPUTS, describe
from opgd.onnx._registration import FLOATS, declare_outputs
from opgd.table_encoder import TableEncoder

DTYPES = ("float32", "float64")
OPSETS = 13, 18
"""Smallest version of the operator set, and the default, which onnxruntime 1.14 supports."""
WORDS = ("passthrough", None)
"""Steps of pipelines that do nothing."""
COARSEST = 1e-3
"""Spacing of float32 numbers in standard deviations above which there is a warning."""


def to_onnx(
    model: Any,
    *,
    dtype: str = "float32",
    compute_dtype: str = "float64",
    outputs: Any = None,
    target_opset: int = OPSETS[1],
) -> onnx.ModelProto:
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
        If a column of the table encoder has dates, numbers as text (such as percentages) or
        missing values.

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
    check_choice("dtype", dtype, list(DTYPES))
    check_choice("compute_dtype", compute_dtype, list(DTYPES))
    if dtype > compute_dtype:
        raise ValueError("compute_dtype='float32' requires dtype='float32', got 'float64'.")
    latest = get_latest_tested_opset_version()
    check_integer("target_opset", target_opset, OPSETS[0], latest)
    steps, final = _split_steps(model)
    check_is_fitted(final)
    prediction = describe(final)
    names = _check_outputs(outputs, prediction.outputs, final)
    inputs = _list_inputs(steps[0][1] if steps else final, dtype, names)
    if not steps and dtype == "float32":
        _warn_about_offsets(final)
    graph = _convert(steps, final, inputs, names, dtype, compute_dtype, int(target_opset))
    columns = {name: column for name, (column, _) in inputs.items() if column is not None}
    metadata = {
        "opgd": get_version(),
        "estimator": type(final).__name__,
        "classes": json.dumps(prediction.labels.tolist()),
        "inputs": json.dumps(columns),
        "feature_names": json.dumps([str(n) for n in getattr(final, "feature_names_in_", ())]),
    }
    onnx.helper.set_model_props(graph, metadata)
    onnx.checker.check_model(graph)
    return graph


def list_supported() -> str:
    """Return the names of the estimators that can be converted."""
    names = ", ".join(kind.__name__ for kind in ESTIMATORS)
    return f"{names}, and a Pipeline that ends in one of them"


def _split_steps(model: Any) -> tuple[list[tuple[str, Any]], Any]:
    """Return the steps that transform samples, and the final estimator."""
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
    for number, (name, step) in enumerate(steps):
        if type(step) in (TableEncoder, *ESTIMATORS):
            check_is_fitted(step)
        if isinstance(step, TableEncoder):
            if number:
                raise TypeError(
                    f"Step {name!r}, a TableEncoder, must be the first of the Pipeline."
                )
            check_encoder(step)
        elif type(step) in ESTIMATORS and not hasattr(step, "transform"):
            raise TypeError(f"Step {name!r} ({type(step).__name__}) has no transform.")
    return steps, final


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
    return tuple(name for name in OUTPUTS if name in names)


def _list_inputs(
    first: Any, dtype: str, reserved: tuple[str, ...]
) -> dict[str, tuple[str | None, Any]]:
    """Return the name of the column and the type of each input of the graph, by its name."""
    if not isinstance(first, TableEncoder) or has_one_input(first):
        return {"X": (None, FLOATS[dtype]([None, int(first.n_features_in_)]))}
    inputs: dict[str, tuple[str | None, Any]] = {}
    for column in first.columns_:
        kind = StringTensorType if isinstance(column, CategoryColumn) else FLOATS[dtype]
        name = _make_identifier(column.name, {*reserved, *inputs})
        inputs[name] = column.name, kind([None, 1])
    return inputs


def _make_identifier(text: str, taken: set[str]) -> str:
    """Return a name of ASCII letters, digits and underscores, as ONNX requires."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not name or name[0].isdigit():
        name = f"_{name}"
    number, candidate = 2, name
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def _convert(
    steps: list[tuple[str, Any]],
    final: Any,
    inputs: dict[str, tuple[str | None, Any]],
    names: tuple[str, ...],
    dtype: str,
    compute_dtype: str,
    target_opset: int,
) -> onnx.ModelProto:
    def parse(scope: Any, step: Any, variables: list[Any], custom_parsers: Any = None) -> Any:  # noqa: ARG001
        if isinstance(step, TableEncoder):
            return declare_outputs(scope, step, variables, ("features",), compute_dtype)
        if step is not final:
            return declare_outputs(scope, step, variables, ("scores",), compute_dtype)
        return declare_outputs(scope, step, variables, names, dtype)

    kinds = (TableEncoder, *ESTIMATORS)
    if dtype != compute_dtype and steps and not isinstance(steps[0][1], TableEncoder):
        steps = [("cast to float64", CastTransformer(dtype=np.float64)), *steps]
    double = compute_dtype == "float64"
    try:
        return convert_sklearn(
            Pipeline([*steps, ("model", final)]) if steps else final,
            name="opgd",
            initial_types=[(name, kind) for name, (_, kind) in inputs.items()],
            target_opset={"": target_opset, "ai.onnx.ml": 2},
            custom_parsers=dict.fromkeys(kinds, parse),
            options={
                id(step): {"double": double}
                for _, step in [*steps, ("", final)]
                if type(step) in ESTIMATORS
            },
        )
    except (MissingConverter, MissingShapeCalculator, NotImplementedError) as error:
        known = ", ".join(f"{name!r} ({type(step).__name__})" for name, step in steps)
        reason = str(error).split(".")[0]
        raise TypeError(f"skl2onnx cannot convert the steps {known}: {reason}.") from None


def _warn_about_offsets(estimator: Any) -> None:
    """Warn if the spacing of float32 numbers near the center is large for a feature."""
    coordinates = getattr(estimator, "_coordinates", None)
    if coordinates is None:
        return
    spacing = np.spacing(np.abs(coordinates.center).astype(np.float32)).astype(np.float64)
    coarse = np.flatnonzero(spacing > COARSEST * coordinates.scale)
    if len(coarse):
        names = estimator._column_names()
        listed = list_names([names[j] for j in coarse])
        warn_caller(
            f"float32 is too coarse for {listed}: the mean is large compared with the standard "
            "deviation. Pass dtype='float64', or subtract a constant and fit again.",
            DataWarning,
        )
