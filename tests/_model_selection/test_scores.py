"""Scores from log joints agree with scikit-learn's."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn import metrics

from opgd._model_selection.scores import METRICS


def predictions(rng, n_classes):
    log_joint = rng.normal(size=(200, n_classes)) * 2
    codes = rng.integers(0, n_classes, 200)
    log_joint[np.arange(200), codes] += 1
    return log_joint, codes, rng.exponential(size=200)


@pytest.mark.parametrize(
    ("name", "n_classes", "reference"),
    [
        ("accuracy", 3, metrics.accuracy_score),
        ("balanced_accuracy", 3, metrics.balanced_accuracy_score),
        ("f1", 2, metrics.f1_score),
        ("f1_macro", 4, lambda *args, **own: metrics.f1_score(*args, average="macro", **own)),
    ],
)
def test_scores_are_scikit_learns(name, n_classes, reference, rng):
    log_joint, codes, weights = predictions(rng, n_classes)
    expected = reference(codes, log_joint.argmax(axis=1), sample_weight=weights)
    assert METRICS[name](log_joint, codes, weights) == pytest.approx(expected, rel=1e-12)


def test_average_precision_is_scikit_learns(rng):
    log_joint, codes, weights = predictions(rng, 2)
    score = log_joint[:, 1] - log_joint[:, 0]
    expected = metrics.average_precision_score(codes, score, sample_weight=weights)
    assert METRICS["average_precision"](log_joint, codes, weights) == pytest.approx(expected)
    log_joint, codes, weights = predictions(rng, 4)
    expected = metrics.average_precision_score(
        np.eye(4)[codes], softmax(log_joint, axis=1), average="macro", sample_weight=weights
    )
    found = METRICS["average_precision"](log_joint, codes, weights)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_absent_classes_leave_scores_finite(name, n_classes, rng):
    log_joint, codes, weights = predictions(rng, n_classes)
    one = codes == 0
    log_joint[:, 1] = -np.inf  # a class without training samples has no density
    score = METRICS[name](log_joint[one], codes[one], weights[one])
    assert (
        np.isnan(score)
        if name == "average_precision" and n_classes == 2
        else 0 <= score <= 1 + 1e-12
    )
