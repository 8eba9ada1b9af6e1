from dataclasses import replace

import numpy as np
import pytest

from opgd.core import missing, whole
from opgd.core.coordinates import make_frame
from opgd.core.engines import RowEngine
from opgd.core.whole import fit_whole, locate_observed


def raw_moments(frame, moments):
    """Means and covariances in the units of the features."""
    back = (frame.basis / frame.spread).T * frame.scale
    return frame.center + moments.means @ back, back.T @ moments.covariances @ back


def incomplete_table(rng, n=400, share=0.2):
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, 5)) + 2 * rng.normal(size=(3, 5))[y]
    return np.where(rng.uniform(size=X.shape) < share, np.nan, X), y


@pytest.fixture
def converged(monkeypatch):
    for module in (missing, whole):
        monkeypatch.setattr(module, "PRIOR_ROWS", 1e-9)
    monkeypatch.setattr(missing, "EM_TOLERANCE", 1e-12)
    monkeypatch.setattr(missing, "MAX_EM_ITERATIONS", 5000)
    for name in ("UNCORRELATED", "RELATIONS"):
        shrinkage = replace(getattr(whole, name), tolerance=1e-10, max_iter=5000)
        monkeypatch.setattr(whole, name, shrinkage)


@pytest.mark.parametrize("keep_relations", [False, True])
@pytest.mark.usefixtures("converged")
def test_em_agrees_with_closed_form_of_monotone_patterns(keep_relations, rng):
    # Anderson (1957): the second feature is regressed on the first one
    first = rng.normal(3, 2, 200)
    second = 0.5 * first + rng.normal(size=200)
    seen = np.arange(200) < 120
    X = np.column_stack([first, np.where(seen, second, np.nan)])
    engine = RowEngine(X, np.zeros(200, dtype=np.intp))
    found = fit_whole(engine, keep_relations=keep_relations)
    a, b = first[seen], second[seen]
    slope = np.cov(a, b, bias=True)[0, 1] / a.var()
    mean = b.mean() + slope * (first.mean() - a.mean())
    variance = b.var() + slope**2 * (first.var() - a.var())
    covariance = np.outer(found.size, found.size) * found.total
    np.testing.assert_allclose(found.center, [first.mean(), mean], atol=1e-6)
    expected = [[first.var(), slope * first.var()], [slope * first.var(), variance]]
    np.testing.assert_allclose(covariance, expected, atol=1e-5)
    fills = mean + slope * (first[~seen] - first.mean())
    np.testing.assert_allclose(found.engine.gaps.values, fills, atol=1e-5)


@pytest.mark.usefixtures("converged")
def test_moments_of_a_group_are_those_of_its_samples_alone(rng):
    X, y = incomplete_table(rng)
    frame = make_frame(RowEngine(X, y))
    means, covariances = raw_moments(frame, frame.moments(3))
    for k in range(3):
        alone = fit_whole(RowEngine(X[y == k], np.zeros(np.sum(y == k), dtype=np.intp)))
        np.testing.assert_allclose(means[k], alone.center, atol=1e-4)
        expected = np.outer(alone.size, alone.size) * alone.total
        np.testing.assert_allclose(covariances[k], expected, rtol=1e-3, atol=1e-3)


def test_exact_relations_determine_missing_entries(rng):
    first, second, other = rng.normal(size=(3, 300))
    complete = np.column_stack([first, second, other, first + second, first - 2 * second])
    X = np.where(rng.uniform(size=complete.shape) < 0.15, np.nan, complete)
    engine = RowEngine(X, np.zeros(300, dtype=np.intp))
    assert len(make_frame(engine, keep_relations=True).spread) == 3
    filled = fit_whole(engine, keep_relations=True).engine
    determined = np.isnan(X).any(axis=1) & (np.isnan(X[:, [0, 1, 3, 4]]).sum(axis=1) <= 2)
    determined &= ~np.isnan(X[:, 2])
    assert determined.sum() > 50
    rows = filled.select_rows(np.flatnonzero(determined)).X
    np.testing.assert_allclose(rows, complete[determined], atol=1e-3)


def test_nearly_exact_relations_keep_their_variance(rng):
    first, second, noise = rng.normal(size=(3, 500))
    complete = np.column_stack([first, second, first + second + 0.02 * noise])
    X = np.where(rng.uniform(size=complete.shape) < 0.2, np.nan, complete)
    labels = np.zeros(500, dtype=np.intp)
    engines = [RowEngine(table, labels) for table in (complete, X)]
    spreads = [make_frame(engine, keep_relations=True).spread[-1] for engine in engines]
    assert spreads[1] == pytest.approx(spreads[0], rel=0.1)


@pytest.mark.parametrize(("n_features", "rank"), [(3, 3), (5, 3)])
def test_directions_without_variance_leave_the_others_as_they_are(n_features, rank, rng):
    basis = np.zeros((n_features + 20, rank))  # 20 constant features
    basis[:n_features] = np.linalg.qr(rng.normal(size=(n_features, rank)))[0]
    precision = missing.off_span_precision(basis)
    rounding = 1e-20 if n_features == rank else 1.5e-7  # of entries of 1e9
    assert np.abs(basis.T @ precision @ basis).max() <= rounding
    values = np.linalg.eigvalsh(precision[:n_features, :n_features])
    expected = [0.0] * rank + [1e9] * (n_features - rank)
    assert values == pytest.approx(expected, abs=1e-6)
    assert np.array_equal(precision[n_features:, n_features:], np.eye(20))


def test_soft_groups_with_shares_of_one_are_hard_groups(rng):
    X, y = incomplete_table(rng)
    frame = make_frame(RowEngine(X, y))
    hard = frame.moments(3)
    soft = frame.soft_moments(lambda block: np.eye(3)[block.labels].T)
    np.testing.assert_allclose(soft.means, hard.means, atol=1e-12)
    np.testing.assert_allclose(soft.covariances, hard.covariances, atol=1e-12)


def test_many_blocks_and_threads_agree_with_one_block(rng):
    X, y = incomplete_table(rng, n=2000)
    one = make_frame(RowEngine(X, y))
    many = make_frame(RowEngine(X, y, block_rows=100, n_threads=2))
    first, second = raw_moments(one, one.moments(3)), raw_moments(many, many.moments(3))
    np.testing.assert_allclose(first[0], second[0], atol=1e-9)
    np.testing.assert_allclose(first[1], second[1], atol=1e-9)


def test_a_weight_of_two_is_two_samples(rng):
    X, y = incomplete_table(rng, n=100)
    weights = np.where(np.arange(100) < 50, 2.0, 1.0)
    twice = np.concatenate([np.arange(100), np.arange(50)])
    weighted = make_frame(RowEngine(X, y, weights))
    repeated = make_frame(RowEngine(X[twice], y[twice]))
    first = raw_moments(weighted, weighted.moments(3))
    second = raw_moments(repeated, repeated.moments(3))
    np.testing.assert_allclose(first[0], second[0], atol=1e-9)
    np.testing.assert_allclose(first[1], second[1], atol=1e-9)


def test_units_and_origins_do_not_matter(rng):
    X, y = incomplete_table(rng)
    units, origins = 10.0 ** rng.integers(-8, 8, 5), 1e3 * rng.normal(size=5)
    frame, other = make_frame(RowEngine(X, y)), make_frame(RowEngine(units * (X + origins), y))
    means, covariances = raw_moments(frame, frame.moments(3))
    other_means, other_covariances = raw_moments(other, other.moments(3))
    np.testing.assert_allclose(other_means, units * (means + origins), rtol=1e-6)
    np.testing.assert_allclose(
        other_covariances / np.outer(units, units), covariances, rtol=1e-4, atol=1e-4
    )


def test_a_class_without_values_borrows_from_the_others(rng):
    X, y = incomplete_table(rng)
    X[y == 1, 2] = np.nan
    frame = make_frame(RowEngine(X, y))
    means, covariances = raw_moments(frame, frame.moments(3))
    assert np.all(np.isfinite(means))
    assert np.nanmin(X[:, 2]) < means[1, 2] < np.nanmax(X[:, 2])
    assert np.linalg.eigvalsh(covariances[1])[0] > 0


def test_empty_and_constant_features_are_found(rng):
    X, y = incomplete_table(rng)
    X[:, 1] = np.nan
    X[:, 3] = np.where(np.arange(len(X)) < 9, np.nan, 7.0)
    center, size, empty = locate_observed(RowEngine(X, y))
    assert empty.tolist() == [1]
    assert (size == 0).tolist() == [False, True, False, True, False]
    assert center[3] == 7
    frame = make_frame(RowEngine(X, y))
    assert frame.empty.tolist() == [1]
    assert frame.constant.tolist() == [1, 3]
    assert np.all(frame.basis[[1, 3]] == 0)


def test_many_samples_start_on_a_subsample(rng, monkeypatch):
    X, y = incomplete_table(rng, n=3000)
    reference = fit_whole(RowEngine(X, y))
    monkeypatch.setattr(whole, "MANY_ROWS", 1000)
    found = fit_whole(RowEngine(X, y))
    deviations = reference.size * np.sqrt(np.diag(reference.total))
    np.testing.assert_allclose(found.center / deviations, reference.center / deviations, atol=0.01)


def test_too_many_features_are_refused_in_words(rng, monkeypatch):
    monkeypatch.setattr(whole, "MAX_FEATURES", 4)
    X, y = incomplete_table(rng)
    with pytest.raises(ValueError, match="5 features; at most 4"):
        make_frame(RowEngine(X, y))
