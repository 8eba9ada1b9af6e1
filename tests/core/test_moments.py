import numpy as np
import pytest

from opgd.core.engines import RowBlock, RowEngine
from opgd.core.moments import (
    group_moments,
    locate_columns,
    multiply_rows_by,
    one_group,
    scale_to_counts,
    soft_moments,
)


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
    moments = group_moments(engine, 3, RowBlock.centered)
    for group, (weight, mean, covariance) in enumerate(literal_moments(X, labels, weights)):
        assert moments.weights[group] == pytest.approx(weight)
        np.testing.assert_allclose(moments.means[group] + center, mean, atol=1e-13)
        np.testing.assert_allclose(moments.covariances[group], covariance, atol=1e-13)
    np.testing.assert_allclose(moments.total, np.cov(X.T, aweights=weights, bias=True), atol=1e-13)


def test_parts_add_up(rng):
    X, labels = rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    parts = [group_moments(RowEngine(X[i::2], labels[i::2]), 3, RowBlock.centered) for i in (0, 1)]
    whole = group_moments(RowEngine(X, labels), 3, RowBlock.centered)
    both = parts[0] + parts[1]
    np.testing.assert_allclose(both.means, whole.means, atol=1e-13)
    np.testing.assert_allclose(both.covariances, whole.covariances, atol=1e-13)


def test_groups_merge_into_their_unions(rng):
    X, labels = rng.normal(size=(60, 3)), rng.integers(0, 5, 60)
    parents = np.array([0, 1, 0, 1, 1])
    merged = group_moments(RowEngine(X, labels), 5, RowBlock.centered).merge(parents, 2)
    direct = group_moments(RowEngine(X, parents[labels]), 2, RowBlock.centered)
    np.testing.assert_allclose(merged.weights, direct.weights)
    np.testing.assert_allclose(merged.covariances, direct.covariances, atol=1e-13)


@pytest.mark.parametrize("block_rows", [7, 1000])
def test_centers_far_apart_keep_their_digits(rng, block_rows):
    near, labels = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    X = near + 1e8 * labels[:, None]
    engine = RowEngine(X, labels, center=X.mean(axis=0), subtract=True, block_rows=block_rows)
    moments = group_moments(engine, 2, RowBlock.centered)
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


def drawn(rng, n_rows=50, n_groups=3):
    X, labels = rng.normal(size=(n_rows, 4)) + 3.0, rng.integers(0, n_groups, n_rows)
    return X, labels, rng.uniform(0.5, 2, n_rows)


def assert_same_moments(one, other):
    for name in ("weights", "square_weights", "means", "covariances"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-12)


def test_moments_of_all_rows_follow_from_those_of_groups(rng):
    X, labels, weights = drawn(rng)
    moments = group_moments(RowEngine(X, labels, weights), 3, RowBlock.centered)
    mean = np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(moments.mean, mean)
    np.testing.assert_allclose(moments.priors, np.bincount(labels, weights) / weights.sum())
    np.testing.assert_allclose(moments.square_weights, np.bincount(labels, weights**2))
    own = moments.means[labels]
    within = (X - own).T @ (weights[:, None] * (X - own)) / weights.sum()
    between = (own - mean).T @ (weights[:, None] * (own - mean)) / weights.sum()
    np.testing.assert_allclose(moments.within, within)
    np.testing.assert_allclose(moments.between, between)
    assert moments.n_groups == 3


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_counts_are_weights_but_no_less_than_the_effective_number(scale):
    X, weights = np.arange(10.0).reshape(5, 2), scale * np.array([2.0, 2.0, 3.0, 1.0, 1.0])
    moments = group_moments(RowEngine(X, np.array([0, 0, 1, 1, 1]), weights), 2, RowBlock.centered)
    effective = np.array([4**2 / 8, 5**2 / 11])
    np.testing.assert_allclose(moments.counts, [4, 5] if scale == 1.0 else effective)


@pytest.mark.parametrize("absent", [0, 2])
def test_groups_without_rows_weigh_nothing_and_add_nothing(rng, absent):
    X, labels, weights = drawn(rng)
    some = labels != absent
    part = group_moments(RowEngine(X[some], labels[some], weights[some]), 3, RowBlock.centered)
    assert part.weights[absent] == part.square_weights[absent] == 0
    assert np.all(part.means[absent] == 0)
    assert np.all(part.covariances[absent] == 0)
    rest = group_moments(RowEngine(X[~some], labels[~some], weights[~some]), 3, RowBlock.centered)
    whole = group_moments(RowEngine(X, labels, weights), 3, RowBlock.centered)
    for both in (part + rest, rest + part):
        assert_same_moments(both, whole)
    twice = part + part
    assert np.all(twice.means[absent] == 0)
    np.testing.assert_allclose(twice.weights, 2 * part.weights)
    np.testing.assert_allclose(twice.covariances, part.covariances, atol=1e-13)


def test_adding_leaves_both_as_they_were(rng):
    X, labels, weights = drawn(rng)
    one, other = (
        group_moments(RowEngine(X[i::2], labels[i::2], weights[i::2]), 3, RowBlock.centered)
        for i in (0, 1)
    )
    before = one.covariances.copy(), other.covariances.copy()
    one + other
    assert np.array_equal(one.covariances, before[0])
    assert np.array_equal(other.covariances, before[1])


def test_weights_may_have_any_size(rng):
    X, labels, weights = drawn(rng)
    usual, small = (
        group_moments(RowEngine(X, labels, scale * weights, block_rows=7), 3, RowBlock.centered)
        for scale in (1.0, 1e-6)
    )
    np.testing.assert_allclose(small.weights, 1e-6 * usual.weights)
    np.testing.assert_allclose(small.means, usual.means)
    np.testing.assert_allclose(small.covariances, usual.covariances, atol=1e-12)


def test_mapped_moments_are_those_of_mapped_rows(rng):
    X, labels, weights = drawn(rng)
    matrix = rng.normal(size=(4, 2))
    mapped = group_moments(RowEngine(X, labels, weights), 3, RowBlock.centered).mapped(matrix)
    assert_same_moments(
        mapped, group_moments(RowEngine(X @ matrix, labels, weights), 3, RowBlock.centered)
    )
    on_the_way = group_moments(RowEngine(X, labels, weights), 3, multiply_rows_by(matrix))
    assert_same_moments(mapped, on_the_way)


def test_merged_moments_are_those_of_the_unions(rng):
    X, labels, weights = drawn(rng, n_groups=5)
    parents = np.array([0, 1, 0, 1, 1])
    merged = group_moments(RowEngine(X, labels, weights), 5, RowBlock.centered).merge(parents, 2)
    direct = group_moments(RowEngine(X, parents[labels], weights), 2, RowBlock.centered)
    assert_same_moments(merged, direct)


def test_shares_of_rows_count_as_shares(rng):
    X, labels, weights = drawn(rng)
    engine = RowEngine(X, labels, weights, block_rows=7)
    whole = np.eye(3)
    soft = soft_moments(engine, lambda block: whole[:, block.labels], RowBlock.centered)
    assert_same_moments(soft, group_moments(engine, 3, RowBlock.centered))
    halves = soft_moments(engine, lambda block: 0.5 * whole[:, block.labels], RowBlock.centered)
    np.testing.assert_allclose(halves.weights, soft.weights / 2)
    np.testing.assert_allclose(halves.square_weights, soft.square_weights / 2)
    np.testing.assert_allclose(halves.means, soft.means)
    np.testing.assert_allclose(halves.covariances, soft.covariances)


def test_all_rows_can_be_one_group(rng):
    X, labels, weights = drawn(rng)
    engine = RowEngine(X, labels, weights, block_rows=7)
    moments = group_moments(engine, 1, RowBlock.centered, groups=one_group)
    np.testing.assert_allclose(moments.means[0], np.average(X, axis=0, weights=weights))
    np.testing.assert_allclose(moments.covariances[0], np.cov(X.T, aweights=weights, bias=True))


@pytest.mark.parametrize("block_rows", [3, 1000])
def test_columns_are_located_by_weighted_rows(rng, block_rows):
    X, labels, weights = drawn(rng)
    mean, size = locate_columns(RowEngine(X, labels, weights, block_rows=block_rows))
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=weights), rtol=1e-14)
    extents = np.ptp(X, axis=0)
    assert np.all((size > extents) & (size <= 2 * extents))
    assert np.all(np.log2(size) % 1 == 0)


def test_a_single_row_is_located_where_it_is():
    row = np.array([[0.1, -3e8, 0.0]])
    mean, size = locate_columns(RowEngine(row, np.zeros(1, np.intp)))
    assert np.array_equal(mean, row[0])
    assert np.array_equal(size, np.zeros(3))


@pytest.mark.parametrize(
    ("weights", "counts"),
    [
        ([1, 1, 1], [1, 1, 1]),
        ([2, 1, 3], [2, 1, 3]),  # repeats of rows
        ([0.5, 0.5, 0.5, 0.5], [1, 1, 1, 1]),  # shares of any scale are worth Kish's number
        ([0.3, 0.1], [0.3 * 0.4 / 0.1, 0.1 * 0.4 / 0.1]),
    ],
)
def test_weights_as_numbers_of_rows(weights, counts):
    np.testing.assert_allclose(scale_to_counts(np.array(weights, dtype=float)), counts)
