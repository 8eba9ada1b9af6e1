"""Calibration by a temperature and a background of the priors."""

import numpy as np
import pytest
from scipy.special import softmax

from opgd.core.calibration import (
    TEMPERATURES,
    _HeldOutLikelihood,
    compute_losses,
    fit_calibration,
    least_background,
    make_shares,
    raw_loss,
)
from opgd.core.fitted import mix_background

PRIORS = np.array([0.6, 0.3, 0.1])


@pytest.fixture
def held_out(rng):
    """Overconfident log joints, classes, weights, and the priors of the classes."""
    n = 4000
    codes = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    log_joint = 2.0 * rng.normal(size=(n, 3)) + 3.0 * np.eye(3)[codes]
    return 5.0 * log_joint, codes, rng.uniform(0.5, 2, n), PRIORS[codes]


def direct_loss(log_joint, codes, weights, true_priors, temperature, share):
    assert np.array_equal(true_priors, PRIORS[codes])
    posteriors = (1 - share) * softmax(log_joint / temperature, axis=1) + share * PRIORS
    return -weights @ np.log(posteriors[np.arange(len(codes)), codes])


def test_losses_are_those_of_the_formula(held_out):
    total = float(held_out[2].sum())
    losses, shares = compute_losses(*held_out, total), make_shares(total)
    for i, temperature in enumerate(TEMPERATURES):
        for j, share in enumerate(shares):
            assert losses[i, j] == pytest.approx(
                direct_loss(*held_out, temperature, share), rel=1e-9
            )


def test_mixture_is_the_log_of_the_formula(held_out):
    log_joint = held_out[0]
    expected = np.log(0.9 * softmax(log_joint, axis=1) + 0.1 * PRIORS)
    np.testing.assert_allclose(mix_background(log_joint, 0.1, PRIORS), expected, rtol=1e-10)
    np.testing.assert_allclose(
        mix_background(log_joint, 0.0, PRIORS), np.log(softmax(log_joint, axis=1)), atol=1e-9
    )


def test_calibration_is_a_minimum(held_out):
    fitted = fit_calibration(*held_out)
    at = direct_loss(*held_out, fitted.temperature, fitted.background)
    for factor in (0.9, 1.1):
        assert direct_loss(*held_out, factor * fitted.temperature, fitted.background) > at - 0.1
        assert direct_loss(*held_out, fitted.temperature, factor * fitted.background) > at - 0.1
    assert fitted.temperature > 2
    assert at < raw_loss(*held_out[:3])


def test_gradient_agrees_with_central_differences(held_out, rng):
    held_out[0][:5, 2] = -np.inf
    objective = _HeldOutLikelihood(*held_out)
    at, step = np.array([[0.4, -1.0]]), rng.normal(size=(1, 2))
    ahead, behind = (objective.value(at + sign * 1e-6 * step) for sign in (1, -1))
    slope = np.sum(objective.value_and_gradient(at)[1] * step)
    assert (ahead - behind) / 2e-6 == pytest.approx(slope, rel=1e-6)


def test_perfect_predictions_do_not_become_certain(rng):
    codes = rng.integers(0, 2, 50)
    log_joint = 10.0 * np.eye(2)[codes]
    fitted = fit_calibration(log_joint, codes, np.ones(50), np.full(50, 0.5))
    assert 0.25 <= fitted.temperature <= 1
    assert fitted.background >= least_background(50) * (1 - 1e-12)


def test_one_excluded_sample_does_not_determine_the_temperature(rng):
    codes = rng.integers(0, 2, 400)
    log_joint = 3.0 * np.eye(2)[codes] + rng.normal(size=(400, 2))
    priors = np.full(400, 0.5)
    before = fit_calibration(log_joint, codes, np.ones(400), priors)
    log_joint[0, codes[0]] = -1e6
    after = fit_calibration(log_joint, codes, np.ones(400), priors)
    assert after.temperature == pytest.approx(before.temperature, rel=0.25)


def test_a_class_without_density_has_the_background_left():
    log_joint = np.array([[0.0, -np.inf]])
    posteriors = np.exp(mix_background(log_joint, 0.1, np.array([0.5, 0.5])))
    np.testing.assert_allclose(posteriors, [[0.95, 0.05]])
