import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, multivariate_t

from opgd.core.tails import DEGREES, Tails


def test_densities_are_those_of_t_distributions(rng):
    X, root = rng.normal(size=(5, 3)), rng.normal(size=(3, 3))
    mean, covariance = rng.normal(size=3), root @ root.T
    at_mean = multivariate_normal(mean, covariance).logpdf(mean)
    distances = 2 * (at_mean - multivariate_normal(mean, covariance).logpdf(X))
    tails = Tails(np.array([1.7]), np.array([4.0]))
    expected = multivariate_t(mean, 1.7 * covariance, df=4).logpdf(X)
    joint = tails.log_joint(distances[:, None], np.array([at_mean]), 3)
    np.testing.assert_allclose(joint[:, 0], expected)


def test_likelihood_never_decreases(rng):
    X = np.vstack([rng.standard_t(3, size=(200, 2)), rng.normal([6, 0], 0.4, size=(100, 2))])
    means = np.array([[0.0, 0.0], [6.0, 0.0]])
    distances = np.sum((X[:, None] - means) ** 2, axis=2)
    at_means, tails, values = np.log([2 / 3, 1 / 3]), Tails.make_nearly_normal(2), []
    for _ in range(40):
        joint = tails.log_joint(distances, at_means, 2)
        values.append(logsumexp(joint, axis=1).sum())
        posteriors = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        tails = tails.re_estimate(distances, posteriors, 2)
    assert np.all(np.diff(values) > -1e-9)
    assert tails.degrees[0] < 6 < tails.degrees[1]
    assert tails.scales[1] == pytest.approx(0.16, rel=0.3)
    assert set(tails.degrees) <= set(DEGREES)
