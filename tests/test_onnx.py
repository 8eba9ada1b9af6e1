"""Graphs of fitted estimators give their predictions, with onnxruntime."""

import functools
import importlib
import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import opgd
from opgd import baselines

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType  # noqa: E402

X, CODES = load_wine(return_X_y=True)
NAMES = np.array(["barolo", "grignolino", "barbera"])[CODES]
PARTLY = np.where(np.arange(len(X)) % 3 == 0, -1, CODES)
BOUNDS = {"float32": 1e-6, "float64": 1e-10}
FITS = {
    "classifier": lambda: opgd.OPGDClassifier().fit(X, NAMES),
    "subclasses": lambda: opgd.OPGDClassifier(
        4, n_subclasses={0: 1, 1: 3, 2: 2}, covariance_type="full", sparsity=6
    ).fit(X, CODES),
    "conformalized": lambda: (
        opgd.OPGDClassifier(3).fit(X[::2], NAMES[::2]).conformalize(1.01 * X, NAMES)
    ),
    "selected": lambda: opgd.OPGDClassifierCV(
        (1, 3), shrinkage=0.1, ridge=0.1, n_subclasses=1, covariance_type="diag", cv=3
    ).fit(X, NAMES),
    "semi-supervised": lambda: opgd.OPGDSemiSupervised().fit(X, PARTLY),
    "mixture": lambda: opgd.OPGDMixture(3, random_state=0).fit(X),
    "merged": lambda: opgd.OPGDMixture(4, merge=3, init="kmeans", random_state=0).fit(X[:, :5]),
    "noise": lambda: opgd.OPGDMixture(3, noise=0.2, init="kmeans", random_state=0).fit(X),
    "LDA": lambda: baselines.ReducedRankLDA().fit(X, CODES - 1),
    "RDA": lambda: baselines.RegularizedDiscriminantAnalysis(0.5, 0.1).fit(X, CODES),
    "MDA": lambda: baselines.MixtureDiscriminantAnalysis(2).fit(X, CODES),
    "CPC": lambda: baselines.CommonPrincipalComponents(n_init=1).fit(X, CODES),
    "SAVE": lambda: baselines.SlicedAverageVariance(3).fit(X, CODES == 1),
    "alternating": lambda: baselines.AlternatingComponents(max_iter=0).fit(X, CODES),
    "informative": lambda: baselines.InformativeComponents(1).fit(X, CODES),
    "kernels": lambda: baselines.InformativeComponents(1, centers="samples", variance=0.3).fit(
        X, CODES
    ),
    "pursuit": lambda: baselines.LikelihoodRatioPursuit(2, max_iter=0).fit(X, CODES),
    "mixture pursuit": lambda: baselines.GaussianMixturePursuit(1, max_iter=0).fit(X, CODES),
}
METHODS = {
    "label": "predict",
    "probabilities": "predict_proba",
    "scores": "transform",
    "typicality": "typicality",
}


@functools.cache
def fitted(name):
    return FITS[name]()


def load(graph):
    data = graph.SerializeToString()
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


def run(graph, inputs):
    """Return the outputs of a graph, loaded or not, by name."""
    session = graph if hasattr(graph, "run") else load(graph)
    if not isinstance(inputs, dict):
        inputs = {session.get_inputs()[0].name: inputs}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def assert_same(results, model, samples, bound):
    assert list(results) == [name for name, method in METHODS.items() if hasattr(model, method)]
    for name, result in results.items():
        expected = getattr(model, METHODS[name])(samples)
        if name == "label":
            np.testing.assert_array_equal(result, expected)
        else:
            scale = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(result, expected, rtol=0, atol=bound * scale)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("name", FITS)
def test_outputs_are_those_of_the_estimator(name, dtype):
    model = fitted(name)
    samples = X[:, : model.n_features_in_].astype(dtype)
    far = samples.mean(axis=0) + 3 * (samples - samples.mean(axis=0))
    graph = load(opgd.to_onnx(model, dtype=dtype))
    for rows in (samples, far, samples[:1]):
        assert_same(run(graph, rows), model, rows.astype(np.float64), BOUNDS[dtype])
    is_text = isinstance(model.predict(samples[:1])[0], str)
    assert run(graph, samples)["label"].dtype.kind == ("O" if is_text else "i")


def test_every_supported_estimator_is_tested():
    from opgd._onnx.prediction import ESTIMATORS

    assert {type(fitted(name)) for name in FITS} == set(ESTIMATORS)


@pytest.mark.parametrize("name", ["classifier", "selected", "noise", "RDA"])
def test_graphs_without_double_precision_are_nearly_as_accurate(name):
    model, samples = fitted(name), X.astype(np.float32)
    graph = opgd.to_onnx(model, compute_dtype="float32")
    kinds = {tensor.data_type for tensor in graph.graph.initializer}
    assert 11 not in kinds  # TensorProto.DOUBLE
    assert_same(run(graph, samples), model, samples.astype(np.float64), 2e-6)


@pytest.mark.parametrize("n_components", [1, 2, 3, 4, 13])
def test_small_typicalities_have_small_relative_errors(n_components):
    model = opgd.OPGDClassifier(n_components, max_iter=0, init="lda", shrinkage=0.5).fit(X, CODES)
    samples = X.mean(axis=0) + np.linspace(0, 12, 60)[:, None] * (X[:60] - X.mean(axis=0))
    results = run(opgd.to_onnx(model, dtype="float64", outputs="typicality"), samples)
    expected = model.typicality(samples)
    assert expected.min() < 1e-30
    positive = expected > 1e-290
    np.testing.assert_allclose(results["typicality"][positive], expected[positive], rtol=1e-9)


def test_samples_with_missing_values_have_no_label():
    samples = X[:3].astype(np.float32)
    samples[1, 2] = np.nan
    for name, unknown in [("classifier", ""), ("LDA", -2), ("noise", -2), ("mixture", -1)]:
        results = run(opgd.to_onnx(fitted(name)), samples)
        labels = fitted(name).predict(samples[::2])
        assert results.pop("label").tolist() == [labels[0], unknown, labels[1]]
        for values in results.values():
            assert np.isnan(values[1]).all()
            assert np.isfinite(values[::2]).all()
    unused = X[:3].astype(np.float32)
    unused[:, ~fitted("subclasses").support_] = np.nan
    assert np.isfinite(run(opgd.to_onnx(fitted("subclasses")), unused)["probabilities"]).all()


def test_large_offsets_keep_their_digits():
    shifted = (X + 1e5 * X.std(axis=0)).astype(np.float32)
    model = opgd.OPGDClassifier(2).fit(shifted, CODES)
    with pytest.warns(opgd.DataWarning, match=r"float32 is too coarse for column 0.*dtype"):
        graph = opgd.to_onnx(model)
    assert_same(run(graph, shifted), model, shifted.astype(np.float64), 1e-6)
    constant = np.column_stack([X, np.full(len(X), 1e9)])
    with pytest.warns(opgd.DataWarning, match="constant"):
        model = opgd.OPGDClassifier(2).fit(constant, CODES)
    opgd.to_onnx(model)  # without a warning


def test_huge_values_have_finite_results():
    samples = np.array([np.full(13, 1e38), np.full(13, -1e38)], dtype=np.float32)
    for compute_dtype in ("float32", "float64"):
        graph = opgd.to_onnx(
            fitted("classifier"), compute_dtype=compute_dtype, outputs=["probabilities"]
        )
        np.testing.assert_allclose(run(graph, samples)["probabilities"].sum(axis=1), 1, rtol=1e-6)


# pipelines


@pytest.mark.parametrize("dtype", BOUNDS)
def test_pipelines_are_converted_with_their_steps(dtype):
    pipeline = make_pipeline(
        "passthrough", StandardScaler(), opgd.OPGDClassifier(4), opgd.OPGDClassifier(2)
    )
    pipeline.fit(X, NAMES)
    samples = X.astype(dtype)
    results = run(opgd.to_onnx(pipeline, dtype=dtype), samples)
    assert_same(
        results | {"typicality": results["typicality"]},
        _LikeFinal(pipeline),
        samples.astype(np.float64),
        BOUNDS[dtype],
    )


class _LikeFinal:
    """Methods of the final estimator of a pipeline, for the inputs of the pipeline."""

    def __init__(self, pipeline):
        self.pipeline = pipeline

    def __getattr__(self, name):
        if not hasattr(self.pipeline[-1], name):
            raise AttributeError(name)
        return lambda samples: getattr(self.pipeline[-1], name)(
            self.pipeline[:-1].transform(samples)
        )


def make_table(rng, n=120):
    """Return a table with numbers and categories, and labels that depend on both."""
    y = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "label": rng.normal(size=n) + y,  # the name of an output
            "plan (€)": np.where(rng.random(n) < 0.8, np.array(["basic", "gold"])[y], "silver"),
            "paperless": rng.random(n) < 0.5,
            "paper-less": rng.integers(1, 4, n),
            "city": [f"c{k}" for k in np.minimum(rng.geometric(0.35, n), 9)],
        }
    ), np.array(["no", "yes"])[y]


def to_inputs(graph, table, dtype):
    """Return the columns of a table as inputs of a graph, by the names in its metadata."""
    metadata = {
        entry.key: json.loads(entry.value)
        for entry in graph.metadata_props
        if entry.key == "inputs"
    }
    kinds = {entry.name: entry.type.tensor_type.elem_type for entry in graph.graph.input}
    columns = {name: table[[column]] for name, column in metadata["inputs"].items()}
    return {
        name: column.astype(str).to_numpy(object, copy=True)
        if kinds[name] == 8
        else column.to_numpy(dtype)
        for name, column in columns.items()
    }


@pytest.mark.parametrize("dtype", BOUNDS)
def test_tables_with_categories_are_encoded(dtype, rng):
    table, y = make_table(rng)
    encoder = opgd.TableEncoder({"paper-less": "category"})
    classifier = opgd.OPGDClassifier(1, ridge=0.1)
    pipeline = make_pipeline(encoder, StandardScaler(), classifier).fit(table, y)
    graph = opgd.to_onnx(pipeline, dtype=dtype)
    names = [entry.name for entry in graph.graph.input]
    assert names == ["label_2", "plan____", "paperless", "paper_less", "city"]
    new = make_table(rng)[0].assign(label=lambda t: t["label"].astype(dtype).astype(float))
    new.loc[3, "plan (€)"] = "platinum"
    new.loc[4, "city"] = "elsewhere"
    with pytest.warns(opgd.DataWarning, match="unknown"):
        expected = {name: getattr(_LikeFinal(pipeline), METHODS[name])(new) for name in METHODS}
    inputs = to_inputs(graph, new, dtype)
    inputs["paperless"][:20] = [[str(word[0]).upper()] for word in inputs["paperless"][:20]]
    results = run(graph, inputs)
    np.testing.assert_array_equal(results.pop("label"), expected.pop("label"))
    for name, result in results.items():
        np.testing.assert_allclose(result, expected[name], atol=BOUNDS[dtype])
    inputs["city"][0] = "NA"
    assert np.isnan(run(graph, inputs)["probabilities"][0]).all()


@pytest.mark.parametrize("dtype", BOUNDS)
def test_missing_values_are_imputed_by_a_step(dtype, rng):
    table, y = make_table(rng)
    table.loc[rng.random(len(table)) < 0.2, "label"] = np.nan
    table.loc[3, "city"] = None
    steps = opgd.TableEncoder(), SimpleImputer(strategy="median"), opgd.OPGDClassifier(1, ridge=0.1)
    pipeline = make_pipeline(*steps).fit(table, y)
    graph = opgd.to_onnx(pipeline, dtype=dtype, outputs=["probabilities"])
    table["label"] = table["label"].astype(dtype).astype(float)
    probabilities = run(graph, to_inputs(graph, table.fillna({"city": "NA"}), dtype))[
        "probabilities"
    ]
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(table), atol=BOUNDS[dtype])


def test_inputs_have_distinct_names(rng):
    columns = ["a b", "a_b", "a_b_double", "scores", "1"]
    table = pd.DataFrame(rng.normal(size=(60, 5)), columns=columns)
    y = (table.to_numpy().sum(axis=1) > 0).astype(int)
    pipeline = make_pipeline(opgd.TableEncoder(), opgd.OPGDClassifier(1)).fit(table, y)
    graph = opgd.to_onnx(pipeline)
    names = [entry.name for entry in graph.graph.input]
    assert len(set(names)) == 5
    result = run(graph, to_inputs(graph, table, np.float32))
    np.testing.assert_array_equal(result["label"], pipeline.predict(table.astype(np.float32)))


def test_encoded_arrays_have_one_input():
    pipeline = make_pipeline(opgd.TableEncoder(), opgd.OPGDClassifier()).fit(X, CODES)
    results = run(opgd.to_onnx(pipeline, dtype="float64"), X)
    np.testing.assert_allclose(results["probabilities"], pipeline.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize(
    ("name", "cells", "words"),
    [
        ("signup", pd.date_range("2024-01-01", periods=120), "it has dates"),
        ("usage", [f"{k % 50}%" for k in range(120)], r"numbers are text \(percentages\)"),
        ("fee", [f"€{k % 37},000" for k in range(120)], r"numbers are text \(amounts in €"),
        ("age", [np.nan, *np.arange(119.0) ** 2], "1 of its cells are missing"),
        ("city", [None, *["a", "b", "c"] * 40][:120], "1 of its cells are missing"),
    ],
)
def test_columns_that_no_graph_can_encode_are_refused_by_name(name, cells, words, rng):
    table, y = make_table(rng)
    pipeline = make_pipeline(opgd.TableEncoder(), opgd.OPGDClassifier(1, ridge=0.1))
    pipeline.fit(table.assign(**{name: cells}), y)
    with pytest.raises(
        ValueError, match=f"^Column '{name}' cannot be converted to ONNX: .*{words}"
    ):
        opgd.to_onnx(pipeline)


# names, refusals, skl2onnx


def test_labels_and_names_are_plain_data(rng):
    labels = np.array(["=cmd()", "\x1b[31m\n../../", '"><script>{0}</script>'])[CODES]
    columns = [f"{k}; DROP TABLE\n%s/{{x}}" for k in range(13)]
    model = opgd.OPGDClassifier(2).fit(pd.DataFrame(X, columns=columns), labels)
    graph = opgd.to_onnx(model, dtype="float64")
    metadata = {entry.key: entry.value for entry in graph.metadata_props}
    assert json.loads(metadata["classes"]) == model.classes_.tolist()
    assert json.loads(metadata["feature_names"]) == columns
    frame = pd.DataFrame(X, columns=columns)
    np.testing.assert_array_equal(run(graph, X)["label"], model.predict(frame))
    names = [each for node in graph.graph.node for each in (*node.input, *node.output)]
    assert all(name.isidentifier() for name in names)
    pipeline = make_pipeline(opgd.TableEncoder(), opgd.OPGDClassifier(2)).fit(frame, labels)
    graph = opgd.to_onnx(pipeline, dtype="float64")
    assert all(entry.name.isidentifier() for entry in graph.graph.input)
    result = run(graph, to_inputs(graph, frame, "float64"))
    np.testing.assert_array_equal(result["label"], model.predict(frame))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: opgd.to_onnx(opgd.OPGDClassifier()), NotFittedError, "not fitted"),
        (
            lambda: opgd.to_onnx(make_pipeline(opgd.TableEncoder(), opgd.OPGDClassifier())),
            NotFittedError,
            "not fitted",
        ),
        (
            lambda: opgd.to_onnx(baselines.KernelNaiveBayes().fit(X, CODES)),
            TypeError,
            "KernelNaiveBayes to ONNX; supported are OPGDClassifier, .*OPGDMixture, .* and a",
        ),
        (
            lambda: opgd.to_onnx(make_pipeline(StandardScaler(), LogisticRegression())),
            TypeError,
            "a Pipeline that ends in LogisticRegression",
        ),
        (
            lambda: opgd.to_onnx(
                make_pipeline(StandardScaler(), _Doubling(), opgd.OPGDClassifier()).fit(X, CODES)
            ),
            TypeError,
            "cannot convert the steps .*'_doubling' \\(_Doubling\\)",
        ),
        (lambda: opgd.to_onnx(fitted("RDA"), outputs="scores"), ValueError, "among label, prob"),
        (lambda: opgd.to_onnx(fitted("LDA"), outputs=[]), ValueError, "one or more distinct"),
        (lambda: opgd.to_onnx(fitted("LDA"), dtype="half"), ValueError, "dtype must be"),
        (
            lambda: opgd.to_onnx(fitted("LDA"), dtype="float64", compute_dtype="float32"),
            ValueError,
            "compute_dtype='float32' requires",
        ),
        (lambda: opgd.to_onnx(fitted("LDA"), target_opset=9), ValueError, "target_opset"),
    ],
)
def test_what_cannot_be_converted_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


class _Doubling(StandardScaler):
    """A step of a class that skl2onnx does not know."""


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    for name in list(sys.modules):
        if name.startswith("opgd._onnx.") and name != "opgd._onnx.export":
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r'needs skl2onnx; .*"opgd\[onnx\]"'):
        opgd.to_onnx(fitted("LDA"))


def test_converters_are_registered_with_skl2onnx():
    importlib.import_module("opgd.onnx")
    pipeline = make_pipeline(StandardScaler(), opgd.OPGDClassifier(2)).fit(X, NAMES)
    kind = FloatTensorType([None, 13])
    graph = skl2onnx.convert_sklearn(pipeline, initial_types=[("X", kind)], target_opset=15)
    results = run(graph, X.astype(np.float32))
    np.testing.assert_array_equal(results["output_label"], pipeline.predict(X))
    assert set(results["output_probability"][0]) == set(pipeline.classes_)
    options = {"zipmap": False, "double": False}
    graph = skl2onnx.convert_sklearn(
        fitted("classifier"),
        initial_types=[("X", kind)],
        options={id(fitted("classifier")): options},
    )
    probabilities = run(graph, X.astype(np.float32))["probabilities"]
    np.testing.assert_allclose(probabilities, fitted("classifier").predict_proba(X), atol=1e-5)
    kind = DoubleTensorType([None, 13])
    graph = skl2onnx.convert_sklearn(fitted("mixture"), initial_types=[("X", kind)])
    np.testing.assert_array_equal(run(graph, X)["label"], fitted("mixture").predict(X))
