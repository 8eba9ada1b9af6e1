"""Models on single splits agree with the classifiers they stand for."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifier
from opgd._model_selection.folds import Sample, limit_numbers, make_folds, try_models
from opgd._model_selection.path import Setting

SETTINGS = [
    Setting("diag", 1, 1.0, 0.1, "lda"),
    Setting("full", 1, 0.3, 0.0, "rda"),
    Setting("full", 2, 0.3, 0.05, "rda"),
]


@pytest.fixture(scope="module")
def fold():
    X, y = load_wine(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), stratify=y, random_state=0)
    sample = Sample(X, y.astype(np.intp), None, np.arange(3))
    return make_folds(sample, [(train, test)])[0]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_outcomes_are_those_of_the_classifier(setting, fold):
    for outcome in try_models(fold, setting, [1, 2], None):
        model = OPGDClassifier(
            outcome.n_components,
            n_subclasses=setting.n_subclasses,
            covariance_type=setting.covariance_type,
            shrinkage=setting.shrinkage,
            ridge=setting.ridge,
            init="lda",
            max_iter=0,
        ).fit(fold.train.X, fold.train.codes)
        X, y = fold.test.X, fold.test.codes
        assert outcome.error == pytest.approx(1 - model.score(X, y))
        np.testing.assert_array_equal(outcome.wrong, model.predict(X) != y)
        loss = log_loss(y, model.predict_proba(X))
        assert outcome.raw_loss / len(y) == pytest.approx(loss, rel=1e-6)
        differences = fold.predict(outcome).log_joint - model.predict_log_proba(X)
        assert np.ptp(differences, axis=1).max() < 1e-6


def test_the_lda_end_is_lda():
    X, y = load_wine(return_X_y=True)
    everyone = np.arange(len(y))
    sample = Sample(X, y.astype(np.intp), None, np.arange(3))
    fold = make_folds(sample, [(everyone, everyone)])[0]
    last = fold.try_models(Setting("diag", 1, 1.0, 0.0, "lda"), [1, 2])[-1]
    expected = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert last.n_components == 2
    assert last.error == 1 - expected.score(X, y)


def test_a_variant_starts_from_given_components(fold):
    setting = Setting("diag", 1, 0.1, 0.05)
    first = fold.try_models(setting, [2])[0]
    again = fold.try_models(setting, [2], first.components)[0]
    objective = fold.pose(setting).objective
    coordinates = fold.pose(setting).coordinates
    values = [objective.value(coordinates.directions(o.components)) for o in (first, again)]
    assert values[1] >= values[0] - 1e-9
    larger = fold.try_models(setting, [3], first.components)[0]
    assert larger.n_components == 3
    assert objective.value(coordinates.directions(larger.components)) > values[0]


def test_numbers_of_gaussians_are_limited_by_the_samples_of_a_class():
    counts = np.array([100.0, 9.0, 3.0])
    numbers = limit_numbers(Setting("diag", 8, 0.1, 0.0, limited=True), np.arange(3), counts)
    assert numbers.tolist() == [8, 2, 1]
    given = limit_numbers(Setting("diag", 8, 0.1, 0.0), np.arange(3), counts)
    assert given.tolist() == [8, 8, 8]


def test_a_class_missing_from_the_training_samples_has_no_density(rng):
    X, codes = rng.normal(size=(30, 3)), np.arange(30) % 3
    sample = Sample(X, codes, None, np.arange(3))
    fold = make_folds(sample, [(np.flatnonzero(codes < 2), np.arange(30))])[0]
    outcome = fold.try_models(Setting("diag", 1, 0.1, 0.1), [1])[0]
    assert np.all(np.isneginf(fold.predict(outcome).log_joint[:, 2]))
    assert np.all(np.isfinite(outcome.losses))
    assert np.all(outcome.wrong[codes == 2])


def test_samples_held_out_twice_count_once(fold):
    split = (fold.train_indices, fold.test_indices)
    once, twice = make_folds(fold.sample, [split]), make_folds(fold.sample, [split, split])
    assert once[0].n_total == twice[0].n_total == len(fold.test.X)
    setting = Setting("full", 1, 0.3, 0.0, "rda")
    single = once[0].try_models(setting, [1])[0]
    double = [part.try_models(setting, [1])[0] for part in twice]
    np.testing.assert_allclose(sum(o.losses for o in double), single.losses)
    assert sum(o.weight for o in double) == pytest.approx(single.weight)


def test_a_weight_of_two_is_two_samples(fold):
    X, codes = fold.sample.X, fold.sample.codes
    split = (fold.train_indices, fold.test_indices)
    weighted = Sample(X, codes, np.full(len(X), 2.0), fold.sample.classes)
    repeated = Sample(np.vstack([X, X]), np.tile(codes, 2), None, fold.sample.classes)
    both = [np.concatenate([part, part + len(X)]) for part in split]
    setting = Setting("full", 1, 0.3, 0.0, "rda")
    first = make_folds(weighted, [split])[0].try_models(setting, [1])[0]
    second = make_folds(repeated, [both])[0].try_models(setting, [1])[0]
    np.testing.assert_allclose(first.losses, second.losses, rtol=1e-6)
    assert first.error == pytest.approx(second.error)
