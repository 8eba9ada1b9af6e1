import numpy as np
import pytest

from opgd.core.engines import RowEngine
from opgd.core.moments import group_moments, locate_columns


def literal_moments(X, labels, weights):
    for group in range(labels.max() + 1):
        own, w = X[labels == group], weights[labels == group]
        mean = np.average(own, axis=0, weights=w)
        yield w.sum(), mean, np.cov(own.T, aweights=w, bias=True)


@pytest.mark.parametrize("block_rows", [3, 1000])
def test_moments_are_weighted_means_and_covariances_with_divisor_n(rng, block_rows):
    X, labels = rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    weights = rng.uniform(0.5, 2, 50)
    center = X.mean(axis=0)
    engine = RowEngine(X, labels, weights, center=center, block_rows=block_rows)
    moments = group_moments(engine, 3, lambda rows: rows)
    for group, (weight, mean, covariance) in enumerate(literal_moments(X, labels, weights)):
        assert moments.weights[group] == pytest.approx(weight)
        np.testing.assert_allclose(moments.means[group] + center, mean, atol=1e-13)
        np.testing.assert_allclose(moments.covariances[group], covariance, atol=1e-13)
    np.testing.assert_allclose(moments.total, np.cov(X.T, aweights=weights, bias=True), atol=1e-13)


def test_parts_add_up(rng):
    X, labels = rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    parts = [group_moments(RowEngine(X[i::2], labels[i::2]), 3, lambda rows: rows) for i in (0, 1)]
    whole = group_moments(RowEngine(X, labels), 3, lambda rows: rows)
    both = parts[0] + parts[1]
    np.testing.assert_allclose(both.means, whole.means, atol=1e-13)
    np.testing.assert_allclose(both.covariances, whole.covariances, atol=1e-13)


def test_groups_merge_into_their_unions(rng):
    X, labels = rng.normal(size=(60, 3)), rng.integers(0, 5, 60)
    parents = np.array([0, 1, 0, 1, 1])
    merged = group_moments(RowEngine(X, labels), 5, lambda rows: rows).merged(parents, 2)
    direct = group_moments(RowEngine(X, parents[labels]), 2, lambda rows: rows)
    np.testing.assert_allclose(merged.weights, direct.weights)
    np.testing.assert_allclose(merged.covariances, direct.covariances, atol=1e-13)


@pytest.mark.parametrize("block_rows", [7, 1000])
def test_centres_far_apart_keep_their_digits(rng, block_rows):
    near, labels = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    X = near + 1e8 * labels[:, None]
    engine = RowEngine(X, labels, center=X.mean(axis=0), subtract=True, block_rows=block_rows)
    moments = group_moments(engine, 2, lambda rows: rows)
    for group in (0, 1):
        expected = np.cov(near[labels == group].T, bias=True)
        np.testing.assert_allclose(moments.covariances[group], expected, atol=1e-7)


def test_columns_are_located_without_squares(rng):
    X = np.column_stack(
        [np.full(40, 0.1), 1e8 + rng.normal(size=40), 1e200 * rng.normal(size=40), np.arange(40.0)]
    )
    mean, size = locate_columns(RowEngine(X, np.zeros(len(X), np.intp)))
    np.testing.assert_allclose(mean, [0.1, X[:, 1].mean(), X[:, 2].mean(), 19.5], rtol=1e-14)
    assert mean[0] == 0.1
    assert size[0] == 0
    extents = np.ptp(X[:, 1:], axis=0)
    assert np.all((size[1:] >= extents) & (size[1:] <= 2 * extents))
