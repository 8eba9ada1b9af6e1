"""Selection by cross-validation on Dask input: on samples in memory, refitted to all."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, PredefinedSplit

from opgd import OPGDClassifier, OPGDClassifierCV
from opgd._model_selection import inputs

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

SETTINGS = {"n_components": (1, 2), "shrinkage": (0, 0.5), "ridge": 0.05, "n_subclasses": 1}
SETTINGS |= {"covariance_type": "diag", "cv": 2}
N_SAMPLES = 600


@pytest.fixture
def samples(rng):
    codes = rng.choice(3, N_SAMPLES, p=[0.5, 0.48, 0.02])
    X = rng.normal(size=(N_SAMPLES, 5)) * (1 + codes[:, None] / 2) + np.eye(3, 5)[codes]
    return X, np.array(["a", "b", "c"])[codes]


@pytest.fixture
def few_are_drawn(monkeypatch):
    monkeypatch.setattr(inputs, "MAX_DRAWN", 200)


def to_lazy(values):
    return da.from_array(values, chunks=250 if values.ndim == 1 else (250, 2))


def assert_same_selection(there, here):
    for name, values in here.cv_results_.items():
        np.testing.assert_array_equal(there.cv_results_[name], values, name)
    for name in ("best_params_", "temperature_", "background_", "corrected_error_"):
        assert getattr(there, name) == getattr(here, name), name


def test_few_samples_are_selected_from_as_in_memory(samples, rng):
    X, y = samples
    X[rng.random(X.shape) < 0.05] = np.nan
    weights = rng.integers(0, 3, len(y)).astype(float)
    for groups, options in (
        (None, {"cv": 0.3, "random_state": 1}),
        (np.arange(len(y)) // 20, {"cv": GroupKFold(2), "scoring": "roc_auc_ovr"}),
    ):
        here = OPGDClassifierCV(**SETTINGS | options).fit(X, y, weights, groups)
        there = OPGDClassifierCV(**SETTINGS | options)
        there.fit(to_lazy(X), to_lazy(y), to_lazy(weights), groups)
        assert_same_selection(there, here)
        assert there.log_likelihood_ == pytest.approx(here.log_likelihood_, rel=1e-6)
        labels = there.predict(to_lazy(X))
        assert isinstance(labels, da.Array)
        assert np.mean(labels.compute() == here.predict(X)) > 0.99


@pytest.mark.usefixtures("few_are_drawn")
def test_models_are_selected_on_some_samples_and_refitted_to_all(samples):
    X, y = samples
    first, again, other = (
        OPGDClassifierCV(**SETTINGS | {"random_state": seed}).fit(to_lazy(X), y)
        for seed in (None, None, 1)
    )
    assert_same_selection(again, first)
    assert first.best_estimator_._held_out.weights.sum() == pytest.approx(200, abs=3)
    assert not np.array_equal(
        other.cv_results_["mean_test_log_loss"], first.cv_results_["mean_test_log_loss"]
    )
    assert first.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(first.priors_, np.unique(y, return_counts=True)[1] / N_SAMPLES)
    assert first.score(to_lazy(X), y) == pytest.approx(other.score(X, y), abs=0.05)


@pytest.mark.usefixtures("few_are_drawn")
def test_samples_of_weight_zero_are_not_drawn(samples):
    X, y = samples
    weights = np.where(np.arange(N_SAMPLES) % 2, 2.0, 0.0)
    X[weights == 0] = 1e6
    model = OPGDClassifierCV(**SETTINGS).fit(to_lazy(X), y, weights)
    assert np.abs(model.means_).max() < 100
    assert model.best_estimator_._held_out.weights.sum() == pytest.approx(2 * 200, abs=6)


@pytest.mark.usefixtures("few_are_drawn")
def test_data_frames_keep_their_names(samples):
    X, y = samples
    lazy = dd.from_pandas(pd.DataFrame(X, columns=list("vwxyz")).assign(label=y), npartitions=3)
    features = lazy.drop(columns="label")
    model = OPGDClassifierCV(**SETTINGS).fit(features, lazy["label"])
    assert model.feature_names_in_.tolist() == list("vwxyz")
    before = model.log_likelihood_
    assert model.refit(features, lazy["label"]).log_likelihood_ == pytest.approx(before, rel=1e-3)


@pytest.mark.usefixtures("few_are_drawn")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": [(np.arange(9), np.arange(9, 20))]}, "cv must be a number or a splitter"),
        ({"y": np.zeros(N_SAMPLES)}, "only one class"),
        ({"y": None}, "target y is None"),
        ({"y": np.zeros(5)}, "X has 600 samples, but y has 5"),
        ({"groups": np.arange(5)}, "groups has 5 entries"),
    ],
)
def test_invalid_input_is_refused(change, message, samples):
    X, y = samples
    model = OPGDClassifierCV(**SETTINGS | {"cv": change.get("cv", 2)})
    with pytest.raises(ValueError, match=message):
        model.fit(to_lazy(X), change.get("y", y), groups=change.get("groups"))


@pytest.mark.usefixtures("few_are_drawn")
def test_splits_by_position_are_refused_if_few_samples_are_drawn(samples):
    X, y = samples
    for cv in (PredefinedSplit(np.arange(len(y)) % 2), [(np.arange(9), np.arange(9, 18))]):
        with pytest.raises(ValueError, match="needs no positions"):
            OPGDClassifierCV(**SETTINGS | {"cv": cv}).fit(to_lazy(X), y)


def test_labels_of_samples_without_weight_may_be_missing(samples):
    X, y = samples
    weights = np.arange(len(y)) % 2.0
    labels = np.where(weights > 0, y.astype(object), None)
    here = OPGDClassifier(2, init="lda", ridge=0.1).fit(X, labels, weights)
    there = OPGDClassifier(2, init="lda", ridge=0.1).fit(to_lazy(X), labels, weights)
    assert there.log_likelihood_ == pytest.approx(here.log_likelihood_, rel=1e-9)
