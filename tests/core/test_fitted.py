"""A fitted projection computes what its formulas say, block by block."""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from opgd.core import engines
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import FORMS, ProjectedGaussians

GAUSSIAN_CLASSES = np.array([0, 0, 1, 2])


def make_projection(form, rng, n_features=5, n_components=3):
    n_gaussians = len(GAUSSIAN_CLASSES)
    roots = rng.normal(size=(n_gaussians, n_components, n_components))
    covariances = roots @ roots.transpose(0, 2, 1) + np.eye(n_components)
    if form == "diag":
        covariances = np.diagonal(covariances, axis1=1, axis2=2).copy()
    gaussians = ProjectedGaussians(
        np.log(rng.dirichlet(np.ones(n_gaussians))),
        rng.normal(size=(n_gaussians, n_components)),
        covariances,
    )
    return FittedProjection(
        rng.normal(size=n_features),
        rng.normal(size=(n_components, n_features)),
        gaussians,
        FORMS[form],
        GAUSSIAN_CLASSES,
    )


def as_matrix(covariance):
    return np.diag(covariance) if covariance.ndim == 1 else covariance


def expected_log_joint(projection, X):
    """Return log(pi_c phi_c) by SciPy, less the constant that every Gaussian shares."""
    scores = (X - projection.center) @ projection.components.T
    gaussians = projection.gaussians
    densities = [
        multivariate_normal(mean, as_matrix(covariance)).logpdf(scores)
        for mean, covariance in zip(gaussians.means, gaussians.variances, strict=True)
    ]
    constant = 0.5 * projection.n_components * np.log(2 * np.pi)
    return np.array(densities).T + gaussians.log_priors + constant


@pytest.fixture(params=["diag", "full"])
def projection(request, rng):
    return make_projection(request.param, rng)


def test_log_joints_agree_with_scipy(projection, rng):
    X = rng.normal(size=(50, 5))
    np.testing.assert_allclose(projection.log_joint(X), expected_log_joint(projection, X))


def test_log_joints_of_classes_are_sums_over_their_gaussians(projection, rng):
    X = rng.normal(size=(50, 5))
    joint = expected_log_joint(projection, X)
    classes = range(GAUSSIAN_CLASSES.max() + 1)
    by_class = [logsumexp(joint[:, k == GAUSSIAN_CLASSES], axis=1) for k in classes]
    np.testing.assert_allclose(projection.class_log_joint(X), np.array(by_class).T)
    warm = replace(projection, temperature=2.5)
    np.testing.assert_allclose(warm.class_log_joint(X), np.array(by_class).T / 2.5)


def test_distances_are_mahalanobis_distances_of_scores(projection, rng):
    X = rng.normal(size=(50, 5))
    steps = ((X - projection.center) @ projection.components.T)[
        :, None
    ] - projection.gaussians.means
    inverses = [np.linalg.inv(as_matrix(S)) for S in projection.gaussians.variances]
    expected = np.einsum("ncj,cjl,ncl->nc", steps, inverses, steps)
    np.testing.assert_allclose(projection.squared_distances(X), expected, atol=1e-10)


def test_scores_are_not_centered_and_means_agree_with_them(projection, rng):
    X = rng.normal(size=(50, 5))
    np.testing.assert_allclose(projection.scores(X), X @ projection.components.T)
    at_center = projection.scores(projection.center[None])
    expected = projection.gaussians.means + at_center
    np.testing.assert_allclose(projection.projected_means, expected)


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_the_first_components_are_the_marginal_model(projection, n_components, rng):
    X = rng.normal(size=(50, 5))
    cut = projection.first(n_components)
    assert cut.n_components == n_components
    np.testing.assert_allclose(cut.log_joint(X), expected_log_joint(cut, X))
    np.testing.assert_allclose(cut.scores(X), projection.scores(X)[:, :n_components])


def test_blocks_change_nothing(projection, rng, monkeypatch):
    X = rng.normal(size=(1000, 5))
    whole = projection.log_joint(X), projection.scores(X)
    monkeypatch.setattr(engines, "MAX_BLOCK_ROWS", 256)
    monkeypatch.setattr(engines, "MAX_BLOCK_CELLS", 1)
    np.testing.assert_allclose(projection.log_joint(X), whole[0], rtol=1e-12)
    np.testing.assert_allclose(projection.scores(X), whole[1], rtol=1e-12, atol=1e-12)


def test_a_pickled_projection_gives_the_same_bits(projection, rng):
    X = rng.normal(size=(50, 5)).astype(np.float32)
    copy = pickle.loads(pickle.dumps(projection))
    np.testing.assert_array_equal(copy.class_log_joint(X), projection.class_log_joint(X))
    assert copy.form.name == projection.form.name
    assert projection.log_joint(X).dtype == np.float64


def test_distances_at_the_means_are_not_negative(projection):
    scores = projection.gaussians.means
    X = projection.center + scores @ np.linalg.pinv(projection.components.T)
    distances = projection.squared_distances(np.repeat(X, 25, axis=0))
    assert distances.min() >= 0
    np.testing.assert_allclose(np.diag(projection.squared_distances(X)), 0, atol=1e-9)


def test_far_samples_have_finite_log_joints(projection):
    for scale in (1e120, 1e200):
        X = np.full((2, 5), scale)
        assert np.all(np.isfinite(projection.log_joint(X)))
        assert np.all(np.isfinite(projection.class_log_joint(X)))


def test_a_gaussian_far_from_its_siblings_does_not_overflow(rng):
    projection = make_projection("diag", rng)
    means = projection.gaussians.means.copy()
    means[1] += 1e3
    projection = replace(projection, gaussians=replace(projection.gaussians, means=means))
    X = rng.normal(size=(20, 5))
    joint = expected_log_joint(projection, X)
    np.testing.assert_allclose(projection.class_log_joint(X)[:, 0], joint[:, 0], rtol=1e-9)


def test_distances_to_many_gaussians_take_little_memory():
    n = 20_000  # a square array would take 3 GB
    means, ones = np.linspace(-1, 1, n)[:, None], np.ones((n, 1))
    gaussians = ProjectedGaussians(np.full(n, -np.log(n)), means, ones)
    projection = FittedProjection(
        np.zeros(1), np.ones((1, 1)), gaussians, FORMS["diag"], np.arange(n)
    )
    distances, memory = traced(lambda: projection.squared_distances(np.ones((1, 1))))
    np.testing.assert_allclose(distances[0], (1 - means[:, 0]) ** 2, atol=1e-12)
    assert memory < 2**24


def traced(call):
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
