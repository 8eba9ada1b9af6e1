"""ConfusionDisplay, PredictionSetDisplay, CostDisplay and MissingnessDisplay."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix

from opgd.decisions import mean_cost, set_coverage
from opgd.plotting import (
    ConfusionDisplay,
    CostDisplay,
    MissingnessDisplay,
    PredictionSetDisplay,
    RocDisplay,
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


def test_counts_are_those_of_scikit_learn(classifier, held_out):
    display = ConfusionDisplay.from_estimator(classifier, *held_out, draw=False)
    expected = confusion_matrix(held_out[1], classifier.predict(held_out[0]))
    np.testing.assert_array_equal(display.confusion, expected)
    other = ConfusionDisplay.from_predictions(held_out[1], ["class_1"] * 89, draw=False)
    assert other.confusion[:, 1].sum() == 89


def test_confused_classes_are_neighbors(rng):
    n_classes, hidden = 26, rng.permutation(26)  # classes are confused along a hidden order
    place = np.argsort(hidden)
    counts = np.maximum(0, 60 - 20 * np.abs(place[:, None] - place))
    display = ConfusionDisplay(confusion=counts, labels=range(n_classes))
    assert np.all(np.abs(np.diff(place[display.order])) == 1)
    by_label = ConfusionDisplay(confusion=counts, labels=range(n_classes), order="labels")
    assert by_label.order.tolist() == list(range(n_classes))


def test_unknown_labels_are_counted_apart(classifier, held_out):
    labels = np.where(np.arange(89) < 7, "other", held_out[1])
    display = ConfusionDisplay.from_estimator(classifier, held_out[0], labels, draw=False)
    assert (display.n_unknown, display.confusion.sum()) == (7, 82)


def test_counts_of_forty_classes_are_readable_and_do_not_overlap(plt, rng):
    counts = 10 * np.eye(40, dtype=int)
    counts[rng.integers(0, 40, 60), rng.integers(0, 40, 60)] = 88
    display = ConfusionDisplay(confusion=counts, labels=range(40)).plot()
    display.figure_.draw_without_rendering()
    cell = display.ax_.get_window_extent().width / 40
    texts = [text for text in display.ax_.texts if text.get_text().isdigit()]
    assert len(texts) == np.count_nonzero(counts)
    assert min(text.get_fontsize() for text in texts) >= 6
    assert max(text.get_window_extent().width for text in texts) < cell


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


@pytest.mark.parametrize(("cost", "n_lines"), [(1, 1), (4, 2)])
def test_equal_thresholds_are_drawn_once(cost, n_lines, rng):
    p = rng.random(50)
    y = np.where(p > 0.5, "ill", "absent")
    display = CostDisplay.from_predictions(
        y, np.column_stack([1 - p, p]), ["absent", "ill"], costs={("ill", "absent"): cost}
    )
    labels = [text.get_text() for text in display.figure_.axes[1].get_legend().get_texts()]
    assert sum("threshold" in label for label in labels) == n_lines


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_missing_values_of_arrays_and_frames(missing):
    values = np.array([[1, missing, 3], [1, missing, 3], [1, 2, 3], [missing, missing, 3]], object)
    for data in (values, pd.DataFrame(values, columns=list("abc"))):
        display = MissingnessDisplay.from_data(data, draw=False)
        np.testing.assert_allclose(display.missingness.shares, [0.25, 0.75, 0])
        assert display.missingness.counts.tolist() == [2, 1, 1]
        assert display.missingness.patterns[0].tolist() == [False, True, False]
        assert display.order.tolist() == [1, 0]
    assert display.missingness.columns == ["a", "b", "c"]


def test_displays_draw_on_axes_of_the_caller(plt, classifier, held_out):
    rows, labels = held_out
    figure, axes = plt.subplots(2, 4, figsize=(16, 8))
    sets, classes = classifier.predict_proba(rows) > 0.2, classifier.classes_
    displays = [
        ConfusionDisplay.from_estimator(classifier, rows, labels, ax=axes[0, 0]),
        PredictionSetDisplay.from_predictions(labels, sets, classes, coverage=0.9, ax=axes[1, :2]),
        CostDisplay.from_estimator(classifier, rows, labels, costs=COSTS, ax=axes[0, 1]),
        MissingnessDisplay.from_data(rows.mask(rows > 14), ax=axes[1, 2:]),
        RocDisplay.from_predictions(labels, classifier.predict_proba(rows), classes, ax=axes[0, 2]),
        MissingnessDisplay.from_data(rows, ax=[axes[0, 3], figure.add_subplot()]),
    ]
    assert all(display.figure_ is figure for display in displays)
    assert displays[0].ax_ is axes[0, 0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ConfusionDisplay.from_predictions([1, 2], [1], draw=False), ValueError, "y_pred"),
        (
            lambda: ConfusionDisplay(confusion=np.eye(2), labels="ab", order="size"),
            ValueError,
            "order",
        ),
        (
            lambda: PredictionSetDisplay.from_predictions(["a"], [[1, 0]], ["a", "b"]),
            ValueError,
            "bool",
        ),
        (
            lambda: PredictionSetDisplay.from_estimator(LogisticRegression(), X, Y),
            TypeError,
            "predict_set",
        ),
        (lambda: CostDisplay.from_predictions(["c"], [[1, 0]], ["a", "b"]), ValueError, "classes"),
        (lambda: MissingnessDisplay.from_data([1.0, 2.0]), ValueError, "features"),
    ],
)
def test_bad_input_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
