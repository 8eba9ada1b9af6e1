"""Weights of classes, quick scores, and thresholds of scikit-learn."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import get_scorer, make_scorer, recall_score
from sklearn.model_selection import TunedThresholdClassifierCV

from opgd import DataWarning, OPGDClassifier, OPGDClassifierCV
from opgd.decisions import mean_cost

QUICK = {"shrinkage": 0.1, "ridge": 0.05, "n_subclasses": 1, "covariance_type": "diag", "cv": 3}
ESTIMATORS = [OPGDClassifier(ridge=0.05, init="lda"), OPGDClassifierCV((1, 2), **QUICK)]


@pytest.fixture(scope="module")
def rare():
    """Breast cancer, with 25 of 212 malignant tumors."""
    X, y = load_breast_cancer(return_X_y=True)
    keep = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[::9]])
    return X[keep, :10], np.array(["malignant", "benign"])[y[keep]]


@pytest.fixture(scope="module")
def irises():
    X, y = load_iris(return_X_y=True)
    return X[:120], np.array(["a", "b", "c"])[y[:120]]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: type(own).__name__)
def test_class_weights_are_sample_weights(estimator, irises):
    X, y = irises
    by_class = {"a": 1.0, "b": 0.5, "c": 3.0}
    one = estimator.set_params(class_weight=by_class).fit(X, y).predict_proba(X)
    weights = np.array([by_class[label] for label in y])
    other = estimator.set_params(class_weight=None).fit(X, y, weights).predict_proba(X)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: type(own).__name__)
def test_class_weights_multiply_sample_weights(estimator, irises, rng):
    X, y = irises
    weights = rng.integers(0, 3, len(y)).astype(float)
    both = estimator.set_params(class_weight={"c": 2}).fit(X, y, weights).predict_proba(X)
    doubled = np.where(y == "c", 2, 1) * weights
    other = estimator.set_params(class_weight=None).fit(X, y, doubled).predict_proba(X)
    np.testing.assert_array_equal(both, other)


def test_balanced_weights_make_equal_priors(irises):
    X, y = irises
    model = OPGDClassifier(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(model.priors_, 1 / 3)
    given = OPGDClassifier(class_weight="balanced", priors=[0.5, 0.3, 0.2]).fit(X, y)
    np.testing.assert_allclose(given.priors_, [0.5, 0.3, 0.2])


def test_balanced_weights_find_more_of_a_rare_class(rare):
    X, y = rare
    recalls = [
        recall_score(
            y, OPGDClassifier(class_weight=own).fit(X, y).predict(X), pos_label="malignant"
        )
        for own in (None, "balanced")
    ]
    assert recalls[1] > recalls[0]


def test_held_out_samples_are_counted_without_class_weights(rare):
    X, y = rare
    model = OPGDClassifierCV(2, **QUICK, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(model._held_out.class_weights, np.unique(y, return_counts=True)[1])
    np.testing.assert_allclose(model.priors_, 0.5)


def test_costs_with_class_weight_warn(rare):
    X, y = rare
    model = OPGDClassifier(class_weight="balanced").fit(X, y)
    with pytest.warns(DataWarning, match="costs are combined with class_weight"):
        model.predict(X, costs={("malignant", "benign"): 5})
    model.predict(X, [0.9, 0.1], costs={("malignant", "benign"): 5})


@pytest.mark.parametrize("class_weight", ["balanced", {"malignant": 4}])
def test_class_weights_of_dask_input_are_those_in_memory(class_weight, rare, rng):
    da = pytest.importorskip("dask.array")
    X, y = rare
    weights = rng.integers(0, 3, len(y)).astype(float)
    here, there = (
        OPGDClassifier(class_weight=class_weight, init="lda", tol=1e-8).fit(samples, y, weights)
        for samples in (X, da.from_array(X, chunks=(100, -1)))
    )
    assert there.log_likelihood_ == pytest.approx(here.log_likelihood_, rel=1e-6)
    np.testing.assert_allclose(there.priors_, here.priors_, rtol=1e-12)


# scores of the estimator with cross-validation


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1_macro"])
def test_quick_scores_are_those_of_scorers(scoring, irises):
    X, y = irises
    quick = OPGDClassifierCV((1, 2), **QUICK, scoring=scoring).fit(X, y)
    slow = OPGDClassifierCV((1, 2), **QUICK, scoring=get_scorer(scoring)).fit(X, y)
    for i in range(3):
        name = f"split{i}_test_score"
        np.testing.assert_allclose(quick.cv_results_[name], slow.cv_results_[name], rtol=1e-12)


def test_scores_of_two_classes_concern_the_second(rare):
    X, y = rare
    for scoring in ("f1", "average_precision"):
        model = OPGDClassifierCV((1, 2), **QUICK, scoring=scoring).fit(X, y)
        assert model.classes_[1] == "malignant"
        assert 0 < model.best_score_ < 1


def test_f1_of_several_classes_is_refused(irises):
    with pytest.raises(ValueError, match="f1_macro"):
        OPGDClassifierCV(scoring="f1").fit(*irises)


# thresholds


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: type(own).__name__)
def test_scikit_learn_tunes_thresholds_by_cost(estimator, rare):
    X, y = rare
    costs = {("malignant", "benign"): 20}
    scorer = make_scorer(mean_cost, greater_is_better=False, costs=costs)
    tuned = TunedThresholdClassifierCV(
        estimator.set_params(class_weight=None), scoring=scorer, cv=3, thresholds=20
    ).fit(X, y)
    plain = tuned.estimator_.predict(X)
    found = tuned.predict(X)
    assert np.sum(found == "malignant") > np.sum(plain == "malignant")
    assert mean_cost(y, found, costs=costs) <= mean_cost(y, plain, costs=costs)
