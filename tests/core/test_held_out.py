"""Ranks among held-out samples."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import kstest

from opgd.core import held_out
from opgd.core.held_out import HeldOut, compute_log_odds


def test_log_odds_agree_with_their_formula(rng):
    log_joints = rng.normal(scale=3, size=(50, 4))
    odds = compute_log_odds(log_joints)
    for k in range(4):
        others = logsumexp(np.delete(log_joints, k, axis=1), axis=1)
        np.testing.assert_allclose(odds[:, k], log_joints[:, k] - others, rtol=1e-12)


def test_log_odds_distinguish_probabilities_that_round_to_one():
    odds = compute_log_odds(np.array([[0.0, -50.0], [0.0, -60.0], [0.0, 0.0], [0.0, -1e9]]))
    np.testing.assert_allclose(odds, [[50, -50], [60, -60], [0, 0], [1e9, -1e9]])


def test_log_odds_of_one_class_are_finite():
    np.testing.assert_array_equal(compute_log_odds(np.array([[-3.0], [5.0]])), np.zeros((2, 1)))


def two_classes(odds, codes, weights=None):
    """Held-out samples with these log odds of the second class."""
    odds = np.asarray(odds, dtype=float)
    weights = np.ones(len(odds)) if weights is None else np.asarray(weights, dtype=float)
    log_joints = np.column_stack([np.zeros(len(odds)), odds])
    return HeldOut.collect(log_joints, np.asarray(codes), weights)


def test_p_values_by_hand():
    old = two_classes([1, 2, 3, -1, -2], [1, 1, 1, 0, 0])
    new = np.array([[0, 2.5], [0, 0.5], [0, -1.5]])
    # class 1: odds 1, 2, 3; class 0: odds 1, 2
    by_hand = [[1 / 3, 3 / 4], [1 / 3, 1 / 4], [2 / 3, 1 / 4]]
    np.testing.assert_allclose(old.p_values(new), by_hand)


def test_ties_are_less_conforming_unless_broken_at_random():
    old = two_classes([1, 1, 1, -1], [1, 1, 1, 0])
    new = np.array([[0, 1.0]])
    assert old.p_values(new)[0, 1] == 1.0
    assert old.p_values(new, 0.0, np.full((1, 2), 0.25))[0, 1] == 0.25


def test_weight_two_is_a_sample_twice(rng):
    odds, codes = rng.normal(size=20), np.repeat([0, 1], 10)
    weighted = two_classes(odds, codes, np.repeat([1, 2], 10))
    repeated = two_classes(np.append(odds, odds[10:]), np.append(codes, codes[10:]))
    new = rng.normal(size=(30, 2))
    np.testing.assert_allclose(weighted.p_values(new), repeated.p_values(new))


def test_randomized_p_values_are_uniform(rng):
    values = []
    for _ in range(400):
        old = two_classes(rng.integers(0, 4, 12), np.ones(12, dtype=int))
        new = np.column_stack([np.zeros(5), rng.integers(0, 4, 5)])
        values.append(old.p_values(new, 0.0, rng.random((5, 2)))[0, 1])
    assert kstest(values, "uniform").pvalue > 0.01


def test_log_ratios_of_priors_apply_to_old_and_new(rng):
    old = HeldOut.collect(rng.normal(size=(40, 3)), rng.integers(0, 3, 40), np.ones(40))
    new, ratios = rng.normal(size=(10, 3)), np.array([0.5, -1.0, 0.2])
    moved = HeldOut.collect(old.log_joints + ratios, old.codes, old.weights)
    np.testing.assert_allclose(
        old.p_values(new + ratios, ratios), moved.p_values(new + ratios), rtol=1e-12
    )


def distances_only(distances):
    n = len(distances)
    ones = np.ones(n)
    return HeldOut.collect(np.zeros((n, 1)), np.zeros(n, dtype=int), ones, np.asarray(distances))


def test_typicality_by_hand():
    found = distances_only([1.0, 2.0, 3.0, 4.0]).typicality(np.array([0.5, 2.0, 3.5]), 2)
    np.testing.assert_allclose(found, [1.0, 4 / 5, 2 / 5])


def test_typicality_decreases_beyond_all_held_out_samples(rng):
    old = distances_only(rng.chisquare(3, 500))
    far = old.distances.max() * np.array([1.0, 1.0001, 1.5, 3.0, 100.0, 1e6])
    found = old.typicality(far, 3)
    assert found[0] == pytest.approx(2 / 501)
    assert found[1] == pytest.approx(1 / 501, rel=1e-2)
    assert np.all(np.diff(found) <= 0)
    assert found[3] < 1e-6


def test_typicality_of_new_samples_is_uniform(rng):
    shares = []
    for _ in range(200):
        sample = rng.standard_t(2, size=150) ** 2  # no model of these is needed
        shares.append(np.mean(distances_only(sample[:99]).typicality(sample[99:], 1) <= 0.05))
    assert np.mean(shares) == pytest.approx(0.05, abs=3 * np.std(shares) / np.sqrt(200))


def test_large_classes_are_thinned_without_bias(rng, monkeypatch):
    codes = np.repeat([0, 1], [3000, 50])
    log_joints, distances = rng.normal(size=(3050, 2)), rng.chisquare(2, 3050)
    whole = HeldOut.collect(log_joints, codes, np.ones(3050), distances)
    monkeypatch.setattr(held_out, "MAX_PER_CLASS", 500)
    part = HeldOut.collect(log_joints, codes, np.ones(3050), distances)
    assert np.bincount(part.codes).tolist() == [500, 50]
    np.testing.assert_allclose(part.class_weights, whole.class_weights)
    new, far = rng.normal(size=(100, 2)), rng.chisquare(2, 100)
    assert np.abs(part.p_values(new) - whole.p_values(new)).max() < 0.06
    np.testing.assert_array_equal(part.p_values(new)[:, 1], whole.p_values(new)[:, 1])
    assert np.abs(part.typicality(far, 2) - whole.typicality(far, 2)).max() < 0.06
