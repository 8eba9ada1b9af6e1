"""Resolution of features: distinct values and spacings."""

import numpy as np
import pytest

from opgd._fit.problem import frame_samples
from opgd._fit.resolution import (
    leave_out_rare_values,
    measure_resolution,
)
from opgd.core.engines import RowEngine


def engine_of(*columns):
    X = np.column_stack(columns).astype(float)
    return RowEngine(X, np.zeros(len(X), np.intp))


def test_distinct_values_and_spacings(rng):
    continuous, counts = rng.normal(size=200), rng.poisson(2, 200)
    rounded = np.round(10 * rng.normal(size=200), 1)
    found = measure_resolution(engine_of(continuous, counts, 0.1 * counts + 3, rounded))
    assert found.n_distinct[0] == 200
    assert found.n_distinct[1] == found.n_distinct[2] == len(np.unique(counts))
    np.testing.assert_allclose(found.typical, [0, 1, 0.1, 0])
    assert list(found.few) == [1, 2]


def test_a_weight_is_a_number_of_repetitions(rng):
    engine = engine_of(rng.poisson(2, 40), np.round(rng.normal(size=40), 2))
    weights = rng.integers(4, 9, 40)
    repeated = measure_resolution(engine_of(*np.repeat(engine.X, weights, axis=0).T))
    weighted = measure_resolution(engine.with_weights(weights.astype(float)))
    np.testing.assert_array_equal(weighted.typical, repeated.typical)
    assert not np.array_equal(weighted.typical, measure_resolution(engine).typical)


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


def test_the_floor_is_at_most_the_total_covariance(rng):
    counts = rng.poisson(1, 200)
    engine = engine_of(counts, counts + rng.poisson(0.2, 200), rng.normal(size=200))
    floor = measure_resolution(engine).floor(frame_samples(engine))
    values = np.linalg.eigvalsh(floor)
    assert values.max() <= 1 + 1e-9
    assert values.min() >= -1e-9
