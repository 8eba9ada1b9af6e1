"""The last stage of a selection: models with fewer features, used if they are clearly better."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from opgd import OPGDClassifier, OPGDClassifierCV
from opgd._model_selection.ranking import Ranking, compare_errors

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


def test_samples_with_missing_values_are_selected_alike(noisy):
    X, y = noisy[0]
    X = np.where(np.random.default_rng(2).random(X.shape) < 0.05, np.nan, X)
    model = OPGDClassifierCV(**QUICK | {"n_subclasses": 4}).fit(X, y)
    assert model.support_[:3].all()
    assert model.support_.sum() < 8


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


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_results_without_noise_are_those_with_all_features(load):
    X, y = load(return_X_y=True)
    model, dense = OPGDClassifierCV().fit(X, y), OPGDClassifierCV(sparsity=0).fit(X, y)
    assert model.best_params_ == dense.best_params_
    assert np.array_equal(model.components_, dense.components_)
