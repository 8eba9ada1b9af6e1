"""Graphs of fitted estimators give their predictions, with onnxruntime."""

import functools
import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import opgd
from opgd import baselines

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

X, CODES = load_wine(return_X_y=True)
NAMES = np.array(["barolo", "grignolino", "barbera"])[CODES]
PARTLY = np.where(np.arange(len(X)) % 3 == 0, -1, CODES)
WRONG = np.where(np.arange(len(X)) % 15 == 0, "barolo", NAMES)
BOUNDS = {"float32": 1e-5, "float64": 1e-12}
QUICK = {"shrinkage": 0.1, "ridge": 0.1, "cv": 3}
FITS = {
    "classifier": lambda: opgd.OPGDClassifier().fit(X, NAMES),
    "full": lambda: opgd.OPGDClassifier(3, covariance_type="full").fit(X, CODES == 1),
    "subclasses": lambda: opgd.OPGDClassifier(
        4, n_subclasses={0: 1, 1: 3, 2: 2}, covariance_type="full", sparsity=6
    ).fit(X, CODES),
    "priors": lambda: opgd.OPGDClassifier(priors=[0.1, 0.2, 0.7]).fit(X, CODES - 1),
    "calibrated": lambda: opgd.OPGDClassifierCV(2, n_subclasses=2, **QUICK).fit(X, WRONG),
    "conformalized": lambda: opgd.OPGDClassifier().fit(X, CODES).conformalize(1.01 * X, CODES),
    "selected": lambda: opgd.OPGDClassifierCV(
        (1, 3), n_subclasses=1, covariance_type="diag", **QUICK
    ).fit(X, NAMES),
    "semi-supervised": lambda: opgd.OPGDSemiSupervised().fit(X, PARTLY),
    "mixture": lambda: opgd.OPGDMixture(3, random_state=0).fit(X),
    "merged": lambda: opgd.OPGDMixture(4, merge=3, init="kmeans", random_state=0).fit(X[:, :5]),
    "noise": lambda: opgd.OPGDMixture(3, noise=0.2, init="kmeans", random_state=0).fit(X),
    "LDA": lambda: baselines.ReducedRankLDA().fit(X, CODES),
    "RDA": lambda: baselines.RegularizedDiscriminantAnalysis(0.5, 0.1).fit(X, CODES),
    "MDA": lambda: baselines.MixtureDiscriminantAnalysis(2).fit(X, CODES),
    "CPC": lambda: baselines.CommonPrincipalComponents(n_init=1).fit(X, CODES),
    "SAVE": lambda: baselines.SlicedAverageVariance(3).fit(X, CODES.astype(float)),
}
METHODS = {"label": "predict", "probabilities": "predict_proba", "scores": "transform"}


@functools.cache
def fitted(name):
    return FITS[name]()


def run(graph, samples):
    """Return the outputs of a graph by name."""
    data = graph.SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": samples}), strict=True))


def assert_same(graph, model, samples, bound):
    results, exact = run(graph, samples), samples.astype(np.float64)
    assert list(results) == [name for name, method in METHODS.items() if hasattr(model, method)]
    np.testing.assert_array_equal(results.pop("label"), model.predict(exact))
    for name, result in results.items():
        expected = getattr(model, METHODS[name])(exact)
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(result, expected, rtol=0, atol=bound * scale)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("name", FITS)
def test_outputs_are_those_of_the_estimator(name, dtype):
    model = fitted(name)
    samples = X[:, : model.n_features_in_].astype(dtype)
    center = samples.mean(axis=0)
    graph = opgd.to_onnx(model, dtype=dtype)
    for rows in (samples, center + 3 * (samples - center), samples[:1]):
        assert_same(graph, model, rows, BOUNDS[dtype])


def test_calibration_is_part_of_the_graph():
    model = fitted("calibrated")
    assert model.temperature_ != 1
    assert model.background_ > 0
    graph = opgd.to_onnx(model, dtype="float64")
    far = X.mean(axis=0) + 100 * (X - X.mean(axis=0))
    expected = model.predict_proba(far)
    np.testing.assert_allclose(run(graph, far)["probabilities"], expected, rtol=1e-10)
    assert expected.min() > 1e-4


@pytest.mark.parametrize("name", FITS)
def test_graphs_without_double_precision_are_nearly_as_accurate(name):
    model = fitted(name)
    graph = opgd.to_onnx(model, compute_dtype="float32")
    assert 11 not in {tensor.data_type for tensor in graph.graph.initializer}  # DOUBLE
    assert_same(graph, model, X[:, : model.n_features_in_].astype(np.float32), BOUNDS["float32"])


def test_missing_values_give_nan():
    samples = X[:3].copy()
    samples[1, 2] = np.nan
    for name, unknown in [("classifier", ""), ("priors", -2), ("noise", -2), ("mixture", -1)]:
        results = run(opgd.to_onnx(fitted(name), dtype="float64"), samples)
        labels = fitted(name).predict(samples[::2])
        assert results.pop("label").tolist() == [labels[0], unknown, labels[1]]
        for values in results.values():
            assert np.isnan(values[1]).all()
            assert np.isfinite(values[::2]).all()
    unused = np.where(fitted("subclasses").support_, X[:3], np.nan)
    graph = opgd.to_onnx(fitted("subclasses"), dtype="float64")
    assert np.isfinite(run(graph, unused)["probabilities"]).all()


def test_large_offsets_keep_their_digits():
    shifted = (X + 1e5 * X.std(axis=0)).astype(np.float32)
    model = opgd.OPGDClassifier(2).fit(shifted, CODES)
    with pytest.warns(opgd.DataWarning, match=r"float32 is too coarse for column 0.*dtype"):
        graph = opgd.to_onnx(model)
    assert_same(graph, model, shifted, BOUNDS["float32"])


def test_huge_values_have_finite_results():
    samples = np.array([np.full(13, 1e38), np.full(13, -1e38)], dtype=np.float32)
    for name in ("classifier", "subclasses", "noise"):
        for dtype in BOUNDS:
            graph = opgd.to_onnx(fitted(name), compute_dtype=dtype, outputs="probabilities")
            sums = run(graph, samples)["probabilities"].sum(axis=1)
            np.testing.assert_allclose(sums, 1, rtol=1e-6)


def test_labels_and_names_are_plain_data():
    labels = np.array(["=cmd()", "\x1b[31m\n../../", '"><script>{0}</script>'])[CODES]
    frame = pd.DataFrame(X, columns=[f"{k}; DROP TABLE\n%s/{{x}}" for k in range(13)])
    model = opgd.OPGDClassifier(2).fit(frame, labels)
    graph = opgd.to_onnx(model, dtype="float64", outputs=["probabilities", "label"])
    metadata = {entry.key: entry.value for entry in graph.metadata_props}
    assert json.loads(metadata["classes"]) == model.classes_.tolist()
    assert json.loads(metadata["feature_names"]) == frame.columns.tolist()
    results = run(graph, X)
    assert list(results) == ["label", "probabilities"]
    np.testing.assert_array_equal(results["label"], model.predict(frame))


def test_what_cannot_be_converted_is_refused():
    def assert_refused(error, words, model, **parameters):
        with pytest.raises(error, match=words):
            opgd.to_onnx(model, **parameters)

    pipeline = make_pipeline(StandardScaler(), opgd.OPGDClassifier())
    assert_refused(NotFittedError, "not fitted", opgd.OPGDClassifier())
    assert_refused(TypeError, "convert its last step", pipeline.fit(X, CODES))
    assert_refused(TypeError, "StandardScaler to ONNX; supported are OPGDC", StandardScaler())
    dates = np.array(["2020", "2021", "2022"], dtype="datetime64[D]")[CODES]
    assert_refused(TypeError, "integers or strings", opgd.OPGDClassifier().fit(X, dates))
    assert_refused(ValueError, "among label, prob", fitted("RDA"), outputs="scores")
    assert_refused(ValueError, "must be among", fitted("LDA"), outputs=[])
    assert_refused(ValueError, "dtype must be", fitted("LDA"), dtype="half")
    single = {"dtype": "float64", "compute_dtype": "float32"}
    assert_refused(ValueError, "compute_dtype='float32' requires", fitted("LDA"), **single)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="the extra 'onnx' is missing"):
        opgd.to_onnx(fitted("LDA"))
