"""Errors and calibration, counted by hand."""

import numpy as np
import pytest

from opgd.inspection.evaluation import compute_calibration, evaluate


def test_evaluation_counts_by_hand():
    probabilities = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.45, 0.55]])
    found = evaluate(probabilities, np.array([0, 1, 1, -1]), "test", "")
    assert found.confusion.tolist() == [[1, 0], [1, 1]]
    assert found.n_unknown == 1
    assert found.error == 0.5  # an unknown label counts as an error
    cut = np.finfo(float).eps
    assert found.log_loss == pytest.approx(-np.log([0.9, 0.4, 0.8, cut]).mean())
    assert found.recalls.tolist() == [1, 0.5]
    assert found.precisions.tolist() == [0.5, 1]
    assert found.confused_pairs() == [(1, 0, 1)]
    assert found.calibration["n_rows"] == [2, 1, 1]
    assert found.calibration["confidence"] == pytest.approx([0.575, 0.8, 0.9])
    assert found.calibration["accuracy"] == [0, 1, 1]
    assert found.calibration_error == pytest.approx((2 * 0.575 + 0.2 + 0.1) / 4)


def test_classes_with_a_recall_below_one_half_are_missed():
    codes = np.repeat([0, 1, 2, 3], [6, 5, 4, 1])
    predicted = np.array([0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 2, 2, 0, 0, 0])
    found = evaluate(np.eye(5)[predicted], codes, "test", "")
    assert found.recalls[:4].tolist() == [5 / 6, 0.4, 0.5, 0]  # the fifth class has no rows
    assert found.missed_classes == [3, 1]
    assert found.n_missed == 4


def test_calibrated_predictions_have_little_calibration_error(rng):
    confidence = rng.uniform(0.5, 1, size=20000)
    table = compute_calibration(confidence, rng.random(20000) < confidence)
    assert np.allclose(table["accuracy"], table["confidence"], atol=0.03)
    few = compute_calibration(np.full(10, 0.75), np.arange(10) < 8)
    assert (few["low"], few["high"], few["n_rows"]) == ([0.7], [0.8], [10])
    assert few["accuracy_low"] + few["accuracy_high"] == pytest.approx([0.4902, 0.9433], abs=1e-4)


@pytest.mark.parametrize(("n_wrong", "extreme"), [(1, False), (9, True)])
def test_many_errors_with_high_probabilities_are_overconfidence(n_wrong, extreme):
    probabilities = np.tile([0.99, 0.01], (100, 1))
    codes = 1 * (np.arange(100) < n_wrong)
    found = evaluate(probabilities, codes, "cv", "").overconfidence
    assert (found is not None) == extreme
    if extreme:
        assert (found.n_rows, found.accuracy) == (100, 0.91)
    low = np.tile([0.7, 0.3], (100, 1))
    assert evaluate(low, codes, "cv", "").overconfidence is None
