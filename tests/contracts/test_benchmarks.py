"""Parts of the benchmarks that decide what their figures mean."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

pytest.importorskip("psutil")
pytest.importorskip("benchmarks")

from benchmarks import (
    cluster,
    cluster_selection,
    decision_costs,
    decision_sets,
    growth,
    ks_kernels,
    noise,
    passes,
    peers,
)
from benchmarks.harness import OtherWork, scaled
from benchmarks.kernel import Shape
from benchmarks.rows import Recipe
from opgd import OPGDClassifier
from opgd.core.engines import RowEngine


def test_passes_are_counted_until_the_value_is_reached():
    X, y = load_wine(return_X_y=True)
    plain = RowEngine.sum
    model = OPGDClassifier(2, init="lda")
    with passes.watched(len(X)) as reading:
        model.fit(X, y)
    assert RowEngine.sum is plain
    assert len(reading.values) == model.n_evaluations_
    end = model.log_likelihood_ / len(X)
    assert max(value for _, value in reading.values) == pytest.approx(end, rel=1e-9)
    first_passes, first_value = reading.values[0]
    assert first_passes < reading.passes_to(end - 1e-5) < reading.passes
    assert reading.passes_to(first_value) == first_passes
    assert reading.passes_to(1.0) == np.inf


def test_samples_count_as_the_share_of_rows_they_are(rng):
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    with passes.watched(400) as reading:
        engine = RowEngine(X, y)
        engine.sum(lambda block: block.X.sum(axis=0))
        engine.sample(100).sum(lambda block: block.X.sum(axis=0))
    assert (reading.passes, reading.sample_passes) == (1.25, 0.25)
    assert reading.values == []


def test_rows_do_not_depend_on_where_they_are_made():
    recipe = Recipe(n_columns=4, n_classes=3)
    X, labels = recipe.made(250, 100)
    assert X.shape == (250, 4)
    np.testing.assert_array_equal(X[100:200], recipe.rows(1, 100))
    np.testing.assert_array_equal(labels[200:], recipe.labels(2, 50))
    assert not np.allclose(X[:100], X[100:200])
    many, codes = recipe.made(30_000, 30_000)
    np.testing.assert_allclose(many[codes == 2].mean(axis=0), recipe.means[2], atol=0.06)
    np.testing.assert_allclose(many[codes == 2].std(axis=0), recipe.spreads[2], atol=0.06)


def test_dask_is_born_with_the_same_rows():
    pytest.importorskip("dask.array")
    rows, labels = cluster.RECIPE.made(250, 40)
    for blocks_per_part in (1, 3):
        X, y = cluster.Size(250, 40).born_there(blocks_per_part)
        assert X.chunks[0][0] == 40 * blocks_per_part
        np.testing.assert_array_equal(X.compute(scheduler="sync"), rows)
        np.testing.assert_array_equal(y.compute(scheduler="sync"), labels)


def test_simulated_workers_share_tasks_that_are_sent_one_by_one():
    tasks = np.array([2.0, 2.0, 2.0, 2.0])
    simulate = cluster_selection.simulate
    assert simulate(tasks, 1, dispatch=0.5) == 0.5 + 8.0
    assert simulate(tasks, 2, dispatch=0.5) == 1.0 + 4.0
    assert simulate(tasks, 4, dispatch=0.5) == simulate(tasks, 9, dispatch=0.5) == 2.0 + 2.0
    assert simulate(tasks, 4, dispatch=5.0) == 20.0 + 2.0  # the scheduler is the bottleneck


def test_growth_is_that_of_the_largest_size():
    case = growth.Case("n", "n_rows", [10, 20, 40], Shape(1, 2, 1, 2), since=20)
    assert growth.cost_growth(case, [9.0, 2.0, 3.0]) == 1.5
    without = growth.Case("p", "n_columns", [10, 20, 40], Shape(1, 2, 1, 2))
    assert growth.cost_growth(without, [1.0, 3.0, 4.0]) == 2.0


def test_sizes_are_scaled():
    assert scaled(1_000_000, 0.01) == 10_000
    assert scaled(1_000_000, 1e-9, least=5) == 5
    few = peers.PEERS["broadcast"].rows(Shape(10**9, 5, 3, 4))
    assert few * 3 * 4 <= peers.MOST_CELLS < (few + 1) * 3 * 4


def test_softmax_sets_have_the_coverage_they_are_compared_at():
    posteriors = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.45, 0.55]])
    codes = np.array([0, 0, 1, 0])
    # probabilities of the true classes: 0.9, 0.7, 0.6, 0.45
    assert decision_sets.size_of_softmax_sets(posteriors, codes, 0.75) == 0.75
    assert decision_sets.size_of_softmax_sets(posteriors, codes, 1.0) == 5 / 4


def test_costs_of_the_use_are_those_described():
    tumors = decision_costs.cost_of_tumors(np.array(["benign", "malignant"]))
    assert tumors.tolist() == [[0, 1], [10, 0]]
    soils = decision_costs.cost_of_soils(np.array([1, 2, 3, 4, 5, 7]))
    assert soils[2].tolist() == [1, 1, 0, 1, 1, 2]
    assert soils[1].tolist() == [5, 0, 5, 5, 1, 5]
    assert decision_costs.cost_of_digits(np.arange(10))[1, 7] == 36


def test_own_work_is_not_that_of_others(monkeypatch):
    moments = iter([(0.0, 100.0, 10.0), (2.0, 103.0, 12.0)])  # clock, all, own
    monkeypatch.setattr(OtherWork, "_now", lambda self: next(moments))
    with OtherWork() as others:
        pass
    assert others.cores == 0.5
    assert not others.idle
    assert "too busy" in str(others)


@pytest.mark.parametrize("name", list(peers.PEERS))
def test_peers_evaluate_the_same_objective(name):
    pytest.importorskip("torch")
    assert set(peers.measure_times(Shape(500, 6, 2, 3), name)) == {"opgd", name}


def test_samples_without_densities_have_the_priors():
    joints = np.log([[0.3, 0.1], [0.1, 0.4]])
    unknown = np.full((1, 2), -np.inf)
    priors, codes = np.array([0.75, 0.25]), np.array([0, 0, 0])
    error, log_loss = ks_kernels.measure_joints(np.vstack([joints, unknown]), codes, priors)
    assert error == pytest.approx(1 / 3)
    assert log_loss == pytest.approx(-np.mean(np.log([0.75, 0.2, 0.75])))


def test_outliers_are_added_within_the_ranges(rng):
    X = rng.normal(size=(200, 3))
    mixed, outlying = noise.add_outliers(X, 0)
    np.testing.assert_array_equal(mixed[~outlying], X)
    assert outlying.sum() == 10
    assert np.all(mixed >= X.min(axis=0))
    assert np.all(mixed <= X.max(axis=0))
