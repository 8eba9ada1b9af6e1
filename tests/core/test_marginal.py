"""Samples with missing entries, compared with integrals over these entries."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import kstest, multivariate_normal

from opgd import OPGDClassifier, OPGDMixture
from opgd.core.observed import factorize, substitute


def table(rng, n=150, p=4):
    y = np.arange(n) % 3
    X = rng.normal(size=(n, p)) * np.array([0.5, 1.0, 1.5])[y][:, None]
    return X @ rng.normal(size=(p, p)) + 2 * rng.normal(size=(3, p))[y], y


def whole_densities(model):
    """Priors, and frozen densities of whole samples by class: x = D z + e, e shared by classes."""
    projection = model._projection
    coordinates, b = projection.completion.coordinates, projection.center
    T, V = coordinates.raw_covariance(projection.completion.total), model.components_.T
    P = V.T @ T @ V
    D = T @ V @ np.linalg.inv(P)
    variances = model.projected_variances_
    if variances.ndim == 2:
        variances = variances[:, :, None] * np.eye(V.shape[1])
    rest = T - D @ P @ D.T
    return model.priors_, [
        multivariate_normal(b + D @ m, D @ S @ D.T + rest)
        for m, S in zip(projection.gaussians.means, variances, strict=True)
    ]


@pytest.mark.parametrize(
    ("n_components", "form", "missing"), [(1, "diag", [2]), (2, "full", [0, 3]), (2, "diag", [1])]
)
def test_posteriors_equal_numerical_integration(rng, n_components, form, missing):
    X, y = table(rng)
    model = OPGDClassifier(n_components, covariance_type=form).fit(X, y)
    priors, densities = whole_densities(model)
    sample = X[7].copy()
    joints = []
    for prior, density in zip(priors, densities, strict=True):
        # the trapezoidal rule converges exponentially for smooth functions that vanish at the ends
        deviations = np.sqrt(np.diag(density.cov_object.covariance))[missing]
        steps = np.linspace(-12, 12, 600)
        axes = [m + s * steps for m, s in zip(density.mean[missing], deviations, strict=True)]
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(missing))
        complete = np.repeat(sample[None], len(grid), axis=0)
        complete[:, missing] = grid
        cell = np.prod([axis[1] - axis[0] for axis in axes])
        joints.append(prior * density.pdf(complete).sum() * cell)
    incomplete = sample.copy()
    incomplete[missing] = np.nan
    expected = np.array(joints) / sum(joints)
    posteriors = model.predict_proba(incomplete[None])[0]
    np.testing.assert_allclose(posteriors, expected, atol=1e-6)
    assert 1e-3 < posteriors.max() < 1 - 1e-6


@pytest.mark.parametrize("form", ["diag", "full"])
@pytest.mark.parametrize("n_components", [1, 2, 4])
@pytest.mark.parametrize("n_subclasses", [1, 2])
def test_posteriors_equal_marginal_gaussians(rng, form, n_components, n_subclasses):
    X, y = table(rng)
    model = OPGDClassifier(
        n_components, covariance_type=form, n_subclasses=n_subclasses, init="lda", max_iter=0
    ).fit(X, y)
    _, densities = whole_densities(model)
    X[rng.uniform(size=X.shape) < 0.5] = np.nan
    log_priors = model._projection.gaussians.log_priors
    joint = np.empty((len(X), len(densities)))
    for i, x in enumerate(X):
        o = ~np.isnan(x)
        for c, density in enumerate(densities):
            mean, covariance = density.mean[o], density.cov_object.covariance[np.ix_(o, o)]
            log_density = multivariate_normal.logpdf(x[o], mean, covariance) if o.any() else 0.0
            joint[i, c] = log_priors[c] + log_density
    by_class = np.exp(joint - joint.max(axis=1, keepdims=True))
    by_class = by_class @ np.eye(3)[model.gaussian_classes_]
    expected = by_class / by_class.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-8)


def test_a_sample_without_values_has_the_priors(rng):
    X, y = table(rng)
    model = OPGDClassifier(2, priors=[0.2, 0.3, 0.5]).fit(X, y)
    nothing = np.full((1, 4), np.nan)
    np.testing.assert_allclose(model.predict_proba(nothing), [[0.2, 0.3, 0.5]], rtol=1e-9)
    assert model.typicality(nothing) == 1
    mean = model.priors_ @ model.projected_means_
    np.testing.assert_allclose(model.transform(nothing)[0], mean, rtol=1e-9)


def test_equal_components_give_finite_results(rng):
    X, y = table(rng)
    one = OPGDClassifier(1).fit(X, y)
    init = np.repeat(one.components_, 2, axis=0)
    two = OPGDClassifier(2, init=init, max_iter=0).fit(X, y)
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    posteriors = two.predict_proba(X)
    assert np.all(np.isfinite(posteriors))
    assert np.all(np.isfinite(two.transform(X)))
    agreement = np.mean(posteriors.argmax(axis=1) == one.predict_proba(X).argmax(axis=1))
    assert agreement > 0.8  # two equal scores count twice


def test_a_missing_feature_without_influence_changes_nothing(rng):
    X, y = table(rng)
    constant = np.column_stack([X, np.ones(len(X))])
    with pytest.warns(match="constant"):
        model = OPGDClassifier(2).fit(constant, y)
    missing = constant.copy()
    missing[:, -1] = np.nan
    np.testing.assert_allclose(
        model.predict_proba(missing), model.predict_proba(constant), atol=1e-9
    )
    np.testing.assert_allclose(model.typicality(missing), model.typicality(constant), atol=1e-9)
    np.testing.assert_allclose(model.transform(missing), model.transform(constant), atol=1e-9)


@pytest.mark.parametrize("form", ["diag", "full"])
def test_density_of_a_mixture_is_the_integral_over_missing_entries(rng, form):
    X, _ = table(rng)
    model = OPGDMixture(3, n_components=2, covariance_type=form, random_state=0).fit(X)
    for sample in X[:3]:

        def density(value, sample=sample):
            complete = sample.copy()
            complete[1] = value
            return np.exp(model.score_samples(complete[None])[0])

        expected, _ = integrate.quad(density, -40, 40, epsabs=1e-14, limit=300)
        incomplete = sample.copy()
        incomplete[1] = np.nan
        found = np.exp(model.score_samples(incomplete[None])[0])
        assert found == pytest.approx(expected, rel=1e-6)


def test_transform_is_the_conditional_mean_of_the_scores(rng):
    X, _ = table(rng)
    model = OPGDMixture(3, n_components=2, random_state=0).fit(X)
    sample = X[5].copy()
    grid = np.linspace(-40, 40, 200_001)
    complete = np.repeat(sample[None], len(grid), axis=0)
    complete[:, 0] = grid
    shares = np.exp(model.score_samples(complete))
    expected = shares @ model.transform(complete) / shares.sum()
    incomplete = sample.copy()
    incomplete[0] = np.nan
    np.testing.assert_allclose(model.transform(incomplete[None])[0], expected, rtol=1e-6)


def test_typicality_of_observed_values_is_uniform_within_one_class(rng):
    X = rng.normal(size=(4000, 4)) @ rng.normal(size=(4, 4))
    model = OPGDMixture(1, n_components=3, random_state=0).fit(X)
    X[rng.uniform(size=X.shape) < 0.4] = np.nan
    observed = np.isfinite(X).any(axis=1)
    assert kstest(model.typicality(X[observed]), "uniform").pvalue > 1e-3


def test_matrices_of_many_samples_are_factorized(rng):
    roots = rng.normal(size=(50, 4, 6))
    matrices = roots @ roots.transpose(0, 2, 1)
    factors = matrices.transpose(1, 2, 0).copy()
    pivots = factorize(factors, 0.0)
    expected = np.linalg.cholesky(matrices)
    np.testing.assert_allclose(factors.transpose(2, 0, 1), expected, atol=1e-12)
    np.testing.assert_allclose(np.prod(pivots, axis=0), np.linalg.det(matrices), rtol=1e-9)
    vectors = rng.normal(size=(4, 50))
    solved = np.linalg.solve(expected, vectors.T[:, :, None])[:, :, 0].T
    np.testing.assert_allclose(substitute(factors, vectors), solved, atol=1e-9)


def test_singular_matrices_have_zero_columns(rng):
    root = rng.normal(size=(4, 2))
    factors = (root @ root.T)[:, :, None].copy()
    pivots = factorize(factors, 1e-10)
    assert (pivots > 0)[:, 0].tolist() == [True, True, False, False]
    np.testing.assert_allclose(factors[:, :, 0] @ factors[:, :, 0].T, root @ root.T, atol=1e-12)


def test_a_projection_without_completion_says_what_to_do(rng):
    X, y = table(rng)
    projection = replace(OPGDClassifier(2).fit(X, y)._projection, completion=None)
    complete = projection.class_log_joint(X)
    assert np.all(np.isfinite(complete))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="fit it again"):
        projection.class_log_joint(X)
