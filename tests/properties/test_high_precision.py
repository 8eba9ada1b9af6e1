"""Tiny cases with extreme numbers, against the paper's formulas in sixty digits."""

import mpmath
import numpy as np
import pytest

from opgd import OPGDClassifier
from opgd.core.engines import RowEngine
from opgd.core.gaussians import FORMS
from opgd.core.moments import Moments
from opgd.core.objective import Objective
from opgd.core.targets import Labeled

mpmath.mp.dps = 60


def exact(values):
    """Floats as they are, without rounding."""
    return mpmath.matrix(np.atleast_2d(values).tolist())


def log_joints(row, components, priors, means, covariances, full):
    """log(pi_k phi_k) of one row, without the constant of the normal density."""
    V, joints = exact(components), []
    for prior, mean, covariance in zip(priors, means, covariances, strict=True):
        z = V * (exact(row) - exact(mean)).T
        S = V * exact(covariance) * V.T
        if not full:
            S = mpmath.diag([S[j, j] for j in range(S.rows)])
        distance = (z.T * S**-1 * z)[0]
        joints.append(mpmath.log(prior) - (mpmath.log(mpmath.det(S)) + distance) / 2)
    return joints


def log_posteriors(*arguments):
    joints = log_joints(*arguments)
    peak = max(joints)
    total = peak + mpmath.log(sum(mpmath.exp(own - peak) for own in joints))
    return [own - total for own in joints]


def mean_value(X, y, components, *model):
    total = sum(log_posteriors(row, components, *model)[k] for row, k in zip(X, y, strict=True))
    return total / len(X)


CASES = {
    "ordinary": (1.0, 1.0),
    "means 1e6 deviations apart": (1e6, 1.0),
    "variances from 1e-8 to 1e8": (1.0, 1e8),
    "both": (1e4, 1e6),
}


def extreme_case(name):
    distance, spread = CASES[name]
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(7, 3)), np.array([0, 1, 0, 1, 1, 0, 1])
    factors = rng.normal(size=(2, 3, 3)) + 2 * np.eye(3)
    covariances = factors @ factors.transpose(0, 2, 1)
    covariances[1] *= spread
    covariances[0] /= spread
    means = distance * rng.normal(size=(2, 3))
    rows = means[y] + np.sqrt(spread) * X
    components = rng.normal(size=(2, 3))
    return rows, y, components, np.array([0.3, 0.7]), means, covariances


@pytest.mark.parametrize("form", ["diag", "full"])
@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient_have_their_digits(name, form):
    X, y, components, priors, means, covariances = extreme_case(name)
    objective = Objective(
        RowEngine(X, y, subtract=True),
        np.eye(3),
        Moments(priors, priors, means, covariances),
        np.log(priors),
        FORMS[form],
        Labeled(np.arange(2)),
    )
    model = (priors, means, covariances, form == "full")
    value, gradient = objective.value_and_gradient(components)
    expected = mean_value(X, y, components, *model)
    assert value == pytest.approx(float(expected), rel=1e-9, abs=1e-12)
    slopes = np.empty_like(gradient)
    width = mpmath.mpf(10) ** -20  # far below what floats could do
    for place in np.ndindex(components.shape):
        ends = []
        for sign in (1, -1):
            moved = mpmath.matrix(components.tolist())
            moved[place] += sign * width
            ends.append(mean_value(X, y, np.array(moved.tolist(), dtype=object), *model))
        slopes[place] = float((ends[0] - ends[1]) / (2 * width))
    # posteriors below exp(-500) are not distinguished from it
    absolute = 1e-9 * np.abs(slopes).max() + 1e-190
    np.testing.assert_allclose(gradient, slopes, rtol=1e-8, atol=absolute)


@pytest.mark.parametrize("covariance_type", ["diag", "full"])
@pytest.mark.parametrize("distance", [0.0, 1e3, 1e8, 1e15, 1e60])
def test_log_probabilities_far_away_have_their_digits(distance, covariance_type):
    rng = np.random.default_rng(3)
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 3)) * (1 + y[:, None]) + 2 * np.eye(3)[y]
    model = OPGDClassifier(2, covariance_type=covariance_type, init="lda", max_iter=3, tol=1e-1)
    model.fit(X, y)
    far = X[:4] + distance * np.array([1.0, -1, 0.5])
    own = (model.priors_, model.means_, model.covariances_, covariance_type == "full")
    expected = [[float(p) for p in log_posteriors(row, model.components_, *own)] for row in far]
    np.testing.assert_allclose(model.predict_log_proba(far), expected, rtol=1e-7, atol=1e-9)


def test_a_rare_class_keeps_its_probability():
    """1e-300 is a probability like any other."""
    X = np.array([[-1.0], [1.0], [-1.5], [1.5], [99.0], [101.0], [98.5], [101.5]])
    y = np.repeat([0, 1], 4)
    model = OPGDClassifier(1, priors=[1e-300, 1.0]).fit(X, y)
    own = (model.priors_, model.means_, model.covariances_, False)
    rows = np.array([[0.0], [50.0], [100.0], [70.0]])
    expected = [[float(p) for p in log_posteriors(row, model.components_, *own)] for row in rows]
    np.testing.assert_allclose(model.predict_log_proba(rows), expected, rtol=1e-9, atol=1e-12)
