"""Resolution of features: distinct values, spacings, and rounding errors."""

import numpy as np
import pytest

from opgd._fit.problem import frame_samples
from opgd._fit.resolution import (
    drop_rounding_errors,
    leave_out_rare_values,
    measure_resolution,
)
from opgd.core import coordinates
from opgd.core.coordinates import sphered_coordinates
from opgd.core.engines import RowEngine
from opgd.core.marginal import Completion


def engine_of(*columns):
    X = np.column_stack(columns).astype(float)
    return RowEngine(X, np.zeros(len(X), np.intp))


def test_distinct_values_spacings_and_grids(rng):
    continuous, counts = rng.normal(size=200), rng.poisson(2, 200)
    rounded = np.round(10 * rng.normal(size=200), 1)
    found = measure_resolution(engine_of(continuous, counts, 0.1 * counts + 3, rounded))
    assert found.n_distinct[0] == 200
    assert found.n_distinct[1] == found.n_distinct[2] == len(np.unique(counts))
    np.testing.assert_allclose(found.typical, [0, 1, 0.1, 0])
    np.testing.assert_allclose(found.grid, [0, 1, 0.1, 0.1], rtol=1e-6)
    assert list(found.few) == [1, 2]


def test_floats_that_differ_by_rounding_are_one_value():
    values = np.array([0.3, 0.1 + 0.2, 1.0, 2.0] * 30)
    assert measure_resolution(engine_of(values)).n_distinct[0] == 3


def test_missing_values_are_not_values(rng):
    counts = rng.poisson(2, 200).astype(float)
    missing = np.where(np.arange(250) < 50, np.nan, np.append(np.zeros(50), counts))
    found = measure_resolution(engine_of(missing, np.full(250, np.nan)))
    assert list(found.n_distinct) == [len(np.unique(counts)), 0]
    np.testing.assert_allclose([found.typical, found.grid], [[1, 0], [1, 0]])


def test_a_weight_is_a_number_of_repetitions(rng):
    engine = engine_of(rng.poisson(2, 40), np.round(rng.normal(size=40), 2))
    weights = rng.integers(4, 9, 40)
    repeated = measure_resolution(engine_of(*np.repeat(engine.X, weights, axis=0).T))
    weighted = measure_resolution(engine.with_weights(weights.astype(float)))
    np.testing.assert_array_equal(weighted.typical, repeated.typical)
    assert not np.array_equal(weighted.typical, measure_resolution(engine).typical)


@pytest.mark.parametrize("decimals", [1, 2])
def test_the_rounding_error_of_a_sum_is_left_out(decimals, rng):
    first, second = np.round(3 * rng.normal(size=(2, 300)), decimals)
    total = np.round(0.7 * first + 0.4 * second, decimals)
    engine = engine_of(first, second, total)
    frame, columns = drop_rounding_errors(frame_samples(engine), measure_resolution(engine))
    assert frame.basis.shape == (3, 2)
    assert len(columns) == 1
    rows = frame.engine.X
    np.testing.assert_allclose(np.cov(rows.T, bias=True), np.eye(2), atol=1e-8)


def remove_cells(engine, rng, share=0.15):
    missing = rng.uniform(size=engine.X.shape) < share
    return RowEngine(np.where(missing, np.nan, engine.X), engine.labels)


@pytest.fixture
def rounded(rng):
    first, second, third = rng.normal(size=(3, 300))
    rare = rng.uniform(size=300) < 0.04 + 0.05 * (first > 0)
    return engine_of(first, second, np.round(first + second, 1), third - first, rare)


@pytest.mark.parametrize("cells", [coordinates.MAX_COPY_CELLS, 0], ids=["sphered", "original"])
def test_rows_with_gaps_contain_the_directions_left_out(rounded, cells, rng, monkeypatch):
    monkeypatch.setattr(coordinates, "MAX_COPY_CELLS", cells)
    engine = remove_cells(rounded, rng)
    whole = frame_samples(engine, keep_relations=True)
    frame, _ = drop_rounding_errors(whole, measure_resolution(engine))
    rank, k = len(frame.spread), frame.rest.shape[1]
    assert rank + k == len(whole.spread)
    [block] = frame.engine.blocks()
    rows = frame.whole_row_map()(block).copy()
    assert rows.shape == (300, rank + k)
    np.testing.assert_allclose(frame.row_map()(block), rows[:, :rank], atol=1e-12)
    matrix = frame.engine_matrix(sphered_coordinates(frame))
    np.testing.assert_allclose(block.centered() @ matrix, rows[:, :rank], atol=1e-9)
    features = rows[:, :rank] @ (frame.basis / frame.spread).T
    features += rows[:, rank:] @ np.linalg.pinv(frame.rest)
    seen = ~np.isnan(engine.X)
    standardized = (engine.X - frame.center) / frame.scale
    np.testing.assert_allclose(features[seen], standardized[seen], atol=1e-6)


def test_missing_entries_depend_on_directions_left_out(rounded, rng):
    whole = frame_samples(rounded)
    frame, _ = drop_rounding_errors(whole, measure_resolution(rounded))
    assert frame.rest.shape[1] > 0
    X = remove_cells(rounded, rng).X
    completed = []
    for current in (whole, frame):
        space = sphered_coordinates(current)
        identity = np.eye(space.rank)[None]
        gaussian = Completion(space, np.ones(1), space.center[None], identity)
        completed.append(gaussian.observer(space.matrix.T[:1]).complete(X))
    np.testing.assert_allclose(completed[1], completed[0], atol=1e-6)


def test_moments_of_samples_are_those_before_directions_are_left_out(rounded, rng):
    engine = remove_cells(rounded, rng)
    whole = frame_samples(engine, keep_relations=True)
    frame, _ = drop_rounding_errors(whole, measure_resolution(engine))
    places = np.argmax(np.abs(whole.basis.T @ frame.basis), axis=0)
    expected, found = whole.moments(1), frame.moments(1)
    np.testing.assert_allclose(found.means, expected.means[:, places], atol=0.01)
    expected = expected.covariances[0][np.ix_(places, places)]
    np.testing.assert_allclose(found.covariances[0], expected, atol=0.03)


def test_small_but_real_variances_are_kept(rng):
    size = rng.normal(size=(300, 1))
    engine = engine_of(size + 1e-3 * rng.normal(size=(300, 3)))
    frame, columns = drop_rounding_errors(frame_samples(engine), measure_resolution(engine))
    assert frame.basis.shape == (3, 3)
    assert not len(columns)


@pytest.mark.parametrize("sphered", [True, False])
def test_features_with_rare_values_are_left_out(sphered, rng, monkeypatch):
    """The frame is then that of the other features."""
    if not sphered:
        monkeypatch.setattr("opgd.core.coordinates.MAX_COPY_CELLS", 0)
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 2))
    rare, frequent = rng.uniform(size=300) < 0.05, rng.uniform(size=300) < 0.4
    engine = engine_of(rare, X, frequent)
    frame = leave_out_rare_values(frame_samples(engine), measure_resolution(engine))
    expected = frame_samples(engine_of(X, frequent))
    assert list(frame.left_out) == [0] == list(frame.constant)
    assert frame.sphered == sphered
    np.testing.assert_allclose(frame.spread, expected.spread)
    assert not frame.basis[0].any()
    np.testing.assert_allclose(np.abs(frame.basis[1:]), np.abs(expected.basis), atol=1e-10)
    if sphered:
        np.testing.assert_allclose(np.abs(frame.engine.X), np.abs(expected.engine.X), atol=1e-8)


def test_features_are_not_left_out_if_no_other_varies(rng):
    engine = engine_of(rng.uniform(size=300) < 0.05, np.ones(300))
    frame = leave_out_rare_values(frame_samples(engine), measure_resolution(engine))
    assert frame.basis.shape == (2, 1)


def test_the_floor_is_at_most_the_total_covariance(rng):
    counts = rng.poisson(1, 200)
    engine = engine_of(counts, counts + rng.poisson(0.2, 200), rng.normal(size=200))
    floor = measure_resolution(engine).floor(frame_samples(engine))
    values = np.linalg.eigvalsh(floor)
    assert values.max() <= 1 + 1e-9
    assert values.min() >= -1e-9
