"""First mixtures of samples with missing entries."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_wine

from opgd._fit import first_mixtures
from opgd._fit.first_mixtures import StructureFit, fit_without_prior
from opgd._fit.incomplete_mixtures import average_observed, fit_incomplete
from opgd._fit.mixture_init import draw_rows
from opgd._fit.problem import frame_samples
from opgd._fit.regularizer import Regularizer
from opgd.core.coordinates import sphered_coordinates
from opgd.core.engines import RowEngine
from opgd.core.gaussians import ProjectedGaussians
from opgd.core.structures import STRUCTURES


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    drawn = np.random.default_rng(0).uniform(size=X.shape)
    return np.where(drawn < 0.15, np.nan, X)[:, :6], y


@pytest.fixture(scope="module")
def frame(wine):
    X, y = wine
    return frame_samples(RowEngine(X, y, np.linspace(0.5, 1.5, len(y))))


def fit_structure(frame, name):
    rows, regularizer = draw_rows(frame)[:, : first_mixtures.MAX_DIMENSIONS], Regularizer(1.0)
    return StructureFit.start(frame, rows, [frame.moments(3)], name, regularizer)


def log_densities(X, frame, moments):
    """Return log densities (n, K) of the observed entries, from marginals in the features."""
    coordinates = sphered_coordinates(frame)
    means = coordinates.raw_means(moments.means)
    joint = np.empty((len(X), len(means)))
    for i, x in enumerate(X):
        o = ~np.isnan(x)
        for k, mean in enumerate(means):
            covariance = coordinates.raw_covariance(moments.covariances[k])[np.ix_(o, o)]
            joint[i, k] = multivariate_normal.logpdf(x[o], mean[o], covariance)
    return joint + np.log(moments.priors)


def test_log_density_is_that_of_the_marginals_of_observed_entries(wine, frame):
    X, _ = wine
    moments = frame.moments(3)
    gaussians = frame.span.make_gaussians(moments, constrained=True)
    found = average_observed(frame, gaussians, np.log(moments.priors))
    joint, weights = log_densities(X, frame, moments), frame.engine.weights
    totals = logsumexp(joint, axis=1)
    assert found[0] == pytest.approx(np.average(totals, weights=weights), rel=1e-9)
    certainty = np.average(joint.max(axis=1) - totals, weights=weights)
    assert found[1] == pytest.approx(certainty, rel=1e-6)


def test_em_increases_the_penalized_likelihood_of_observed_entries(frame):
    fit = fit_structure(frame, "full")
    first, prior = fit.describe(frame), fit.constraints.prior

    def evaluate(moments):
        gaussians = frame.span.make_gaussians(moments, constrained=True)
        mean = average_observed(frame, gaussians, np.log(moments.priors))[0]
        return frame.engine.count * mean + prior.log_density(moments.covariances)

    values, moments = [evaluate(first.moments)], first.moments
    for _ in range(5):
        moments = frame.fit_mixture(moments, 1, first.constrain)
        values.append(evaluate(moments))
    assert np.all(np.diff(values) > -1e-8)
    assert values[-1] > values[0] + 1


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("n_leading", [100, 4])
def test_em_keeps_the_structure_of_the_covariances(frame, name, n_leading, monkeypatch):
    monkeypatch.setattr(first_mixtures, "MAX_DIMENSIONS", n_leading)
    fit, kind = fit_structure(frame, name), STRUCTURES[name]
    first = fit.describe(frame)
    moments = fit_incomplete(frame, first).moments
    assert np.abs(moments.means - first.moments.means).max() > 1e-3
    np.testing.assert_allclose(moments.means[:, n_leading:], 0)
    leading = np.eye(len(frame.spread))[:, : len(fit.to_rows)]
    covariances = moments.mapped(leading @ fit.to_rows).covariances
    variances = np.diagonal(covariances, axis1=1, axis2=2) if kind.diagonal else covariances
    weights = moments.weights.reshape(-1, *[1] * (variances.ndim - 1))
    again = kind.estimate(weights * variances, moments.weights)
    gaussians = ProjectedGaussians(np.log(moments.priors), moments.means, again)
    np.testing.assert_allclose(gaussians.full_covariances, covariances, atol=1e-9)


def test_without_a_prior_em_takes_missing_entries_into_account(frame):
    [first] = fit_without_prior(frame, draw_rows(frame), [frame.moments(3)])
    fitted = fit_incomplete(frame, first)
    assert np.all(np.isfinite(fitted.moments.covariances))
    assert np.isfinite(fitted.log_likelihood)
