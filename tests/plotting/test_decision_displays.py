"""PredictionSetDisplay and CostDisplay."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from opgd.decisions import mean_cost, set_coverage
from opgd.plotting import (
    CostDisplay,
    PredictionSetDisplay,
)
from tests.plotting.helpers import X, Y

COSTS = {("class_1", "class_0"): 5}


@pytest.fixture(scope="module")
def classifier():
    """A classifier with errors: logistic regression on three features."""
    return LogisticRegression(max_iter=2000).fit(X.iloc[::2, :3], Y[::2])


@pytest.fixture(scope="module")
def held_out():
    return X.iloc[1::2, :3], Y[1::2]


def test_coverages_and_sizes_of_sets(rng):
    classes = np.array(["a", "b", "c"])
    y = rng.choice(classes, 200)
    sets = rng.random((200, 3)) < 0.6
    display = PredictionSetDisplay.from_predictions(y, sets, classes, coverage=0.6, draw=False)
    expected = set_coverage(y, sets, classes, average=None)
    np.testing.assert_allclose(display.summary.coverages, expected)
    assert display.summary.coverage == pytest.approx(set_coverage(y, sets, classes))
    np.testing.assert_allclose(display.summary.sizes.sum(axis=1), 1)
    mean = np.average(display.summary.mean_sizes, weights=display.summary.counts)
    assert mean == pytest.approx(sets.sum(axis=1).mean())


def test_costs_are_those_of_the_rules(classifier, held_out):
    display = CostDisplay.from_estimator(classifier, *held_out, costs=COSTS, draw=False)
    probable, cheapest = display.curves.by_rejection
    expected = mean_cost(held_out[1], classifier.predict(held_out[0]), costs=COSTS)
    assert probable.costs[0] == pytest.approx(expected)
    assert (probable.x[0], display.curves.by_threshold) == (0, None)
    posteriors = classifier.predict_proba(held_out[0])
    matrix = np.array([[0, 1, 1], [5, 0, 1], [1, 1, 0]])
    labels = classifier.classes_[np.argmin(posteriors @ matrix, axis=1)]
    assert cheapest.costs[0] == pytest.approx(mean_cost(held_out[1], labels, costs=COSTS))


def test_threshold_of_two_classes_has_the_least_expected_cost(rng):
    p = rng.random(20_000)
    y = np.where(rng.random(20_000) < p, "ill", "absent")  # the probabilities are right
    display = CostDisplay.from_predictions(
        y, np.column_stack([1 - p, p]), ["absent", "ill"], costs={("ill", "absent"): 4}, draw=False
    )
    assert display.curves.threshold == pytest.approx(1 / 5)
    curve = display.curves.by_threshold
    assert curve.x[np.argmin(curve.costs)] == pytest.approx(1 / 5, abs=0.05)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="bool"):
        PredictionSetDisplay.from_predictions(["a"], [[1, 0]], ["a", "b"])
    with pytest.raises(TypeError, match="predict_set"):
        PredictionSetDisplay.from_estimator(LogisticRegression(), X, Y)
    with pytest.raises(ValueError, match="classes"):
        CostDisplay.from_predictions(["c"], [[1, 0]], ["a", "b"])
