"""Costs of decisions, rejection, and the mean cost."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import CostSensitiveClassifier, DataWarning, OPGDClassifier
from opgd._utils.costs import make_rule
from opgd.baselines import ReducedRankLDA
from opgd.decisions import mean_cost

CLASSES = np.array(["bad", "fair", "good"])
COSTS = {("bad", "good"): 10, ("bad", "fair"): 4, ("fair", "good"): 2}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X[:, :4], np.array(["barolo", "grignolino", "barbera"])[y]


# decisions computed by hand


@pytest.mark.parametrize(
    ("posteriors", "label"),
    [  # expected costs of bad: p1 + p2, of fair: 4 p0 + p2, of good: 10 p0 + 2 p1
        ([0.1, 0.0, 0.9], "bad"),  # 0.9, 1.3, 1.0
        ([0.0, 0.3, 0.7], "good"),  # 1.0, 0.7, 0.6
        ([0.0, 0.4, 0.6], "fair"),  # 1.0, 0.6, 0.8
        ([0.25, 0.75, 0.0], "bad"),  # 0.75, 1.0, 4.0
        ([0.2, 0.8, 0.0], "bad"),  # 0.8, 0.8, 3.6: the first of equal costs
    ],
)
def test_least_expected_cost_by_hand(posteriors, label):
    assert make_rule(CLASSES, COSTS).decide(np.array([posteriors]))[0] == label


def test_rejection_by_hand():
    posteriors = np.array([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05], [0.1, 0.1, 0.8]])
    by_cost = make_rule(CLASSES, None, 0.45, None, "none")  # Chow: reject below 1 - 0.45
    below = make_rule(CLASSES, None, None, 0.85, "none")
    both = make_rule(CLASSES, COSTS, 0.85, None, "none")  # least costs 0.5, 0.1, 0.9
    assert by_cost.decide(posteriors).tolist() == ["none", "bad", "good"]
    assert below.decide(posteriors).tolist() == ["none", "bad", "none"]
    assert both.decide(posteriors).tolist() == ["bad", "bad", "none"]


def test_two_classes_have_the_threshold_of_the_costs(rng):
    p = rng.random(1000)
    labels = make_rule(np.array([0, 1]), {(1, 0): 4}).decide(np.column_stack([1 - p, p]))
    np.testing.assert_array_equal(labels, (p > 1 / 5).astype(int))


# costs in other forms


def test_matrix_dict_and_frame_are_the_same(wine):
    X, y = wine
    model = ReducedRankLDA().fit(X, y)
    matrix = [[0, 5, 1], [1, 0, 7], [2, 1, 0]]
    frame = pd.DataFrame(matrix, index=model.classes_, columns=model.classes_)
    pairs = {
        (true, label): matrix[i][j]
        for i, true in enumerate(model.classes_)
        for j, label in enumerate(model.classes_)
    }
    expected = model.predict(X, costs=matrix)
    assert np.any(expected != model.predict(X))
    for costs in (frame, frame[::-1], frame.iloc[:, ::-1], pairs, np.array(matrix)):
        np.testing.assert_array_equal(model.predict(X, costs=costs), expected)


@pytest.mark.parametrize("costs", [{("ill", "well"): -10}, [[2, 1], [1, 0]]])
def test_errors_that_cost_less_than_correct_predictions_are_reported(costs):
    with pytest.warns(DataWarning, match="Predicting 'well' where 'ill' is true costs .*, less"):
        mean_cost(["ill", "well"], ["ill", "well"], costs=costs)


@pytest.mark.parametrize("estimator", [OPGDClassifier(), ReducedRankLDA()])
def test_equal_costs_change_nothing(estimator, wine):
    X, y = wine
    model = estimator.fit(X, y)
    for costs in (None, 1 - np.eye(3), 3 * (1 - np.eye(3)), {}):
        predicted = model.predict(X, costs=costs, reject_below=0.0, reject_label="unsure")
        np.testing.assert_array_equal(predicted, model.predict(X))


def test_priors_and_costs_are_combined(wine):
    X, y = wine
    model, priors = ReducedRankLDA().fit(X, y), [0.8, 0.1, 0.1]
    costs = np.array([[0, 5, 1], [1, 0, 7], [2, 1, 0]])
    least = (model.predict_proba(X, priors) @ costs).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X, priors, costs=costs), model.classes_[least])


def test_expected_cost_is_least_under_the_model(wine, rng):
    X, y = wine
    model = OPGDClassifier().fit(X, y)
    for _ in range(20):
        costs = rng.exponential(size=(3, 3)) * (1 - np.eye(3))
        expected = model.predict_proba(X) @ costs
        chosen = np.searchsorted(model.classes_, model.predict(X, costs=costs))
        np.testing.assert_array_equal(expected[np.arange(len(X)), chosen], expected.min(axis=1))


@pytest.mark.parametrize(
    ("label", "kind"), [("unsure", "U"), ("a label longer than any class", "U"), (-1, "O")]
)
def test_rejected_samples_have_the_label(label, kind, wine):
    X, y = wine
    model = ReducedRankLDA().fit(X, y)
    labels = model.predict(X, reject_below=0.9, reject_label=label)
    unsure = model.predict_proba(X).max(axis=1) < 0.9
    assert labels.dtype.kind == kind
    np.testing.assert_array_equal([found == label for found in labels], unsure)
    np.testing.assert_array_equal(labels[~unsure], model.predict(X)[~unsure])


BAD_ARGUMENTS = [
    ({"costs": np.eye(2)}, "shape"),
    ({"costs": [[0, 1, np.nan]] * 3}, "finite"),
    ({"costs": "high"}, "costs must be"),
    ({"costs": {("barolo", "merlot"): 1}}, "merlot"),
    ({"costs": {"barolo": 1}}, "pairs"),
    ({"costs": {("barolo", "barbera"): "high"}}, "finite number"),
    ({"costs": pd.DataFrame(np.eye(3))}, "missing"),
    ({"reject_below": 0.5}, "reject_label"),
    ({"reject_label": "unsure"}, "reject_cost or reject_below"),
    ({"reject_below": 0.5, "reject_label": "barolo"}, "is a class"),
    ({"reject_below": 0.5, "reject_label": ["a"]}, "single label"),
    ({"reject_below": 1.5, "reject_label": "a"}, "reject_below"),
    ({"reject_cost": -1, "reject_label": "a"}, "reject_cost"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD_ARGUMENTS)
def test_bad_arguments_are_refused_by_name(arguments, words, wine):
    X, y = wine
    model = ReducedRankLDA().fit(X, y)
    with pytest.raises((ValueError, TypeError), match=words):
        model.predict(X, **arguments)
    with pytest.raises((ValueError, TypeError), match=words):
        CostSensitiveClassifier(ReducedRankLDA(), **arguments).fit(X, y)


def test_costs_apply_to_dask_input(wine):
    da = pytest.importorskip("dask.array")
    X, y = wine
    model = ReducedRankLDA().fit(X, y)
    options = {"costs": {("barolo", "barbera"): 20}, "reject_below": 0.7, "reject_label": "unsure"}
    lazy = model.predict(da.from_array(X, chunks=(50, -1)), **options)
    np.testing.assert_array_equal(lazy.compute(), model.predict(X, **options))


# the wrapper


def test_wrapper_predicts_as_the_classifier_with_costs(wine):
    X, y = wine
    arguments = {"costs": {("barolo", "barbera"): 20}, "reject_cost": 0.3, "reject_label": "?"}
    model = CostSensitiveClassifier(ReducedRankLDA(), **arguments).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X, **arguments))
    cost = mean_cost(y, model.predict(X), **arguments)
    assert model.score(X, y) == -cost


def test_wrapper_works_in_cross_validation_and_grid_search(wine):
    X, y = wine
    pipeline = make_pipeline(StandardScaler(), OPGDClassifier(2, init="lda"))
    costs = np.array([[0, 5, 1], [1, 0, 7], [2, 1, 0]])
    model = CostSensitiveClassifier(pipeline, costs)
    assert isinstance(clone(model), CostSensitiveClassifier)
    by_default = cross_val_score(model, X, y, cv=3)
    scorer = make_scorer(mean_cost, greater_is_better=False, costs=costs, labels=np.unique(y))
    np.testing.assert_allclose(cross_val_score(model, X, y, cv=3, scoring=scorer), by_default)
    grid = {"estimator__opgdclassifier__ridge": [0.0, 0.9], "costs": [costs]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"]) <= 0


def test_pipelines_pass_costs_to_predict(wine):
    X, y = wine
    pipeline = make_pipeline(StandardScaler(), ReducedRankLDA()).fit(X, y)
    costs = {("barolo", "barbera"): 20}
    expected = pipeline[-1].predict(pipeline[:-1].transform(X), costs=costs)
    np.testing.assert_array_equal(pipeline.predict(X, costs=costs), expected)


def test_wrapper_warns_of_class_weight(wine):
    X, y = wine
    inner = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
    with pytest.warns(DataWarning, match="class_weight"):
        CostSensitiveClassifier(inner, {("barolo", "barbera"): 20}).fit(X, y)


# the mean cost


def test_mean_cost_by_hand():
    true, predicted = ["a", "a", "b", "b"], ["a", "b", "a", "none"]
    options = {"costs": {("a", "b"): 3}, "reject_cost": 0.5, "reject_label": "none"}
    assert mean_cost(true, predicted, **options) == (0 + 3 + 1 + 0.5) / 4
    assert mean_cost(true, predicted, sample_weight=[1, 0, 0, 3], **options) == 1.5 / 4
    assert mean_cost([1, 2, 2], [2, 2, 1]) == pytest.approx(2 / 3)


def test_order_of_labels_is_that_of_the_matrix():
    costs = [[0, 1], [9, 0]]
    assert mean_cost(["a"], ["b"], costs=costs, labels=["a", "b"]) == 1
    assert mean_cost(["a"], ["b"], costs=costs, labels=["b", "a"]) == 9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_cost(["a", "b"], ["a", "?"], reject_label="?"), "reject_cost"),
        (lambda: mean_cost(["a", "b"], ["a", "c"], labels=["a", "b"]), "'c'"),
        (lambda: mean_cost(["a", "b"], ["a", "b"], costs=np.eye(3)), "shape"),
        (lambda: mean_cost(["a", "b"], ["a"]), "inconsistent"),
    ],
)
def test_bad_predictions_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
