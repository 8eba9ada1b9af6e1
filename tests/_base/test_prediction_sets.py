"""Prediction sets and typicality of classifiers with held-out samples."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import train_test_split

from opgd import (
    DataWarning,
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDSemiSupervised,
    load_model,
    save_model,
)
from opgd.baselines import ReducedRankLDA
from opgd.decisions import label_sets, set_coverage

QUICK = {"shrinkage": 0.1, "ridge": 0.05, "n_subclasses": 1, "covariance_type": "diag"}
MEANS = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])


def draw(rng, counts):
    codes = np.repeat(np.arange(3), counts)
    return MEANS[codes] + rng.normal(size=(len(codes), 2)), np.array(["a", "b", "c"])[codes]


@pytest.fixture(scope="module")
def fitted():
    X, y = draw(np.random.default_rng(0), [100, 40, 20])
    return ReducedRankLDA().fit(X, y)


@pytest.mark.parametrize("coverage", [0.6, 0.9])
@pytest.mark.parametrize("randomized", [False, True])
def test_coverage_of_each_class_is_that_asked_for(coverage, randomized, fitted, rng):
    found = []
    for _ in range(150):
        fitted.conformalize(*draw(rng, [60, 30, 19]))
        X, y = draw(rng, [40, 40, 40])
        sets = fitted.predict_set(X, coverage, randomized=randomized, random_state=rng.integers(99))
        found.append(set_coverage(y, sets, fitted.classes_, average=None))
    error = 3 * np.std(found, axis=0) / np.sqrt(len(found))
    means = np.mean(found, axis=0)
    assert np.all(means > coverage - error)
    most = coverage if randomized else coverage + 1 / np.array([61, 31, 20])
    assert np.all(means < most + error)


def test_sets_grow_with_the_coverage(fitted, rng):
    fitted.conformalize(*draw(rng, [100, 100, 100]))
    X = draw(rng, [50, 50, 50])[0]
    sets = [fitted.predict_set(X, coverage) for coverage in (0.3, 0.6, 0.9, 0.98)]
    assert all(np.all(small <= large) for small, large in pairwise(sets))
    assert sets[0].sum(axis=1).min() == 0
    assert sets[-1].sum(axis=1).max() == 3


def test_a_class_with_few_held_out_samples_is_in_every_set(fitted, rng):
    fitted.conformalize(*draw(rng, [100, 8, 9]))
    X = draw(rng, [50, 50, 50])[0]
    with pytest.warns(DataWarning, match=r"held-out samples of 'b' to rule") as caught:
        sets = fitted.predict_set(X, 0.9, randomized=True)
    assert len(caught) == 1
    assert np.all(sets[:, 1])
    assert not np.all(sets[:, 2])


def test_a_class_without_held_out_samples_is_in_every_set(fitted, rng):
    X, y = draw(rng, [100, 50, 0])
    fitted.conformalize(X, y)
    with pytest.warns(DataWarning, match="'c'"):
        assert np.all(fitted.predict_set(X, 0.5)[:, 2])


def test_weights_of_held_out_samples_are_repetitions(fitted, rng):
    X, y = draw(rng, [30, 30, 30])
    weights = np.repeat([1, 2, 3], 30)
    weighted = fitted.conformalize(X, y, weights).predict_set(X, 0.8)
    repeated = fitted.conformalize(X.repeat(weights, axis=0), y.repeat(weights)).predict_set(X, 0.8)
    np.testing.assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("estimator", [OPGDClassifier(), OPGDSemiSupervised(), ReducedRankLDA()])
def test_every_classifier_has_prediction_sets(estimator, rng):
    X, y = load_iris(return_X_y=True)
    model = estimator.fit(X[::2], y[::2])
    with pytest.raises(ValueError, match="conformalize"):
        model.predict_set(X)
    sets = model.conformalize(X[1::2], y[1::2]).predict_set(X[1::2], 0.8)
    assert sets.shape == (75, 3)
    assert sets.dtype == bool
    assert set_coverage(y[1::2], sets, model.classes_) >= 0.8
    assert [len(labels) for labels in label_sets(sets, model.classes_)] == sets.sum(axis=1).tolist()


def test_fitting_again_drops_held_out_samples():
    X, y = load_iris(return_X_y=True)
    model = OPGDClassifier().fit(X, y).conformalize(X, y)
    with pytest.raises(ValueError, match="n_components"):
        model.set_params(n_components=7).fit(X, y)
    model.predict_set(X)  # a failed fit changes nothing
    with pytest.raises(ValueError, match="conformalize"):
        model.set_params(n_components=2).fit(X, y).predict_set(X)


BAD_CALLS = [
    ({"coverage": 0}, "coverage"),
    ({"coverage": 1.0}, "coverage"),
    ({"coverage": "high"}, "coverage"),
    ({"randomized": 1}, "randomized"),
    ({"randomized": True, "random_state": "x"}, "random_state"),
    ({"priors": [1, 2, 3]}, "priors"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS)
def test_bad_arguments_are_refused_by_name(arguments, words, fitted, rng):
    X, y = draw(rng, [20, 20, 20])
    fitted.conformalize(X, y)
    with pytest.raises((ValueError, TypeError), match=words):
        fitted.predict_set(X, **arguments)


def test_bad_held_out_samples_are_refused(fitted, rng):
    X, y = draw(rng, [20, 20, 20])
    with pytest.raises(ValueError, match="not classes"):
        fitted.conformalize(X, np.full(60, "other"))
    with pytest.raises(ValueError, match="inconsistent"):
        fitted.conformalize(X, y[1:])
    with pytest.raises(ValueError, match="features"):
        fitted.conformalize(X[:, :1], y)


# the estimator with cross-validation


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return train_test_split(X, y, stratify=y, random_state=0, test_size=0.4)


@pytest.fixture(scope="module")
def selected(wine):
    return OPGDClassifierCV((1, 2), **QUICK).fit(wine[0], wine[2])


def test_out_of_fold_samples_are_kept_with_their_labels(selected, wine):
    old = selected._held_out
    assert np.bincount(old.codes).tolist() == np.bincount(wine[2]).tolist()
    right = old.log_joints.argmax(axis=1) == old.codes
    error = selected.cv_results_["mean_test_error"][selected.best_index_]
    assert 1 - right.mean() == pytest.approx(error, abs=0.02)


def test_sets_without_conformalize_are_cross_conformal(selected, wine):
    sets = selected.predict_set(wine[1], 0.9)
    assert set_coverage(wine[3], sets, selected.classes_) > 0.8
    np.testing.assert_array_equal(sets, selected.best_estimator_.predict_set(wine[1], 0.9))


def test_calibration_does_not_change_sets(wine):
    X, X_test, y, _ = wine
    two = [OPGDClassifierCV(2, **QUICK, calibrate=own).fit(X, y < 1) for own in (True, False)]
    assert two[0].temperature_ != two[1].temperature_
    for coverage in (0.5, 0.8, 0.95):  # two classes: the temperature keeps the order
        sets = [model.predict_set(X_test, coverage) for model in two]
        np.testing.assert_array_equal(*sets)


def test_conformalize_replaces_out_of_fold_samples(selected, wine):
    copy = pickle.loads(pickle.dumps(selected))
    copy.conformalize(wine[1], wine[3])
    assert len(copy._held_out.codes) == len(wine[1])
    assert np.any(copy.typicality(wine[0]) != selected.typicality(wine[0]))


def test_typicality_ranks_held_out_distances(selected, wine):
    found = selected.typicality(wine[1])
    distances = selected._projection.squared_distances(wine[1]).min(axis=1)
    old = selected._held_out.distances
    at_least = (old >= distances[:, None]).sum(axis=1)
    inside = distances <= old.max()
    np.testing.assert_allclose(found[inside], (1 + at_least[inside]) / (1 + len(old)))
    assert np.all(found[~inside] <= 1 / (1 + len(old)))


def test_repeated_splits_count_each_sample_once(wine):
    X, _, y, _ = wine
    splits = [(np.arange(len(X)) % 3 != k, np.arange(len(X)) % 3 == k) for k in (0, 1, 2)]
    splits = [(np.flatnonzero(train), np.flatnonzero(test)) for train, test in splits]
    once = OPGDClassifierCV(2, **QUICK, cv=splits).fit(X, y)
    twice = OPGDClassifierCV(2, **QUICK, cv=splits + splits).fit(X, y)
    np.testing.assert_allclose(twice._held_out.class_weights, once._held_out.class_weights)
    np.testing.assert_array_equal(twice.predict_set(X), once.predict_set(X))


def test_model_files_keep_sets_and_typicality(selected, wine, tmp_path):
    pytest.importorskip("skops")
    save_model(selected, tmp_path / "model")
    same = load_model(tmp_path / "model")
    np.testing.assert_array_equal(same.predict_set(wine[1]), selected.predict_set(wine[1]))
    same = pickle.loads(pickle.dumps(selected))
    np.testing.assert_array_equal(same.typicality(wine[1]), selected.typicality(wine[1]))


def test_sets_of_dask_input_are_those_of_arrays(selected, wine):
    da = pytest.importorskip("dask.array")
    lazy = selected.predict_set(da.from_array(wine[1], chunks=(20, -1)), 0.9)
    np.testing.assert_array_equal(lazy.compute(), selected.predict_set(wine[1], 0.9))
