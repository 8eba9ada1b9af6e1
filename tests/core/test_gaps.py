import numpy as np
import pytest
from scipy.stats import multivariate_normal

from opgd.core.engines import RowEngine
from opgd.core.gaps import Conditionals, Gaps, find_gaps
from tests.core.problems import random_moments


def remove(rng, X, share=0.3):
    return np.where(rng.uniform(size=X.shape) < share, np.nan, X)


def gaps_as_mask(gaps, shape):
    mask = np.zeros(shape, dtype=bool)
    mask[gaps.row_indices, gaps.columns] = True
    return mask


def test_gaps_are_where_values_are_missing(rng, monkeypatch):
    X = remove(rng, rng.normal(size=(50, 7)))
    monkeypatch.setattr("opgd.core.gaps.SEARCH_CELLS", 40)  # several blocks
    gaps = find_gaps(X)
    np.testing.assert_array_equal(gaps_as_mask(gaps, X.shape), np.isnan(X))
    part = gaps_as_mask(gaps.slice_rows(slice(10, 30)), (20, 7))
    np.testing.assert_array_equal(part, np.isnan(X[10:30]))
    rows = rng.permutation(50)[:20]
    np.testing.assert_array_equal(gaps_as_mask(gaps.select_rows(rows), (20, 7)), np.isnan(X[rows]))


def test_every_incomplete_sample_is_in_one_batch(rng, monkeypatch):
    X = remove(rng, rng.normal(size=(80, 6)))
    monkeypatch.setattr("opgd.core.gaps.MAX_SYSTEM_CELLS", 30)
    batches = list(find_gaps(X).batches())
    rows = np.concatenate([rows for rows, _ in batches])
    assert sorted(rows) == np.flatnonzero(np.isnan(X).any(axis=1)).tolist()
    for rows, columns in batches:
        assert len(rows) * columns.shape[1] ** 2 <= 36
        for i, missing in zip(rows, columns, strict=True):
            assert missing.tolist() == np.flatnonzero(np.isnan(X[i])).tolist()


def test_large_values_do_not_count_as_missing():
    X = np.array([[1e308, -1e308], [-1e308, 1e308]])
    assert not RowEngine(X, np.zeros(2, dtype=np.intp)).has_missing()
    X[1, 0] = np.nan
    assert RowEngine(X, np.zeros(2, dtype=np.intp)).has_missing()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_engine_fills_gaps_like_a_filled_copy(rng, dtype, n_threads):
    X = remove(rng, rng.normal(5, 1, size=(300, 4))).astype(dtype)
    gaps = find_gaps(X)
    values = rng.normal(size=len(gaps.columns)).astype(dtype)
    filled = X.copy()
    filled[gaps.row_indices, gaps.columns] = values
    labels, options = np.zeros(300, dtype=np.intp), {"block_rows": 64, "n_threads": n_threads}
    options["center"] = np.full(4, 5.0)
    before = X.copy()
    incomplete = RowEngine(X, labels, gaps=Gaps(gaps.starts, gaps.columns, values), **options)
    complete = RowEngine(filled, labels, **options)

    def total(engine):
        return engine.sum(lambda block: block.centered().T @ block.centered())

    np.testing.assert_array_equal(total(incomplete), total(complete))
    rows = np.arange(7, 300, 9)
    np.testing.assert_array_equal(incomplete.select_rows(rows).X, complete.select_rows(rows).X)
    np.testing.assert_array_equal(X, before)


def test_completion_gives_conditional_moments(rng):
    p, n = 5, 40
    moments = random_moments(rng, 2, p)
    axes = rng.normal(size=(p, p))  # from features to coordinates
    covariances, means = axes.T @ moments.covariances @ axes, moments.means @ axes
    conditionals = Conditionals(
        axes, means, np.linalg.inv(covariances), np.linalg.inv(moments.covariances)
    )
    X, groups, weights = rng.normal(size=(n, p)), rng.integers(0, 2, n), rng.uniform(1, 2, n)
    missing = rng.uniform(size=X.shape) < 0.4
    gaps = find_gaps(np.where(missing, np.nan, X))
    rows = X @ axes
    spreads, _ = conditionals.complete(rows, gaps, groups, weights)
    completed, expected_spreads = X.copy(), np.zeros((2, p, p))
    for i, g in enumerate(groups):
        m, o, S = missing[i], ~missing[i], moments.covariances[g]
        regression = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
        completed[i, m] = moments.means[g][m] + regression @ (X[i, o] - moments.means[g][o])
        conditional = S[np.ix_(m, m)] - regression @ S[np.ix_(o, m)]
        expected_spreads[g][np.ix_(m, m)] += weights[i] * conditional
    np.testing.assert_allclose(rows, completed @ axes, atol=1e-10)
    np.testing.assert_allclose(spreads, expected_spreads, atol=1e-10)


def test_log_densities_are_those_of_the_observed_entries(rng):
    p, n = 4, 30
    moments = random_moments(rng, 3, p)
    precisions = np.linalg.inv(moments.covariances)
    conditionals = Conditionals(np.eye(p), moments.means, precisions, precisions)
    X = rng.normal(size=(n, p))
    missing = rng.uniform(size=X.shape) < 0.3
    densities = conditionals.log_densities(X, find_gaps(np.where(missing, np.nan, X)))
    for i in range(n):
        o = ~missing[i]
        expected = [
            multivariate_normal.logpdf(X[i, o], mean[o], S[np.ix_(o, o)]) if o.any() else 0.0
            for mean, S in zip(moments.means, moments.covariances, strict=True)
        ]
        difference = densities[:, i] - expected
        np.testing.assert_allclose(difference, difference[0], atol=1e-9)
