"""The last stage of a selection: models with fewer features, used if they are clearly better."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from opgd import DataWarning, OPGDClassifier, OPGDClassifierCV
from opgd._model_selection.ranking import Ranking, compare_errors
from opgd._model_selection.selection import divide_span

QUICK = {"shrinkage": 0.1, "ridge": "auto", "n_subclasses": 1, "covariance_type": "diag"}
CORNERS = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])


def simulate(n_noise, rng, n_samples=320):
    """Return two classes, each at four corners of a cube, and features of noise after these."""
    corners = np.arange(n_samples) % 8
    X = np.hstack([CORNERS[corners] * 1.5, np.zeros((n_samples, n_noise))])
    y = np.isin(corners, [0, 1, 2, 7])
    return X + rng.normal(size=X.shape), y.astype(int)


@pytest.fixture(scope="module")
def noisy():
    """Samples of which three features are useful, and more of them for a test."""
    rng = np.random.default_rng(0)
    return simulate(20, rng), simulate(20, rng, 4000)


@pytest.fixture(scope="module")
def model(noisy):
    return OPGDClassifierCV().fit(*noisy[0])


def test_noise_is_removed_and_the_error_falls(model, noisy):
    (X, y), test = noisy
    dense = OPGDClassifierCV(sparsity=0).fit(X, y)
    assert model.support_[:3].all()
    assert model.support_.sum() < 8
    assert 1 - model.score(*test) < 0.8 * (1 - dense.score(*test))


def test_the_model_is_the_one_with_the_selected_parameters(model, noisy):
    (X, y), (X_test, _) = noisy
    assert model.best_params_["sparsity"] == model.support_.sum()
    assert f"{model.support_.sum()} features" in model.summary_.model
    again = OPGDClassifier(**model.best_params_).fit(X, y)
    again._set_calibration(model.temperature_, model.background_)
    assert np.array_equal(again.predict_proba(X_test), model.predict_proba(X_test))
    assert not hasattr(model, "sparsity_path_")  # only if sparsity is given


@pytest.mark.parametrize("n_jobs", [2])
def test_the_choice_does_not_depend_on_processes(model, noisy, n_jobs):
    parallel = OPGDClassifierCV(n_jobs=n_jobs).fit(*noisy[0])
    assert parallel.best_params_ == model.best_params_
    assert np.array_equal(parallel.components_, model.components_)


def test_all_features_are_kept_where_all_are_useful():
    rng = np.random.default_rng(1)
    y = np.arange(300) % 3
    X = rng.normal(size=(3, 8))[y] + rng.normal(size=(300, 8))
    model = OPGDClassifierCV(**QUICK).fit(X, y)
    assert model.support_.all()
    assert "sparsity" not in model.best_params_
    sizes = {params.get("sparsity") for params in model.cv_results_["params"]}
    assert len(sizes) > 1  # fewer were compared


@pytest.mark.parametrize("none", [0, 0.0])
def test_no_feature_is_removed_on_request(none, noisy):
    model = OPGDClassifierCV(**QUICK, sparsity=none).fit(*noisy[0])
    assert model.support_.all()
    assert not any("sparsity" in params for params in model.cv_results_["params"])


def test_requested_numbers_of_components_remain_possible(noisy):
    model = OPGDClassifierCV((2, 5), **QUICK).fit(*noisy[0])
    sizes = {params.get("sparsity", 23) for params in model.cv_results_["params"]}
    assert min(sizes) >= 5
    counts = {params["n_components"] for params in model.cv_results_["params"]}
    assert counts <= {1, 2, 5}  # 1 for LDA


def test_the_rule_applies_to_models_with_the_selected_features(noisy):
    settings = QUICK | {"n_subclasses": (2, 4)}
    model = OPGDClassifierCV(**settings).fit(*noisy[0])
    simple = OPGDClassifierCV(**settings, rule="one_se").fit(*noisy[0])
    assert simple.best_params_.get("sparsity") == model.best_params_["sparsity"]
    assert simple.summary_.model == model.summary_.one_se.model


def test_rda_with_fewer_features_is_tried_with_less_shrinkage(model):
    rda = [p for p in model.cv_results_["params"] if p["covariance_type"] == "full" and "init" in p]
    dense = max(p["shrinkage"] for p in rda if "sparsity" not in p)
    sparse = {(p["sparsity"], p["shrinkage"]) for p in rda if "sparsity" in p}
    # with the selected number of features, all values are tried in the end
    sizes = {size for size, _ in sparse} - {model.best_params_["sparsity"]}
    assert dense > 0
    assert any({(size, 0.0), (size, 0.1)} <= sparse for size in sizes)


def test_rda_with_one_gaussian_is_tried_with_fewer_features_though_noise_hides_it():
    rng = np.random.default_rng(3)
    y = np.arange(240) % 3
    X = rng.normal(size=(240, 80))
    X[:, :6] *= np.array([0.5, 1, 2.2])[y][:, None] ** rng.choice([1, -1], 6)
    model = OPGDClassifierCV(cv=3).fit(X, y)
    tried = {}
    for params in model.cv_results_["params"]:
        if params["covariance_type"] == "full" and "init" in params:
            tried.setdefault(params.get("sparsity"), set()).add(params["n_subclasses"])
    assert any(numbers == {1, 4} for size, numbers in tried.items() if size not in (None, 6))
    assert model.best_params_["sparsity"] == 6
    assert model.best_params_["n_subclasses"] == 1


def test_samples_with_missing_values_are_selected_alike(noisy):
    X, y = noisy[0]
    X = np.where(np.random.default_rng(2).random(X.shape) < 0.05, np.nan, X)
    model = OPGDClassifierCV(**QUICK | {"n_subclasses": 4}).fit(X, y)
    assert model.support_[:3].all()
    assert model.support_.sum() < 8


def test_no_model_has_more_components_than_features(noisy):
    X, y = noisy[0]
    model = OPGDClassifierCV(**QUICK | {"n_subclasses": 4}, cv=2).fit(X[:, :12], y)
    sparse = [params for params in model.cv_results_["params"] if "sparsity" in params]
    assert min(params["sparsity"] for params in sparse) < 3
    assert all(params["n_components"] <= params["sparsity"] for params in sparse)
    assert model.n_components_ == model.best_params_["n_components"]


def test_the_summary_says_what_features_are_worth(model, noisy):
    summary, table = model.summary_, model.cv_results_
    dense = ["sparsity" not in params for params in table["params"]]
    assert summary.with_all_features.error == table["mean_test_error"][dense].min()
    assert summary.n_used == model.support_.sum()
    assert f"features          {summary.n_used} of 23; with all: held-out error" in str(summary)
    kept = OPGDClassifierCV(**QUICK, sparsity=0, cv=3).fit(*noisy[0]).summary_
    assert kept.with_all_features is None
    assert "with all" not in str(kept)


def test_all_numbers_of_components_are_tried_with_the_selected_features(model):
    n_features = model.best_params_["sparsity"]
    counts = [row.n_components for row in model.summary_.by_components]
    assert counts == list(range(1, n_features + 1))
    assert model.summary_.one_se is not None


def make_model(losses, n_wrong=0, n_times=1.0):
    """Return the results of a model on splits with 50 samples each, the first ones misclassified.

    Log-losses and errors are chosen independently. Samples are held out `n_times`.
    """
    wrong = np.arange(50 * len(losses)) < n_wrong
    return SimpleNamespace(
        weight=len(wrong) / n_times,
        n_times=n_times,
        weights=np.full(len(wrong), 1 / n_times),
        wrong=wrong,
        loss=float(np.mean(losses)),
        outcomes=[SimpleNamespace(score=1 - part.mean()) for part in np.split(wrong, len(losses))],
        split_losses=lambda calibrate: np.array(losses) if calibrate else None,
    )


@pytest.mark.parametrize(("n_components", "n_features"), [(4, 4), (None, 1)])
def test_models_abandoned_with_fewer_features_are_tried_after_these_are_accepted(
    n_components, n_features
):
    if n_components:
        rng = np.random.RandomState(0)
        y, X = rng.randint(3, size=150), rng.randn(150, 20)
        X[:, :3] += 1.5 * (y[:, None] == np.arange(3))
    else:  # one component is then the only number to try
        rng = np.random.RandomState(98)
        y, X = rng.randint(2, size=120), rng.randn(120, 30)
        X[:, 0] *= 1 + 3 * (y == 0)
    model = OPGDClassifierCV(n_components=n_components).fit(X, y)
    assert model.support_.sum() == n_features


def test_a_constant_column_does_not_hide_the_model_with_all_features(noisy):
    X, y = noisy[0]
    arguments = {**QUICK, "sparsity": (0, 3), "n_components": 2, "cv": 3}
    model = OPGDClassifierCV(**arguments).fit(X, y)
    with pytest.warns(DataWarning, match="constant"):
        other = OPGDClassifierCV(**arguments).fit(np.c_[X, np.ones(len(X))], y)
    assert model.summary_.with_all_features is not None
    assert other.summary_.with_all_features.error == model.summary_.with_all_features.error


@pytest.mark.parametrize(
    ("losses", "others", "n_wrong", "better"),
    [
        ([0.2, 0.3, 0.4], [0.3, 0.42, 0.51], 20, True),
        ([0.2, 0.3, 0.4], [0.3, 0.42, 0.51], 21, False),  # a lower score
        ([0.2, 0.3, 0.4], [0.2, 0.3, 0.7], 20, False),  # on one split only
        ([0.2, 0.3, 0.4], [0.2, 0.4, 0.6], 20, False),  # sqrt(3) standard errors alone
        ([0.2, 0.3, 0.4], [0.2, 0.4, 0.6], 19, True),  # and one standard deviation
        ([0.01, 0.01, 0.01], [0.02, 0.02, 0.02], 20, False),  # about one sample in 100
        ([0.2, 0.3], [0.4, 0.5], 20, False),  # two splits
        ([0.2, 0.3], [0.4, 0.5], 17, True),  # sqrt(3) standard deviations
        ([0.2, 0.3], [0.4, 0.5], 18, False),
        ([0.3, 0.3], [0.3, 0.3], 10, False),  # no lower log-loss
        ([np.nan, 0.3], [0.4, 0.5], 10, False),
    ],
)
def test_a_model_is_clearly_better_by_errors_and_log_losses_together(
    losses, others, n_wrong, better
):
    new, old = make_model(losses, n_wrong), make_model(others, 20)
    assert Ranking().is_clearly_better(new, old) == better


@pytest.mark.parametrize("n_times", [1, 2, 8, 100])
@pytest.mark.parametrize(
    ("others", "better"),
    [
        ([0.35, 0.59, 0.42], True),  # 2.17 standard errors
        ([0.35, 0.60, 0.42], False),  # 2.10
        ([0.40, 0.41], False),  # two splits, and as many errors
    ],
)
def test_repeated_splits_are_no_further_evidence(others, better, n_times):
    losses = [[0.3] * len(others), others]
    new, old = (make_model(n_times * values, 20 * n_times, n_times) for values in losses)
    assert Ranking().is_clearly_better(new, old) == better


def test_errors_are_compared_on_samples_that_one_model_misclassifies():
    new, old = make_model([0.3], 4), make_model([0.3], 13)
    assert compare_errors(old, new) == pytest.approx(3.0)  # 9 samples, standard deviation 3
    assert compare_errors(new, old) == pytest.approx(-3.0)
    assert compare_errors(new, new) == 0


def test_spans_of_steps_follow_each_other_and_the_last_is_repeated():
    spans = divide_span(0.5, 0.25, 2)
    assert [next(spans) for _ in range(3)] == [(0.5, 0.625), (0.625, 0.75), (0.625, 0.75)]


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_results_without_noise_are_those_with_all_features(load):
    X, y = load(return_X_y=True)
    model, dense = OPGDClassifierCV().fit(X, y), OPGDClassifierCV(sparsity=0).fit(X, y)
    assert model.best_params_ == dense.best_params_
    assert np.array_equal(model.components_, dense.components_)
