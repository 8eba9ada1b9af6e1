"""Trials with hidden labels: how labels are divided, what is hidden, and which model is chosen."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from opgd._fit.hidden_labels import (
    LEAST_HIDDEN,
    N_TRIALS,
    Predictions,
    divide_labels,
    select_model,
)
from opgd._fit.partly_labeled import ProblemSettings, list_uses, predict_hidden
from opgd._fit.problem import frame_samples
from opgd.core.engines import RowEngine
from opgd.core.starts import lda_axes

SETTINGS = ProblemSettings(3, lambda frequencies: frequencies, "diag", 0.0, "auto")


def find_lda(problem, use):
    return lda_axes(problem.classes, 2)


@pytest.fixture
def engine(rng):
    """Three classes with 9, 5 and 1 labels among 200 samples."""
    y = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 4)) + 3 * np.eye(3, 4)[y]
    labels = np.full(200, -1, dtype=np.intp)
    for k, n in enumerate([9, 5, 1]):
        labels[np.flatnonzero(y == k)[:n]] = k
    return RowEngine(X, labels)


def test_each_label_is_hidden_once_unless_it_is_the_only_one_of_its_class(engine):
    trials = divide_labels(engine, frame_samples(engine))
    positions = np.concatenate([hidden.positions for hidden in trials])
    expected = np.flatnonzero((engine.labels == 0) | (engine.labels == 1))
    assert np.array_equal(np.sort(positions), expected)
    assert len(trials) == N_TRIALS
    sizes = [len(hidden.positions) for hidden in trials]
    assert max(sizes) - min(sizes) <= 1
    for hidden in trials:
        assert np.array_equal(hidden.X, engine.X[hidden.positions])
        assert np.array_equal(hidden.codes, engine.labels[hidden.positions])
        visible = engine.hide_labels(hidden.positions)
        assert set(np.unique(visible.labels)) == {-1, 0, 1, 2}


def test_equal_samples_are_hidden_together(engine):
    repeats = np.where(engine.labels >= 0, 3, 1)
    repeated = RowEngine(np.repeat(engine.X, repeats, axis=0), np.repeat(engine.labels, repeats))
    for hidden in divide_labels(repeated, frame_samples(repeated)):
        _, counts = np.unique(hidden.X, axis=0, return_counts=True)
        assert np.all(counts == 3)


@pytest.mark.parametrize("use", list_uses(6), ids=lambda use: use.name)
def test_hidden_labels_do_not_influence_their_predictions(use, engine):
    frame = frame_samples(engine)
    trials = divide_labels(engine, frame)
    (predictions,) = predict_hidden([use], trials[:1], frame, SETTINGS, find_lda)
    wrong = engine.labels.copy()
    wrong[trials[0].positions] = 1 - wrong[trials[0].positions]
    relabeled = replace(frame, engine=RowEngine(frame.engine.X, wrong))
    (other,) = predict_hidden([use], trials[:1], relabeled, SETTINGS, find_lda)
    assert np.array_equal(other.log_joint, predictions.log_joint)
    assert np.array_equal(other.priors, predictions.priors)


def make_predictions(log_joint, codes, frequencies=(0.5, 0.5)):
    n = len(codes)
    priors = np.full((n, 2), 0.5)
    return Predictions(log_joint, priors, codes, np.ones(n), np.array(frequencies))


def signal(codes, strength, rng, noise=1.0):
    return noise * rng.normal(size=(len(codes), 2)) + strength * np.eye(2)[codes]


def test_weights_give_classes_their_frequencies(rng):
    codes = np.repeat([0, 1], [30, 10])
    predictions = make_predictions(signal(codes, 1.0, rng), codes, (0.5, 0.5))
    weights = predictions.weights
    assert weights[codes == 0].sum() == pytest.approx(weights[codes == 1].sum())
    assert weights.sum() == pytest.approx(weights.sum() ** 2 / (weights @ weights))
    assert weights.sum() < 40
    even = make_predictions(signal(codes, 1.0, rng), codes, (0.75, 0.25))
    np.testing.assert_allclose(even.weights, 1)


def test_results_are_those_of_calibrated_probabilities(rng):
    codes = rng.integers(0, 2, 50)
    predictions = make_predictions(4 * signal(codes, 1.0, rng), codes, np.bincount(codes) / 50)
    calibration = predictions.calibration
    assert calibration.temperature > 1
    posteriors = softmax(predictions.log_joint / calibration.temperature, axis=1)
    posteriors = (1 - calibration.background) * posteriors + calibration.background * 0.5
    true = posteriors[np.arange(50), codes]
    assert predictions.log_loss == pytest.approx(-np.log(true).mean())
    assert predictions.missed_probability == pytest.approx(1 - true.mean())
    assert predictions.error == pytest.approx(np.mean(posteriors.argmax(axis=1) != codes))


def test_the_first_model_is_kept_unless_another_is_clearly_better(rng):
    codes = rng.integers(0, 2, 60)
    first = make_predictions(signal(codes, 1.0, rng), codes)
    similar = replace(first, log_joint=first.log_joint + 0.3 * rng.normal(size=(60, 2)))
    better = make_predictions(signal(codes, 5.0, rng), codes)
    worse = make_predictions(signal(codes, 0.0, rng), codes)
    assert select_model([first, worse]) == 0
    assert select_model([first, similar]) == 0
    assert select_model([first, worse, better]) == 2
    few = slice(0, LEAST_HIDDEN - 1)
    cut = [make_predictions(own.log_joint[few], codes[few]) for own in (first, better)]
    assert select_model(cut) == 0
