"""Class shares of new samples, and what moved."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.datasets import load_iris

from opgd import DataWarning, OPGDClassifier, OPGDClassifierCV
from opgd.baselines import ReducedRankLDA, RegularizedDiscriminantAnalysis
from opgd.core.shift import compare_moments, estimate_shares, fit_correction

QUICK = {"shrinkage": 0.1, "ridge": 0.05, "n_subclasses": 1, "covariance_type": "diag", "cv": 3}
MEANS = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]])


def draw(rng, counts):
    codes = np.repeat(np.arange(3), counts)
    return MEANS[codes] + rng.normal(size=(len(codes), 3)), np.array(["a", "b", "c"])[codes]


@pytest.fixture(scope="module")
def fitted():
    X, y = draw(np.random.default_rng(0), [500, 500, 500])
    return OPGDClassifierCV(2, **QUICK).fit(X, y)


def log_posteriors(rng, n, priors):
    """Exact posteriors of samples of two normal classes with shares 0.8 and 0.2."""
    codes = (rng.random(n) < 0.2).astype(int)
    x = rng.normal(size=n) + 2 * codes
    joint = np.log(priors) - 0.5 * (x[:, None] - [0.0, 2.0]) ** 2
    return joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))


# EM


def test_shares_maximize_the_likelihood(rng):
    priors = np.array([0.5, 0.5])
    posteriors = log_posteriors(rng, 300, priors)
    found = estimate_shares(posteriors, priors)

    def loss(share):
        return -np.sum(np.log(np.exp(posteriors) / priors @ [1 - share[0], share[0]]))

    direct = minimize(loss, [0.5], bounds=[(1e-6, 1 - 1e-6)]).x[0]
    assert found.shares[1] == pytest.approx(direct, abs=1e-4)
    assert found.converged


def test_standard_errors_are_those_of_repeated_samples(rng):
    priors = np.array([0.3, 0.7])
    found = [estimate_shares(log_posteriors(rng, 200, priors), priors) for _ in range(300)]
    shares = np.array([own.shares[1] for own in found])
    errors = np.array([own.standard_errors[1] for own in found])
    assert shares.mean() == pytest.approx(0.2, abs=3 * shares.std() / np.sqrt(300))
    assert errors.mean() == pytest.approx(shares.std(), rel=0.15)


def test_certain_posteriors_are_counted():
    posteriors = np.log(np.repeat(np.eye(3) + 1e-300, [5, 3, 2], axis=0))
    found = estimate_shares(posteriors, np.full(3, 1 / 3))
    np.testing.assert_allclose(found.shares, [0.5, 0.3, 0.2], atol=1e-6)
    np.testing.assert_allclose(
        found.standard_errors, np.sqrt([0.5 * 0.5, 0.3 * 0.7, 0.2 * 0.8]) / np.sqrt(10), rtol=1e-6
    )


def test_errors_of_shares_without_information_are_those_of_any_share(rng):
    priors = np.array([0.5, 0.3, 0.2])
    unknown = estimate_shares(np.tile(np.log(priors), (100, 1)), priors)  # all values missing
    np.testing.assert_allclose(unknown.standard_errors, 0.5)
    posteriors = rng.dirichlet([1e3, 1e-3, 1e-3], size=60) + 1e-300  # samples of one class
    errors = estimate_shares(np.log(posteriors), priors).standard_errors
    assert np.all((errors > 0) & (errors <= 0.5))


def test_estimates_do_not_depend_on_the_priors_of_the_model(rng):
    X, y = draw(rng, [100, 100, 100])
    new = draw(rng, [200, 50, 10])[0]
    one, other = (ReducedRankLDA(priors=own).fit(X, y) for own in (None, [0.6, 0.3, 0.1]))
    np.testing.assert_allclose(
        one.estimate_priors(new).priors, other.estimate_priors(new).priors, atol=1e-4
    )


def test_corrections_maximize_the_likelihood_of_held_out_samples(rng):
    logits, codes = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    weights = rng.exponential(size=200)
    found = fit_correction(log_softmax(logits, axis=1), codes, weights)

    def loss(at):
        corrected = log_softmax(np.exp(at[0]) * log_softmax(logits, axis=1) + at[1:], axis=1)
        return -weights @ corrected[np.arange(200), codes] + 0.5 * np.sum(at**2)

    direct = minimize(loss, np.zeros(4)).x
    np.testing.assert_allclose([-np.log(found.temperature), *found.biases], direct, atol=1e-3)


def test_biased_posteriors_are_corrected_by_held_out_samples(rng):
    priors = np.array([0.5, 0.5])

    def biased(n, share):
        codes = (rng.random(n) < share).astype(int)
        x = rng.normal(size=n) + 2 * codes
        log_odds = 2.0 * (2 * x - 2) + 1.0  # of a model with too much confidence, and a bias
        return log_softmax(np.column_stack([np.zeros(n), log_odds]), axis=1), codes

    old, codes = biased(4000, 0.5)
    new, _ = biased(4000, 0.2)
    correction = fit_correction(old, codes, np.ones(4000))
    source = np.exp(correction.apply(old)).mean(axis=0)
    found = estimate_shares(correction.apply(new), source)
    assert found.shares[1] == pytest.approx(0.2, abs=0.02)
    assert abs(estimate_shares(new, priors).shares[1] - 0.2) > 0.04


# estimators


def test_estimated_priors_are_close_and_help(fitted, rng):
    X, y = draw(rng, [900, 80, 20])
    found = fitted.estimate_priors(X)
    assert np.all(np.abs(found.priors - [0.9, 0.08, 0.02]) < 3 * found.standard_errors + 0.01)
    assert found.priors.sum() == pytest.approx(1.0)
    right = [np.mean(fitted.predict(X, priors) == y) for priors in (None, found, found.priors)]
    assert right[0] < right[1] == right[2]


@pytest.mark.parametrize("estimator", [ReducedRankLDA(), RegularizedDiscriminantAnalysis()])
def test_every_classifier_estimates_priors(estimator, rng):
    model = estimator.fit(*draw(rng, [100, 100, 100]))
    found = model.estimate_priors(draw(rng, [300, 50, 50])[0])
    assert np.abs(found.priors - [0.75, 0.125, 0.125]).max() < 0.1
    assert np.isnan(found.far_share) == (not hasattr(model, "typicality"))


def test_there_is_a_warning_if_more_than_the_shares_changed(fitted, rng):
    X = draw(rng, [300, 300, 300])[0]
    fitted.estimate_priors(X)
    with pytest.warns(DataWarning, match="More than the class shares"):
        fitted.estimate_priors(X + np.array([0, 1.5, 0]))


def test_few_held_out_samples_far_by_chance_are_no_warning(fitted, rng):
    for _ in range(50):
        fitted.estimate_priors(draw(rng, [10, 10, 10])[0])


# drift


def test_moments_are_compared_by_hand():
    values = np.array([[1.0], [3.0]])
    moves = compare_moments(
        values, np.array([0.5, 0.5]), np.array([[0.0], [2.0]]), np.array([[3.0], [3.0]])
    )
    # expected mean 1 and standard deviation sqrt(3 + 1) = 2; found 2 and 1
    assert moves.shift == pytest.approx([0.5])
    assert moves.spread == pytest.approx([0.5])
    assert moves.standard_error == pytest.approx([0.5 / np.sqrt(2)])


def test_new_samples_like_the_old_have_not_moved(fitted, rng):
    drift = fitted.drift(draw(rng, [1000, 1000, 1000])[0])
    for table in (drift.features, drift.components):
        assert np.all(np.abs(table["shift"]) < 4 * table["standard_error"])
        np.testing.assert_allclose(table["spread"], 1.0, atol=0.08)
    assert np.all(drift.classes["shift"] < 0.15)


def test_other_shares_alone_are_no_shift(fitted, rng):
    drift = fitted.drift(draw(rng, [2000, 300, 700])[0])
    assert np.all(np.abs(drift.features["shift"]) < 0.1)
    # of this, 0.02 is the error of the densities, estimated from 500 samples of each class
    np.testing.assert_allclose(drift.classes["new_prior"], [2 / 3, 0.1, 0.7 / 3], atol=0.06)


def test_the_feature_and_the_class_that_moved_are_found(fitted, rng):
    X, y = draw(rng, [500, 500, 500])
    sensor = fitted.drift(X + np.array([0, 0, 0.7]))
    assert np.argmax(np.abs(sensor.features["shift"])) == 2
    assert sensor.features["shift"][2] == pytest.approx(0.7, abs=0.15)
    X[y == "b", 0] += 1.0
    moved = fitted.drift(X)
    assert moved.classes["class"][np.argmax(moved.classes["shift"])] == "b"
    assert moved.far_share > moved.expected_far_share


@pytest.mark.parametrize("covariance_type", ["diag", "full"])
def test_tables_have_names(covariance_type):
    iris = load_iris(as_frame=True)
    model = OPGDClassifier(2, covariance_type=covariance_type).fit(iris.data, iris.target)
    drift = model.drift(iris.data)
    assert pd.DataFrame(drift.features)["feature"].tolist() == iris.data.columns.tolist()
    assert len(pd.DataFrame(drift.components)) == 2
    # the means of the training samples are those of the model
    np.testing.assert_allclose(drift.features["shift"], 0.0, atol=0.02)


def test_drift_of_features_that_are_not_used_is_not_reported():
    iris = load_iris(as_frame=True)
    model = OPGDClassifier(1, sparsity=2).fit(iris.data, iris.target)
    used = iris.data.columns[model.get_support()]
    drift, alone = (
        fitted.drift(iris.data[columns] + 1.0)
        for fitted, columns in [
            (model, iris.data.columns),
            (OPGDClassifier(1).fit(iris.data[used], iris.target), used),
        ]
    )
    assert drift.features["feature"].tolist() == used.tolist()
    np.testing.assert_allclose(drift.features["shift"], alone.features["shift"], rtol=1e-6)


def test_dask_input_is_computed(fitted, rng):
    da = pytest.importorskip("dask.array")
    X = draw(rng, [50, 50, 50])[0]
    lazy = da.from_array(X, chunks=(40, -1))
    np.testing.assert_array_equal(
        fitted.estimate_priors(lazy).priors, fitted.estimate_priors(X).priors
    )
    np.testing.assert_array_equal(
        fitted.drift(lazy).features["shift"], fitted.drift(X).features["shift"]
    )
