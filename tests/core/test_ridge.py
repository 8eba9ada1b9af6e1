"""The choice of the ridge: its criterion against refits, and where it is small or large."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax
from sklearn.datasets import load_wine

from opgd import OPGDClassifier, OPGDSemiSupervised
from opgd._fit.problem import prepare
from opgd.core import ridge as ridge_module
from opgd.core.engines import RowEngine
from opgd.core.regularization import unit_variance


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture
def criterion(monkeypatch):
    """A function that returns all candidates, the sum for each, and the one that is selected."""
    seen = []
    compute = ridge_module._LeaveOneOut.sum_log_posteriors

    def recorded(self, block):
        seen.append((self.ridges, compute(self, block)))
        return seen[-1][1]

    monkeypatch.setattr(ridge_module._LeaveOneOut, "sum_log_posteriors", recorded)

    def evaluate(prepared):
        seen.clear()
        selected = ridge_module.estimate_ridge(prepared.frame, prepared.classes)
        return seen[0][0], sum(totals for _, totals in seen), selected

    return evaluate


def refit(Z, y, ridge, level):
    """Sum the log posteriors of samples that are left out; samples labeled -1 have no part."""
    Z, y = Z[y >= 0], y[y >= 0]
    priors = np.bincount(y) / len(y)
    total = 0.0
    for i in np.flatnonzero(np.bincount(y)[y] > 1):
        rows, labels = np.delete(Z, i, axis=0), np.delete(y, i)
        means = np.array([rows[labels == k].mean(axis=0) for k in range(len(priors))])
        within = np.cov((rows - means[labels]).T, bias=True)
        within = (1 - ridge) * within + ridge * level * np.eye(Z.shape[1])
        densities = [stats.multivariate_normal(mean, within).logpdf(Z[i]) for mean in means]
        tempered = np.array(densities) / ridge_module.TEMPERATURE
        total += log_softmax(np.log(priors) + tempered)[y[i]]
    return total


def assert_refits_agree(evaluate, X, y, weights=None):
    prepared = prepare(RowEngine(X, y, weights), y.max() + 1)
    frame = prepared.frame
    Z, level = (X - frame.center) / frame.scale, unit_variance(frame, prepared.classes)
    repeats = np.ones(len(y), dtype=int) if weights is None else weights.astype(int)
    Z, y = np.repeat(Z, repeats, axis=0), np.repeat(y, repeats)
    ridges, totals, selected = evaluate(prepared)
    expected = [refit(Z, y, ridge, level) for ridge in ridges]
    np.testing.assert_allclose(totals, expected, rtol=1e-8)
    assert selected == ridges[np.argmax(expected)]


def test_the_criterion_is_that_of_refits(criterion, wine):
    assert_refits_agree(criterion, *wine)


def test_weights_are_repeats(criterion, wine, rng):
    X, y = wine[0][::3, :5], wine[1][::3]
    assert_refits_agree(criterion, X, y, rng.integers(1, 4, len(y)).astype(float))


def test_the_only_sample_of_a_class_is_not_left_out(criterion, wine):
    X, y = wine[0][::3, :5], wine[1][::3].copy()
    y[7] = 3
    assert_refits_agree(criterion, X, y)


def test_unlabeled_samples_are_not_left_out(criterion, wine):
    X, y = wine[0][::3, :5], wine[1][::3]
    assert_refits_agree(criterion, X, np.where(np.arange(len(y)) % 4 == 0, -1, y))


def test_blocks_and_threads_do_not_matter(wine):
    X, y = wine
    ridges = {
        prepare(RowEngine(X, y, block_rows=rows, n_threads=threads), 3).estimated_ridge
        for rows, threads in ((50, 1), (50, 2), (1000, 1))
    }
    assert len(ridges) == 1


def shared_factor(rng, n_samples, shift, n_features=10):
    """Features with a large variance in common and little of their own; `shift` moves class 1."""
    y = np.arange(n_samples) % 2
    X = rng.normal(size=(n_samples, 1)) + 0.1 * rng.normal(size=(n_samples, n_features))
    return X + y[:, None] * shift, y


def fitted_ridge(X, y):
    return OPGDClassifier(max_iter=0).fit(X, y).ridge_


def test_the_ridge_vanishes_with_the_number_of_samples(rng):
    ridges = [
        fitted_ridge(*shared_factor(rng, n_samples, np.ones(10))) for n_samples in (50, 500, 20_000)
    ]
    assert ridges == sorted(ridges, reverse=True)
    assert ridges[-1] <= 40 / 20_000


def test_directions_of_small_variance_that_separate_classes_are_kept(rng):
    contrast = np.zeros(10)
    contrast[:2] = 0.4, -0.4
    along, across = (
        [fitted_ridge(*shared_factor(rng, 40, shift)) for _ in range(10)]
        for shift in (contrast, np.ones(10))
    )
    assert max(along) < 0.02
    assert np.median(across) > 0.05


def test_features_without_correlation_get_a_large_ridge(rng):
    y = np.arange(40) % 2
    ridges = [
        fitted_ridge(rng.normal(size=(40, 10)) + 1.5 * y[:, None] * np.eye(10)[0], y)
        for _ in range(10)
    ]
    assert np.median(ridges) > 0.3


def test_a_singular_covariance_gets_a_ridge(rng):
    X, y = rng.normal(size=(15, 30)), np.arange(15) % 3
    assert prepare(RowEngine(X, y), 3).estimated_ridge > 0


def test_a_number_is_used_as_it_is(wine):
    for ridge in (0.0, 0.25):
        assert OPGDClassifier(ridge=ridge, max_iter=0).fit(*wine).ridge_ == ridge
    partly = np.where(np.arange(len(wine[1])) % 3 == 0, -1, wine[1])
    assert 0 <= OPGDSemiSupervised(n_rounds=0, max_iter=0).fit(wine[0], partly).ridge_ < 1
