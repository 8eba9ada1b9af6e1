"""Blocks of rows, and the types of numbers in them."""

import threading
import time

import numpy as np
import pytest

from opgd.core.coordinates import make_frame
from opgd.core.engines import RowBlock, RowEngine
from opgd.core.gaussians import FORMS
from opgd.core.moments import group_moments
from opgd.core.objective import Objective
from opgd.core.targets import Labeled


def test_rows_of_float32_stay_so_in_blocks_and_sums_are_float64(rng):
    X = (1e3 + rng.normal(size=(5000, 7))).astype(np.float32)
    labels = rng.integers(0, 2, 5000)
    engine = RowEngine(X, labels, center=X.mean(axis=0, dtype=np.float64))
    block = next(engine.blocks())
    assert block.X.dtype == np.float32
    assert block.centered().dtype == np.float64
    # the center is not representable in float32; the remainder is in `rest`
    expected = X[block.rows].astype(np.float64) - engine.center
    np.testing.assert_allclose(block.centered(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("covariance_type", ["diag", "full"])
def test_float32_costs_few_digits(rng, covariance_type):
    labels = rng.integers(0, 3, 20_000)
    X = 50 + rng.normal(size=(20_000, 8)) + 2 * np.eye(3, 8)[labels]
    center = X.mean(axis=0)
    at = rng.normal(size=(3, 8))
    found = []
    for rows in (X, X.astype(np.float32)):
        engine = RowEngine(rows, labels, center=center)
        moments = group_moments(engine, 3, RowBlock.centered)
        objective = Objective(
            engine,
            np.eye(8),
            moments,
            np.log(moments.priors),
            FORMS[covariance_type],
            Labeled(np.arange(3)),
        )
        found.append(objective.value_and_gradient(at))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-6)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=0, atol=1e-5)
    assert found[1][1].dtype == np.float64


def test_results_are_added_in_the_order_of_the_rows_whichever_comes_first(rng):
    X = rng.normal(size=(1001, 3))
    engine = RowEngine(X, np.zeros(1001, np.intp), n_threads=2, block_rows=100)
    others_done = threading.Event()

    def rows_of(block):
        if block.rows.start == 0:
            assert others_done.wait(timeout=60)
        elif block.rows.stop == 1001:
            others_done.set()
        return list(block.X)

    np.testing.assert_array_equal(engine.sum(rows_of), X)
    sizes = [block.n_rows for block in engine.blocks()]
    assert sum(sizes) == 1001
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= 100


def test_no_block_is_empty():
    engine = RowEngine(np.arange(3.0)[:, None], np.zeros(3, np.intp), block_rows=1)
    assert [block.X[0, 0] for block in engine.blocks()] == [0, 1, 2]


def test_an_error_in_one_thread_stops_the_others():
    engine = RowEngine(
        np.arange(1000.0)[:, None], np.zeros(1000, np.intp), n_threads=2, block_rows=10
    )
    n_done = []

    def fail_early(block):
        if block.rows.start == 10:
            raise MemoryError
        time.sleep(0.01)
        n_done.append(1)
        return block.X.sum(axis=0)

    with pytest.raises(MemoryError):
        engine.sum(fail_early)
    assert len(n_done) < 20  # of a hundred


@pytest.mark.parametrize("n_threads", [1, 2])
def test_overflow_is_looked_for_and_not_warned_of(n_threads, recwarn):
    X = np.array([[-1.5e308], [1.5e308]] * 50)
    engine = RowEngine(X, np.zeros(100, np.intp), n_threads=n_threads, block_rows=10)
    with pytest.raises(OverflowError, match="overflow"):
        make_frame(engine)
    assert not recwarn.list


def test_a_sum_inside_another_is_right(rng):
    X = rng.normal(size=(4000, 3))
    engine = RowEngine(X, np.zeros(4000, np.intp), n_threads=2, block_rows=500)

    def total(block):
        return block.X.sum(axis=0)

    nested = engine.sum(lambda block: total(block) + engine.sum(total))
    np.testing.assert_allclose(nested, 9 * X.sum(axis=0))
