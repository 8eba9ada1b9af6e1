"""EM inside a projection: against scikit-learn, scipy and itself; and moments by shares."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture

from opgd.core.em import LEAST_VARIANCE, Constraints, block_posteriors, fit_mixture
from opgd.core.engines import RowBlock, RowEngine
from opgd.core.gaussians import FORMS, ProjectedGaussians
from opgd.core.kernels import block_features
from opgd.core.moments import group_moments, multiply_rows_by, soft_moments
from opgd.core.structures import STRUCTURES, CovariancePrior, estimate_free, make_prior

BOTH_FORMS = pytest.mark.parametrize("form", ["diag", "full"])


def three_clouds(rng, n_rows=240, n_features=3):
    """Rows, and which of three overlapping clouds of unequal shape each is from."""
    labels = rng.integers(0, 3, n_rows)
    shapes = np.eye(n_features) + 0.4 * rng.normal(size=(3, n_features, n_features))
    X = np.einsum("nij,nj->ni", shapes[labels], rng.normal(size=(n_rows, n_features)))
    return X + 2.0 * rng.normal(size=(3, n_features))[labels], labels


def rough_start(rng, form, n_features=3, n_gaussians=3):
    factors = rng.normal(size=(n_gaussians, n_features, 2 * n_features))
    covariances = factors @ factors.transpose(0, 2, 1) / n_features
    variances = np.diagonal(covariances, axis1=1, axis2=2).copy() if form == "diag" else covariances
    priors = rng.dirichlet(np.full(n_gaussians, 5.0))
    means = 2.0 * rng.normal(size=(n_gaussians, n_features))
    return ProjectedGaussians(np.log(priors), means, variances)


def as_matrices(gaussians):
    own = gaussians.variances
    return own if own.ndim == 3 else own[:, :, None] * np.eye(own.shape[1])


def expected_log_likelihood(own, covariance):
    """Of rows with the covariance `own` under a Gaussian, without constants and factors."""
    return -np.linalg.slogdet(covariance)[1] - np.trace(np.linalg.solve(covariance, own))


def run_em(engine, start, form, **options):
    components = np.eye(engine.X.shape[1])
    return fit_mixture(engine, components, start, FORMS[form], **options)


# --- agreement --------------------------------------------------------------------------------


@BOTH_FORMS
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_em_agrees_with_scikit_learn(form, rng):
    X, _ = three_clouds(rng)
    start = rough_start(rng, form)
    other = GaussianMixture(
        3,
        covariance_type=form,
        reg_covar=0.0,
        tol=0.0,
        max_iter=12,
        weights_init=np.exp(start.log_priors),
        means_init=start.means,
        precisions_init=1 / start.variances if form == "diag" else np.linalg.inv(start.variances),
    ).fit(X)
    result = run_em(RowEngine(X, np.zeros(len(X), int)), start, form, max_iter=12, tol=-1.0)
    assert result.n_iter == 12
    assert not result.converged
    np.testing.assert_allclose(np.exp(result.gaussians.log_priors), other.weights_, atol=1e-8)
    np.testing.assert_allclose(result.gaussians.means, other.means_, atol=1e-8)
    np.testing.assert_allclose(result.gaussians.variances, other.covariances_, atol=1e-8)
    constant = 1.5 * np.log(2 * np.pi)
    assert result.log_likelihood - constant == pytest.approx(other.score(X), abs=1e-10)


@BOTH_FORMS
def test_history_begins_with_the_likelihood_of_the_start(form, rng):
    X, _ = three_clouds(rng)
    components, weights = rng.normal(size=(2, 3)), rng.uniform(0.1, 3, len(X))
    engine = RowEngine(X, np.zeros(len(X), int), weights, center=X.mean(axis=0))
    start = rough_start(rng, form, n_features=2)
    result = fit_mixture(engine, components, start, FORMS[form], max_iter=0)
    scores = (X - X.mean(axis=0)) @ components.T
    joint = [
        prior + stats.multivariate_normal(mean, covariance).logpdf(scores)
        for prior, mean, covariance in zip(
            start.log_priors, start.means, as_matrices(start), strict=True
        )
    ]
    expected = np.average(logsumexp(joint, axis=0), weights=weights) + np.log(2 * np.pi)
    assert result.history == [pytest.approx(expected, rel=1e-12)]
    assert np.array_equal(result.gaussians.means, start.means)


@BOTH_FORMS
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(form, rng):
    X, labels = three_clouds(rng)
    start, counts = rough_start(rng, form), rng.integers(0, 4, len(X))
    held = np.where(rng.uniform(size=len(X)) < 0.3, labels, -1)
    weighted, repeated = (
        run_em(engine, start, form, max_iter=20, tol=-1.0, gaussian_classes=np.arange(3))
        for engine in (
            RowEngine(X, held, counts.astype(float)),
            RowEngine(np.repeat(X, counts, axis=0), np.repeat(held, counts)),
        )
    )
    np.testing.assert_allclose(weighted.history, repeated.history, rtol=1e-11)
    np.testing.assert_allclose(weighted.gaussians.means, repeated.gaussians.means, atol=1e-9)


@BOTH_FORMS
def test_one_block_equals_many_and_threads_change_nothing(form, rng):
    X, labels = three_clouds(rng)
    start, weights = rough_start(rng, form), rng.uniform(0.1, 3, len(X))
    whole, *others = (
        run_em(RowEngine(X, labels, weights, **engine), start, form, max_iter=20, tol=-1.0)
        for engine in (
            {"block_rows": 10_000},
            {"block_rows": 7},
            {"block_rows": 7, "n_threads": 3},
            {"block_rows": 7, "subtract": True},
        )
    )
    for other in others:
        np.testing.assert_allclose(other.history, whole.history, rtol=1e-11)
        np.testing.assert_allclose(other.gaussians.variances, whole.gaussians.variances, rtol=1e-8)


# --- the likelihood never falls ---------------------------------------------------------------


@BOTH_FORMS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("held", [False, True])
def test_likelihood_never_falls(form, weighted, held, rng):
    for _ in range(5):
        X, labels = three_clouds(rng)
        known = np.where(rng.uniform(size=len(X)) < 0.3, labels, -1)
        weights = rng.uniform(0.1, 3, len(X)) if weighted else None
        start = rough_start(rng, form, n_gaussians=4)
        result = run_em(
            RowEngine(X, known, weights),
            start,
            form,
            max_iter=60,
            tol=-1.0,
            gaussian_classes=np.array([0, 1, 2, 2]) if held else None,
        )
        assert np.all(np.diff(result.history) >= -1e-9)  # rounding, at the bound
        assert result.history[-1] > result.history[0] + 0.01


@BOTH_FORMS
def test_likelihood_never_falls_where_a_cluster_would_collapse(form, rng):
    X, labels = three_clouds(rng)
    X[:6] = 3.0  # identical rows: without a bound the likelihood has no maximum
    start = rough_start(rng, form)
    means, variances = start.means.copy(), start.variances.copy()
    means[0], variances[0] = 3.0, 1e-3 * variances[0]
    start = replace(start, means=means, variances=variances)
    result = run_em(RowEngine(X, labels), start, form, max_iter=300, tol=-1.0)
    assert np.all(np.diff(result.history) >= -1e-10)  # squares are 1e5 variances there
    least = LEAST_VARIANCE * np.tensordot(np.exp(start.log_priors), as_matrices(start), axes=1)
    if form == "diag":
        least = np.diag(np.diag(least))
    np.testing.assert_allclose(as_matrices(result.gaussians)[0], least, rtol=1e-6, atol=1e-9)


@BOTH_FORMS
def test_bounded_variances_are_the_best_that_keep_the_bound(form, rng):
    matrix = np.diag if form == "diag" else np.asarray
    for _ in range(10):
        variances, least, step = (
            factor @ factor.T for factor in rng.normal(size=(3, 3, 3)) * [[[1]], [[0.8]], [[0.1]]]
        )
        if form == "diag":
            variances, least, step = map(np.diag, (variances, least, step))
        best = FORMS[form].clip_variances(variances[None], least)[0]
        assert np.linalg.eigvalsh(matrix(best - least)).min() > -1e-12
        likelihood = partial(expected_log_likelihood, matrix(variances))
        for share in (0.01, 0.1, 1.0):
            others = best + share * step, (1 - share) * best + share * (least + step)
            assert all(likelihood(matrix(best)) >= likelihood(matrix(at)) - 1e-12 for at in others)


@BOTH_FORMS
def test_clusters_far_apart_keep_their_variances(form, rng):
    X, labels = rng.normal(size=(400, 2)), np.repeat([0, 1], 200)
    X += 1e4 * labels[:, None]
    variances = np.ones((2, 2)) if form == "diag" else np.stack([np.eye(2)] * 2)
    start = ProjectedGaussians(np.log([0.5, 0.5]), np.array([[0.0, 0], [1e4, 1e4]]), variances)
    engine = RowEngine(X, labels, center=X.mean(axis=0))
    shifted = replace(start, means=start.means - engine.center)
    result = run_em(engine, shifted, form, max_iter=5, tol=-1.0)
    for own, group in zip(as_matrices(result.gaussians), (X[:200], X[200:]), strict=True):
        expected = np.cov(group.T, bias=True)
        expected = np.diag(np.diag(expected)) if form == "diag" else expected
        np.testing.assert_allclose(own, expected, atol=1e-5)


# --- stopping and empty clusters --------------------------------------------------------------


def test_em_stops_when_an_iteration_brings_less_than_tol(rng):
    X, labels = three_clouds(rng)
    result = run_em(RowEngine(X, labels), rough_start(rng, "diag"), "diag", tol=1e-3)
    gains = np.diff(result.history)
    assert result.converged
    assert len(gains) == result.n_iter
    assert gains[-1] < 1e-3 <= gains[:-1].min()
    assert result.log_likelihood == result.history[-1]


@BOTH_FORMS
def test_an_empty_cluster_stays_where_it_was_and_harms_nobody(form, rng):
    X, labels = three_clouds(rng)
    start = rough_start(rng, form)
    far = replace(start, means=np.vstack([start.means[:2], np.full(3, 1e4)]))
    two = ProjectedGaussians(start.log_priors[:2], start.means[:2], start.variances[:2])
    result, without = (
        run_em(RowEngine(X, labels), own, form, max_iter=20, tol=-1.0) for own in (far, two)
    )
    assert np.array_equal(result.gaussians.means[2], far.means[2])
    np.testing.assert_allclose(result.gaussians.means[:2], without.gaussians.means, atol=1e-8)
    assert result.log_likelihood == pytest.approx(without.log_likelihood, rel=1e-9)


# --- rows with a label ------------------------------------------------------------------------


@BOTH_FORMS
def test_labeled_rows_never_leave_their_class(form, rng):
    X, _ = three_clouds(rng)
    labels = rng.integers(-1, 2, len(X))  # at odds with where the rows lie
    gaussian_classes = np.array([0, 0, 1])
    engine = RowEngine(X, labels)
    start = rough_start(rng, form)
    result = run_em(engine, start, form, max_iter=30, gaussian_classes=gaussian_classes)
    (block,) = engine.blocks()
    features = block_features(block, np.eye(3), FORMS[form])
    theta = FORMS[form].theta(result.gaussians)
    posteriors, _ = block_posteriors(block, features, theta, gaussian_classes)
    np.testing.assert_allclose(posteriors.sum(axis=0), 1)
    assert not np.any(posteriors[2, labels == 0])
    assert np.all(posteriors[2, labels == 1] == 1)
    assert 0 < posteriors[2, labels == -1].mean() < 1


@BOTH_FORMS
def test_when_all_rows_have_labels_one_step_gives_the_moments_of_classes(form, rng):
    X, labels = three_clouds(rng)
    classes = np.array([2, 0, 1])  # Gaussians may be in any order
    engine = RowEngine(X, labels)
    start = rough_start(rng, form)
    result = run_em(engine, start, form, max_iter=1, tol=-1.0, gaussian_classes=classes)
    expected = group_moments(engine, 3, RowBlock.centered)
    np.testing.assert_allclose(np.exp(result.gaussians.log_priors), expected.priors[classes])
    np.testing.assert_allclose(result.gaussians.means, expected.means[classes], atol=1e-12)
    covariances = expected.covariances[classes]
    if form == "diag":
        covariances = np.diagonal(covariances, axis1=1, axis2=2)
    np.testing.assert_allclose(result.gaussians.variances, covariances, atol=1e-11)


# --- moments by shares ------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [{}, {"block_rows": 7}, {"block_rows": 7, "n_threads": 3}])
@pytest.mark.parametrize("weighted", [False, True])
def test_soft_moments_are_weighted_means_and_covariances(engine, weighted, rng):
    X, labels = three_clouds(rng, n_rows=100)
    weights = rng.uniform(0.1, 3, 100) if weighted else None
    shares = rng.dirichlet(np.ones(3), size=100)
    rows = RowEngine(X, labels, weights, center=X.mean(axis=0), **engine)
    mix = rng.normal(size=(3, 2))
    moments = soft_moments(rows, lambda block: shares[block.rows].T, multiply_rows_by(mix))
    mapped = (X - X.mean(axis=0)) @ mix
    for group in range(3):
        own = shares[:, group] * (1.0 if weights is None else weights)
        mean = np.average(mapped, axis=0, weights=own)
        assert moments.weights[group] == pytest.approx(own.sum())
        np.testing.assert_allclose(moments.means[group], mean, atol=1e-12)
        covariance = np.cov(mapped.T, aweights=own, bias=True)
        np.testing.assert_allclose(moments.covariances[group], covariance, atol=1e-12)


def test_whole_shares_are_labels(rng):
    X, labels = three_clouds(rng, n_rows=100)
    engine = RowEngine(X, labels, rng.uniform(0.1, 3, 100))
    one_hot = np.eye(3)[labels]
    soft = soft_moments(engine, lambda block: one_hot[block.rows].T, RowBlock.centered)
    hard = group_moments(engine, 3, RowBlock.centered)
    np.testing.assert_allclose(soft.square_weights, hard.square_weights)
    np.testing.assert_allclose(soft.means, hard.means, atol=1e-12)
    np.testing.assert_allclose(soft.covariances, hard.covariances, atol=1e-12)


def test_soft_moments_leave_the_rows_as_they_were(rng):
    X, labels = three_clouds(rng, n_rows=50)
    before, shares = X.copy(), rng.dirichlet(np.ones(3), size=50)
    soft_moments(RowEngine(X, labels), lambda block: shares[block.rows].T, RowBlock.centered)
    assert np.array_equal(X, before)


# --- priors and structures ----------------------------------------------------------------------


def structured_start(rng, kind):
    start = rough_start(rng, "diag" if kind.diagonal else "full")
    return replace(start, variances=kind.estimate(start.variances, np.ones(3)))


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("strength", [0.1, 1.0, 20.0])
def test_em_with_a_prior_never_lowers_the_penalized_likelihood(name, strength, rng):
    kind = STRUCTURES[name]
    X, _ = three_clouds(rng, n_rows=60)
    X[:8] = X[0]  # samples onto which a Gaussian could collapse
    total = np.cov(X.T, bias=True)
    prior = make_prior(np.diag(total) if kind.diagonal else total, 3, strength)
    engine = RowEngine(X, np.zeros(len(X), int), rng.uniform(0.5, 2, len(X)))
    result = run_em(
        engine,
        structured_start(rng, kind),
        "diag" if kind.diagonal else "full",
        max_iter=60,
        tol=-1.0,
        constraints=Constraints(structure=kind.estimate, prior=prior),
    )
    assert np.all(np.diff(result.history) > -1e-9)
    assert np.all(np.isfinite(result.gaussians.variances))


@pytest.mark.parametrize("name", STRUCTURES)
def test_no_covariances_of_a_structure_are_more_likely_than_its_estimate(name, rng):
    kind = STRUCTURES[name]
    factors = rng.normal(size=(4, 3, 7))
    scatters = factors @ factors.transpose(0, 2, 1)
    weights = rng.uniform(5, 30, 4)
    if kind.diagonal:
        scatters = np.diagonal(scatters, axis1=1, axis2=2)
        scatters = scatters[:, :, None] * np.eye(3)
        best = kind.estimate(np.diagonal(scatters, axis1=1, axis2=2), weights)
        best = best[:, :, None] * np.eye(3)
    else:
        best = kind.estimate(scatters, weights)

    def value(covariances):
        return sum(
            weight * expected_log_likelihood(scatter / weight, covariance)
            for weight, scatter, covariance in zip(weights, scatters, covariances, strict=True)
        )

    for _ in range(50):  # covariances of the structure that were estimated from something else
        changed = scatters * rng.uniform(0.7, 1.4, (4, 1, 1))
        if kind.diagonal:
            other = kind.estimate(np.diagonal(changed, axis1=1, axis2=2), weights)
            other = other[:, :, None] * np.eye(3)
        else:
            other = kind.estimate(changed, weights)
        assert value(best) >= value(other) - 1e-6 * abs(value(best))


def test_prior_counts_as_additional_samples(rng):
    factors = rng.normal(size=(1, 3, 9))
    scatter, extra = (factors @ factors.transpose(0, 2, 1)), 2.0 * np.eye(3)[None]
    prior = CovariancePrior(4.0, extra[0])
    estimate = estimate_free(scatter + prior.scatter, np.array([9.0]) + prior.count)
    np.testing.assert_allclose(estimate, (scatter + extra) / 13)
    other = estimate * 1.1

    def posterior(covariance):
        own = 9 * expected_log_likelihood(scatter[0] / 9, covariance[0])
        return 0.5 * own + prior.log_density(covariance)

    assert posterior(estimate) > max(posterior(other), posterior(estimate * 0.9))
