"""Selection by cross-validation on Dask input has the results of arrays in memory."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from opgd import OPGDClassifierCV
from opgd._model_selection import correction, folds

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

from opgd._dask.inputs import validate_dask_input  # noqa: E402
from opgd._dask.rows import DaskRows, collect_labels  # noqa: E402
from opgd._utils.labels import encode_known_labels, encode_labels  # noqa: E402

SETTINGS = {
    "n_components": (1, 2),
    "shrinkage": (0, 0.1, 0.5),
    "ridge": 0.05,
    "n_subclasses": 1,
    "covariance_type": "diag",
}
"""Three settings, whose results do not depend on rounding errors."""
N_SAMPLES = 600


def draw_samples(rng):
    codes = rng.integers(0, 3, N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, 5)) * (1 + codes[:, None] / 2) + np.eye(3, 5)[codes]
    return X, np.array(["a", "b", "c"])[codes]


@pytest.fixture
def samples(rng):
    return draw_samples(rng)


def to_lazy(values):
    if values is None:
        return None
    return da.from_array(values, chunks=250 if values.ndim == 1 else (250, 2))


def fit_both(X, y, weights=None, groups=None, **parameters):
    """Return the same selection of samples in memory and of Dask arrays."""
    here = OPGDClassifierCV(**SETTINGS | parameters).fit(X, y, weights, groups)
    there = OPGDClassifierCV(**SETTINGS | parameters).fit(
        to_lazy(X), to_lazy(y), to_lazy(weights), groups
    )
    return here, there


def assert_same_results(there, here):
    assert there.best_params_ == here.best_params_
    assert there.cv_results_.keys() == here.cv_results_.keys()
    for name, values in here.cv_results_.items():
        if np.asarray(values).dtype.kind == "f":
            np.testing.assert_allclose(there.cv_results_[name], values, atol=1e-6, err_msg=name)
        else:
            assert list(there.cv_results_[name]) == list(values), name
    for name in ("temperature_", "background_", "corrected_error_", "log_likelihood_"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-6), name


@pytest.mark.parametrize(
    "parameters",
    [
        {"cv": 0.2, "random_state": 0},
        {"cv": 3, "scoring": "f1_macro", "class_weight": "balanced"},
        {"cv": 2, "n_subclasses": 3, "scoring": "average_precision"},
        {"cv": 2, "sparsity": (2, 3), "scoring": "neg_log_loss"},
    ],
    ids=str,
)
def test_results_are_those_in_memory(parameters, samples):
    X, y = samples
    here, there = fit_both(X, y, **parameters)
    assert_same_results(there, here)
    labels = there.predict(to_lazy(X))
    assert isinstance(labels, da.Array)
    assert np.mean(labels.compute() == here.predict(X)) > 0.99
    np.testing.assert_allclose(there.typicality(X), here.typicality(X), atol=1e-6)
    np.testing.assert_array_equal(there.predict_set(to_lazy(X)).compute(), there.predict_set(X))


def test_weights_groups_and_missing_values_are_used_as_in_memory(samples, rng):
    X, y = samples
    weights = rng.integers(0, 3, len(y)).astype(float)
    assert_same_results(*reversed(fit_both(X, y, weights, cv=0.3, random_state=1)))
    groups = np.arange(len(y)) // 20
    assert_same_results(*reversed(fit_both(X, y, weights + 1, groups, cv=GroupKFold(2))))
    X[rng.random(X.shape) < 0.1] = np.nan
    assert_same_results(*reversed(fit_both(X, y, cv=2)))


def test_given_splits_may_repeat_and_omit_samples_in_any_order(samples, rng):
    order = rng.permutation(N_SAMPLES)
    splits = [
        (np.concatenate([order[:300], order[:100]]), order[300:500]),
        (np.sort(order[200:]), order[:200]),
    ]
    here, there = fit_both(*samples, cv=splits)
    assert there.n_splits_ == 2
    assert_same_results(there, here)


def test_data_frames_are_selected_from_and_refitted(samples):
    X, y = samples
    frame = pd.DataFrame(X, columns=list("vwxyz")).assign(label=y)
    lazy = dd.from_pandas(frame, npartitions=3)
    features = lazy.drop(columns="label")
    here = OPGDClassifierCV(**SETTINGS, cv=2).fit(frame.drop(columns="label"), y)
    there = OPGDClassifierCV(**SETTINGS, cv=2).fit(features, lazy["label"])
    assert_same_results(there, here)
    assert there.feature_names_in_.tolist() == list("vwxyz")
    before = there.log_likelihood_
    assert there.refit(features, lazy["label"]).log_likelihood_ == pytest.approx(before, rel=1e-3)


def test_default_search_selects_a_model_as_good_as_in_memory(samples):
    X, y = samples
    here = OPGDClassifierCV(cv=0.3, random_state=0).fit(X, y)
    there = OPGDClassifierCV(cv=0.3, random_state=0).fit(to_lazy(X), y)
    assert len(there.cv_results_["params"]) > 30
    assert there.best_score_ == pytest.approx(here.best_score_, abs=0.02)
    assert {"LDA", "RDA"} <= {name.split(",")[0] for name in there.cv_results_["model"]}


def test_thinned_predictions_calibrate_nearly_as_all_do(samples, monkeypatch):
    X, y = samples
    whole = OPGDClassifierCV(**SETTINGS, cv=2).fit(X, y)
    monkeypatch.setattr(folds, "MAX_COLLECTED", 200)
    monkeypatch.setattr(correction, "MAX_RESAMPLED", 200)
    here, there = fit_both(X, y, cv=2)
    assert_same_results(there, here)
    assert here.temperature_ == pytest.approx(whole.temperature_, rel=0.5)
    assert here.temperature_ != whole.temperature_
    weights = here.best_estimator_._held_out.weights
    assert len(weights) == 400  # of the 600 in two splits
    assert weights.sum() == pytest.approx(N_SAMPLES)
    assert here.corrected_error_ == pytest.approx(whole.corrected_error_, abs=0.02)


def test_invalid_settings_of_dask_input_are_refused(samples):
    X, y = samples
    with pytest.raises(ValueError, match="With Dask input, scoring must be one of 'accuracy'"):
        OPGDClassifierCV(scoring="roc_auc_ovr").fit(to_lazy(X), y)
    weights = np.arange(N_SAMPLES) % 2.0
    with pytest.raises(ValueError, match="weight 0 need an int or a float as cv"):
        OPGDClassifierCV(cv=GroupKFold(2)).fit(to_lazy(X), y, weights, np.arange(N_SAMPLES))
    with pytest.raises(ValueError, match="only one class"):
        OPGDClassifierCV().fit(to_lazy(X), np.zeros(N_SAMPLES))
    with pytest.raises(ValueError, match="target y is None"):
        OPGDClassifierCV().fit(to_lazy(X), None)
    with pytest.raises(ValueError, match="groups has 5 entries"):
        OPGDClassifierCV(cv=GroupKFold(2)).fit(to_lazy(X), y, groups=np.arange(5))


def test_selected_rows_are_those_of_the_array(samples, rng):
    X, y = samples
    lazy = validate_dask_input(
        OPGDClassifierCV(), to_lazy(X), y, None, encode_labels, encode_known_labels
    )
    rows = DaskRows.from_engine(lazy.engine)
    codes, weights = collect_labels(lazy.engine)
    assert weights is None
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(lazy.classes[codes], y)
    for positions in (np.arange(N_SAMPLES), np.sort(rng.integers(0, 200, 300)), np.array([599])):
        selected = rows[positions]
        assert selected.shape == (len(positions), 5)
        engine = selected.make_engine(codes[positions], np.arange(1.0, len(positions) + 1))
        found = engine.select_rows(np.arange(len(positions)))
        np.testing.assert_array_equal(found.X, X[positions])
        np.testing.assert_array_equal(found.labels, codes[positions])
        assert engine.total_square_weight == pytest.approx(found.total_square_weight)
