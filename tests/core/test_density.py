"""The density of whole rows, and the coordinates that it and the metric need."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from opgd.core.coordinates import column_coordinates, make_frame, sphered_coordinates
from opgd.core.density import make_sample_density
from opgd.core.engines import RowEngine
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import FORMS, ProjectedGaussians

BOTH_FORMS = pytest.mark.parametrize("form", ["diag", "full"])
ANY_AXES = pytest.mark.parametrize("n_components", [1, 2, 4])


def correlated_rows(rng, n_rows=60, n_features=4):
    return 5 + rng.normal(size=(n_rows, n_features)) @ rng.normal(size=(n_features, n_features))


def random_gaussians(rng, form, n_components, n_gaussians=3):
    factors = rng.normal(size=(n_gaussians, n_components, 2 * n_components))
    covariances = factors @ factors.transpose(0, 2, 1)
    variances = np.diagonal(covariances, axis1=1, axis2=2).copy() if form == "diag" else covariances
    priors = rng.dirichlet(np.full(n_gaussians, 5.0))
    return ProjectedGaussians(
        np.log(priors), 2 * rng.normal(size=(n_gaussians, n_components)), variances
    )


def density_on(X, components, gaussians, form, weights=None):
    frame = make_frame(RowEngine(X, np.zeros(len(X), np.intp), weights))
    each = np.arange(len(gaussians.means))
    projection = FittedProjection(frame.center, components, gaussians, FORMS[form], each)
    return make_sample_density(sphered_coordinates(frame), projection)


def random_density(rng, X, form, n_components, weights=None):
    components = rng.normal(size=(n_components, X.shape[1]))
    gaussians = random_gaussians(rng, form, n_components)
    return density_on(X, components, gaussians, form, weights), components


def mixture_logpdf(rows, log_priors, means, covariances):
    parts = [
        log_prior + stats.multivariate_normal(mean, covariance).logpdf(rows)
        for log_prior, mean, covariance in zip(log_priors, means, covariances, strict=True)
    ]
    return logsumexp(parts, axis=0)


def as_matrices(variances):
    return variances if variances.ndim == 3 else variances[:, :, None] * np.eye(variances.shape[1])


# --- what it is -------------------------------------------------------------------------------


@BOTH_FORMS
@ANY_AXES
def test_density_is_the_mixture_on_the_scores_times_one_gaussian_for_the_rest(
    form, n_components, rng
):
    X = correlated_rows(rng)
    density, components = random_density(rng, X, form, n_components)
    mean, total = X.mean(axis=0), np.cov(X.T, bias=True)
    rows = 1.5 * correlated_rows(rng)
    scores = (rows - mean) @ components.T
    own = density.gaussians
    inside = mixture_logpdf(scores, own.log_priors, own.means, as_matrices(own.variances))
    # p(x | z) of the Gaussian with the moments of all rows
    whole = stats.multivariate_normal(mean, total).logpdf(rows)
    part = stats.multivariate_normal(np.zeros(n_components), components @ total @ components.T)
    expected = inside + whole - part.logpdf(scores)
    np.testing.assert_allclose(density.log_density(rows), expected, rtol=1e-9)


@BOTH_FORMS
@ANY_AXES
def test_density_is_a_mixture_with_the_moments_that_it_gives(form, n_components, rng):
    X = correlated_rows(rng)
    density, _ = random_density(rng, X, form, n_components)
    means, covariances = density.sphered_moments()
    coordinates = density.coordinates
    expected = mixture_logpdf(
        X,
        density.gaussians.log_priors,
        coordinates.raw_means(means),
        [coordinates.raw_covariance(own) for own in covariances],
    )
    np.testing.assert_allclose(density.log_density(X), expected, rtol=1e-9)


def test_full_covariances_on_all_axes_are_a_mixture_on_the_columns(rng):
    X = correlated_rows(rng)
    gaussians = random_gaussians(rng, "full", 4)
    density = density_on(X, np.eye(4), gaussians, "full")
    expected = mixture_logpdf(
        X, gaussians.log_priors, gaussians.means + X.mean(axis=0), gaussians.variances
    )
    np.testing.assert_allclose(density.log_density(X), expected, rtol=1e-10)


@BOTH_FORMS
@pytest.mark.parametrize("n_components", [1, 2])
def test_density_integrates_to_one(form, n_components, rng):
    X = rng.normal(size=(30, 2)) * [1.0, 3.0]
    density, _ = random_density(rng, X, form, n_components)
    means, covariances = density.sphered_moments()
    raw = [np.diag(density.coordinates.raw_covariance(own)) for own in covariances]
    reach = 9 * np.sqrt(np.max(raw, axis=0))
    centers = density.coordinates.raw_means(means)
    low, high = centers.min(axis=0) - reach, centers.max(axis=0) + reach
    x, y = (np.linspace(low[j], high[j], 600) for j in (0, 1))
    grid = np.column_stack([own.ravel() for own in np.meshgrid(x, y)])
    mass = np.exp(density.log_density(grid)).sum() * (x[1] - x[0]) * (y[1] - y[0])
    assert mass == pytest.approx(1, abs=1e-6)


@BOTH_FORMS
@ANY_AXES
@pytest.mark.parametrize("weighted", [False, True])
def test_mean_over_training_rows_needs_the_mean_on_the_scores_only(
    form, n_components, weighted, rng
):
    X = correlated_rows(rng)
    weights = rng.uniform(0.1, 3, len(X)) if weighted else None
    density, components = random_density(rng, X, form, n_components, weights)
    center = np.average(X, axis=0, weights=weights)
    own = density.gaussians
    joint = mixture_logpdf(
        (X - center) @ components.T, own.log_priors, own.means, as_matrices(own.variances)
    )
    inside = np.average(joint, weights=weights) + 0.5 * n_components * np.log(2 * np.pi)
    expected = np.average(density.log_density(X), weights=weights)
    assert density.mean_log_density(inside) == pytest.approx(expected, rel=1e-10)


# --- columns of all kinds ---------------------------------------------------------------------


@BOTH_FORMS
@pytest.mark.parametrize("order", [1, -1])
def test_units_change_the_density_by_their_volume(form, order, rng):
    X = correlated_rows(rng)
    density, components = random_density(rng, X, form, 2)
    units = np.geomspace(1e-6, 1e6, 4)[::order]
    other = density_on(X * units, components / units, density.gaussians, form)
    expected = density.log_density(X) - np.log(units).sum()
    np.testing.assert_allclose(other.log_density(X * units), expected, rtol=0, atol=1e-7)


def test_an_origin_far_away_changes_nothing(rng):
    X = correlated_rows(rng)
    density, components = random_density(rng, X, "full", 2)
    other = density_on(X + 1e6, components, density.gaussians, "full")
    np.testing.assert_allclose(other.log_density(X + 1e6), density.log_density(X), atol=1e-6)


def test_lengths_and_signs_of_axes_do_not_matter(rng):
    X = correlated_rows(rng)
    density, components = random_density(rng, X, "diag", 2)
    own, lengths = density.gaussians, np.array([-3.0, 1e-3])
    scaled = replace(own, means=own.means * lengths, variances=own.variances * lengths**2)
    other = density_on(X, components * lengths[:, None], scaled, "diag")
    np.testing.assert_allclose(other.log_density(X), density.log_density(X), rtol=1e-9)


@BOTH_FORMS
def test_a_constant_column_changes_nothing(form, rng):
    X = correlated_rows(rng)
    density, components = random_density(rng, X, form, 2)
    more = np.insert(X, 1, 7.0, axis=1)
    other = density_on(more, np.insert(components, 1, 3.0, axis=1), density.gaussians, form)
    np.testing.assert_allclose(other.log_density(more), density.log_density(X), rtol=1e-9)
    assert other.n_parameters == density.n_parameters


@BOTH_FORMS
def test_collinear_columns_give_the_density_on_their_plane(form, rng):
    X = correlated_rows(rng)
    density, components = random_density(rng, X, form, 2)
    more = np.hstack([np.eye(4), rng.normal(size=(4, 2))])  # (4, 6)
    other = density_on(X @ more, np.hstack([components, np.zeros((2, 2))]), density.gaussians, form)
    stretched = 0.5 * np.linalg.slogdet(more @ more.T)[1]
    np.testing.assert_allclose(
        other.log_density(X @ more), density.log_density(X) - stretched, rtol=1e-8
    )


def test_fewer_rows_than_columns_give_the_density_on_their_plane(rng):
    plane = np.linalg.qr(rng.normal(size=(50, 4)))[0].T
    X = correlated_rows(rng, n_rows=40)
    density, components = random_density(rng, X, "full", 2)
    wide = density_on(X @ plane, components @ plane, density.gaussians, "full")
    np.testing.assert_allclose(wide.log_density(X @ plane), density.log_density(X), rtol=1e-8)


@BOTH_FORMS
def test_far_rows_have_finite_log_densities(form, rng):
    X = correlated_rows(rng)
    density, _ = random_density(rng, X, form, 2)
    far = X.mean(axis=0) + np.array([[1e3], [-1e8], [1e15]])
    assert np.all(np.isfinite(density.log_density(far)))
    assert np.all(np.diff(density.log_density(far)) < 0)


@BOTH_FORMS
def test_unreachable_rows_have_log_densities(form, rng):
    X = correlated_rows(rng)
    density, _ = random_density(rng, X, form, 2)
    unreachable = np.array([[1e160], [-1e300]]) * np.ones(4)
    assert np.all(density.log_density(unreachable) < -1e200)


# --- parameters and samples -------------------------------------------------------------------


@pytest.mark.parametrize("n_gaussians", [1, 2, 5])
def test_full_covariances_on_all_axes_have_the_parameters_of_a_mixture(n_gaussians, rng):
    gaussians = random_gaussians(rng, "full", 4, n_gaussians)
    density = density_on(correlated_rows(rng), np.eye(4), gaussians, "full")
    assert density.n_parameters == n_gaussians - 1 + n_gaussians * (4 + 10)


@BOTH_FORMS
@ANY_AXES
def test_one_cluster_has_the_parameters_of_one_gaussian(form, n_components, rng):
    gaussians = random_gaussians(rng, form, n_components, 1)
    axes = rng.normal(size=(n_components, 4))
    density = density_on(correlated_rows(rng), axes, gaussians, form)
    assert density.n_parameters == 4 + 10


@BOTH_FORMS
@ANY_AXES
def test_draws_have_the_means_and_covariances(form, n_components, rng):
    X = correlated_rows(rng)
    density, _ = random_density(rng, X, form, n_components)
    counts = np.array([40_000, 0, 40_000])
    rows = density.draw(counts, np.random.RandomState(0))
    means, covariances = density.sphered_moments()
    sphered = (rows - X.mean(axis=0)) @ density.coordinates.matrix
    for group, own in ((0, sphered[:40_000]), (2, sphered[40_000:])):
        size = np.sqrt(np.trace(covariances[group]))
        np.testing.assert_allclose(own.mean(axis=0), means[group], atol=0.03 * size)
        np.testing.assert_allclose(np.cov(own.T), covariances[group], atol=0.03 * size**2)


# --- coordinates of the metric ----------------------------------------------------------------


def wide_rows(rng):
    return rng.normal(size=(10, 12))


def collinear_rows(rng):
    X = correlated_rows(rng) * [1e-3, 1.0, 10.0, 1e3]
    return np.column_stack([X, X @ rng.normal(size=4), np.ones(len(X))])


@pytest.mark.parametrize("make", [correlated_rows, collinear_rows, wide_rows])
def test_in_column_coordinates_lengths_and_angles_are_those_of_components(make, rng):
    X = make(rng)
    coordinates = column_coordinates(make_frame(RowEngine(X, np.zeros(len(X), np.intp))))
    directions = rng.normal(size=(3, coordinates.rank))
    components = coordinates.components(directions)
    np.testing.assert_allclose(components @ components.T, directions @ directions.T, rtol=1e-8)
    np.testing.assert_allclose(coordinates.directions(components), directions, rtol=1e-8)


@pytest.mark.parametrize("make", [correlated_rows, collinear_rows, wide_rows])
def test_in_sphered_coordinates_lengths_and_angles_are_covariances_of_scores(make, rng):
    X = make(rng)
    weights = rng.uniform(0.1, 3, len(X))
    coordinates = sphered_coordinates(make_frame(RowEngine(X, np.zeros(len(X), np.intp), weights)))
    directions = rng.normal(size=(3, coordinates.rank))
    scores = X @ coordinates.components(directions).T
    covariance = np.cov(scores.T, aweights=weights, bias=True)
    np.testing.assert_allclose(covariance, directions @ directions.T, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("find", [column_coordinates, sphered_coordinates])
@pytest.mark.parametrize("make", [correlated_rows, collinear_rows, wide_rows])
def test_points_come_back_from_coordinates(find, make, rng):
    X = make(rng)
    coordinates = find(make_frame(RowEngine(X, np.zeros(len(X), np.intp))))
    inside = (X - coordinates.center) @ coordinates.matrix
    np.testing.assert_allclose(coordinates.raw_means(inside), X, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("make", [correlated_rows, collinear_rows, wide_rows])
def test_soft_moments_of_a_frame_are_those_of_sphered_rows(make, rng, monkeypatch):
    X = make(rng)
    shares = rng.dirichlet(np.ones(2), size=len(X))
    kept = make_frame(RowEngine(X, np.zeros(len(X), np.intp)))
    monkeypatch.setattr("opgd.core.coordinates.MAX_COPY_CELLS", 0)
    mapped = make_frame(RowEngine(X, np.zeros(len(X), np.intp)))
    sphered = (X - X.mean(axis=0)) @ kept.sphering
    for frame in (kept, mapped):
        moments = frame.soft_moments(lambda block: shares[block.rows].T)
        for group in (0, 1):
            mean = np.average(sphered, axis=0, weights=shares[:, group])
            covariance = np.cov(sphered.T, aweights=shares[:, group], bias=True)
            np.testing.assert_allclose(moments.means[group], mean, atol=1e-8)
            np.testing.assert_allclose(moments.covariances[group], covariance, atol=1e-7)
