"""Predictions for arrays of other libraries, which stay on their device.

SciPy reads the environment variable that enables them when it is imported, so that the tests run in
a process of their own.
"""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.utils import _array_api, estimator_checks

from opgd import OPGDClassifier, OPGDClassifierCV, OPGDMixture
from opgd.baselines import (
    KernelNaiveBayes,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
)

NAMESPACE = os.environ.get("OPGD_ARRAY_NAMESPACE")
METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "typicality",
    "score_samples",
)
MODELS = {  # quick fits: how a model was found does not matter to its predictions
    "diag": OPGDClassifier(),
    "full": OPGDClassifier(covariance_type="full", n_subclasses=2, init="lda"),
    "sparse": OPGDClassifier(sparsity=5, init="lda"),
    "calibrated": OPGDClassifierCV(2, n_subclasses=1, shrinkage=0.1, ridge=0.1, cv=3),
    "mixture": OPGDMixture(3, init="kmeans", random_state=0),
    "noise": OPGDMixture(2, noise=True, init="kmeans", random_state=0),
    "LDA": ReducedRankLDA(),
    "RDA": RegularizedDiscriminantAnalysis(gamma=0.1),
    "MDA": MixtureDiscriminantAnalysis(),
    "kernels": KernelNaiveBayes(0.5),
}
CAN_MOVE = hasattr(_array_api, "move_estimator_to")
inside = pytest.mark.skipif(NAMESPACE is None, reason="run by test_in_a_process_of_its_own")


@pytest.mark.skipif(NAMESPACE is not None, reason="would run itself again")
@pytest.mark.parametrize(
    "namespace", ["array_api_strict", pytest.param("torch", marks=pytest.mark.slow)]
)
def test_in_a_process_of_its_own(namespace):
    pytest.importorskip(namespace)
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "OPGD_ARRAY_NAMESPACE": namespace}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", __file__]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert f"{2 * len(MODELS) + 4 + CAN_MOVE} passed" in result.stdout


@pytest.fixture(autouse=True)
def dispatch():
    with sklearn.config_context(array_api_dispatch=NAMESPACE is not None):
        yield


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X[::2], y[::2]


def _put(X):
    return importlib.import_module(NAMESPACE).asarray(X)


def _get(array):
    return np.from_dlpack(array)


@inside
@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_numpy_in_the_library_of_the_input(wine, name):
    X, y = wine
    model = MODELS[name].fit(X, y)
    for dtype in ("float64", "float32"):
        samples = X.astype(dtype)
        arrays = _put(samples)
        for method in [getattr(model, method) for method in METHODS if hasattr(model, method)]:
            expected, result = method(samples), method(arrays)
            assert type(result) is type(arrays)
            assert result.device == arrays.device
            assert _get(result).dtype == expected.dtype
            np.testing.assert_allclose(_get(result), expected, rtol=1e-9, atol=1e-12)


@inside
@pytest.mark.filterwarnings("ignore:Loadings are shared between collinear columns")
@pytest.mark.parametrize("name", MODELS)
def test_checks_of_scikit_learn(name):
    # in a pipeline, because the attributes of a model are NumPy arrays, wherever its samples are
    model = make_pipeline(MODELS[name])
    places = [
        (device, dtype)
        for namespace, device, dtype in _array_api.yield_namespace_device_dtype_combinations()
        if namespace == NAMESPACE and device not in ("cuda", "mps", "xpu")
    ]
    assert places
    for device, dtype in places:
        for check_values in (False, True):
            estimator_checks.check_array_api_input(
                "Pipeline", model, NAMESPACE, device, dtype, check_values
            )


@inside
def test_labels_that_are_no_numbers_are_numpy_arrays(wine):
    X, y = wine
    labels = np.array(["barolo", "grignolino", "barbera"])[y]
    model = OPGDClassifier().fit(X, labels)
    np.testing.assert_array_equal(model.predict(_put(X)), model.predict(X))
    assert model.score(_put(X), labels) == model.score(X, labels)


@inside
@pytest.mark.skipif(not CAN_MOVE, reason="needs a newer scikit-learn")
def test_models_are_moved_by_scikit_learn(wine):
    X, _ = wine
    model = OPGDMixture(3, init="kmeans", random_state=0).fit(X)
    arrays = _put(X)
    namespace = importlib.import_module(NAMESPACE)
    moved = _array_api.move_estimator_to(model, namespace, arrays.device)
    np.testing.assert_allclose(_get(moved.predict_proba(arrays)), model.predict_proba(X))


@inside
def test_priors_and_costs(wine):
    X, y = wine
    model = OPGDClassifierCV(2, n_subclasses=1, shrinkage=0.1, ridge=0.1, cv=3).fit(X, y)
    priors = [0.2, 0.7, 0.1]
    for settings in ({"priors": priors}, {"costs": 1 - np.eye(3), "priors": priors}):
        result = model.predict(_put(X), **settings)
        np.testing.assert_array_equal(_get(result), model.predict(X, **settings))
    expected = model.predict_proba(X, priors=priors)
    np.testing.assert_allclose(_get(model.predict_proba(_put(X), priors=priors)), expected)


@inside
def test_missing_values_are_computed_by_numpy(wine):
    X, y = wine
    samples = X.copy()
    samples[::3, 2] = np.nan
    model = OPGDClassifier().fit(X, y)
    result = _get(model.predict_proba(_put(samples)))
    np.testing.assert_allclose(result, model.predict_proba(samples), rtol=1e-12)


@inside
def test_fits_and_refusals(wine):
    X, y = wine
    model = OPGDClassifier().fit(_put(X), _put(y))
    np.testing.assert_array_equal(model.components_, OPGDClassifier().fit(X, y).components_)
    with pytest.raises(ValueError, match="X has 4 features"):
        model.predict(_put(X[:, :4]))
    with pytest.raises(ValueError, match="infinity in column 3"):
        model.predict(_put(np.where(np.arange(13) == 3, np.inf, X)))
