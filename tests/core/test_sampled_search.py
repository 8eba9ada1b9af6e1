"""Searches on all samples whose iterations are searches on small samples."""

from dataclasses import replace

import numpy as np
import pytest

from opgd._fit.problem import pose, prepare
from opgd.core.engines import RowEngine
from opgd.core.penalties import Orthonormality
from opgd.core.sampled_search import MatchedObjective, SampledSearch, draw_sample
from opgd.core.solvers import CALLBACK, CONVERGED, NO_PROGRESS, maximize
from opgd.core.starts import lda_axes, normalize_rows
from tests.core.problems import KINDS, small_objective


def make_problem(covariance_type="diag", weighted=False, distance=1.2, n_threads=1):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 6000)
    spread = rng.uniform(0.5, 1.5, (3, 6))
    X = distance * rng.normal(size=(3, 6))[y] + spread[y] * rng.normal(size=(6000, 6))
    weights = rng.uniform(0.5, 2, 6000) if weighted else None
    engine = RowEngine(X, y, weights, n_threads=n_threads, block_rows=500)
    return pose(prepare(engine, 3), np.full(3, 1 / 3), covariance_type=covariance_type)


def draw_at_lda(problem, size):
    at = lda_axes(problem.classes, 2)
    return draw_sample(problem.objective, at, -problem.objective.value(at), size), at


def ignore(directions, value):
    pass


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_have_the_size_and_the_weight_that_were_asked_for(weighted):
    problem = make_problem(weighted=weighted)
    sample, _ = draw_at_lda(problem, 1500)
    assert sample.engine.n_samples == pytest.approx(1500, rel=0.1)
    total = problem.objective.engine.total_weight
    assert sample.engine.total_weight == pytest.approx(total, rel=0.05)


def test_losses_make_samples_more_precise_if_classes_separate_well():
    problem = make_problem(distance=3.0)
    objective = problem.objective
    sample, at = draw_at_lda(problem, 1500)
    gradient = objective.value_and_gradient(at)[1]

    def error(engine):
        other = replace(objective, engine=engine).value_and_gradient(at)[1]
        return np.linalg.norm(other - gradient)

    assert error(sample.engine) < 0.5 * error(objective.engine.sample(1500))


def test_draws_do_not_depend_on_threads_or_blocks():
    one = draw_at_lda(make_problem(weighted=True), 1500)[0].engine
    two = draw_at_lda(make_problem(weighted=True, n_threads=2), 1500)[0].engine
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.weights, two.weights)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalized", [False, True])
def test_matched_objectives_have_the_given_value_and_gradient(kind, penalized, rng):
    penalty = Orthonormality(1.0, np.eye(6)) if penalized else None
    objective = small_objective(rng, kind=kind, penalty=penalty, n_rows=400)
    sample = replace(objective, engine=objective.engine.sample(100))
    at = rng.normal(size=(2, 6))
    value, gradient = objective.value_and_gradient(at)
    matched = MatchedObjective.at_point(sample, at, value, gradient)
    matched_value, matched_gradient = matched.value_and_gradient(at)
    assert matched_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(matched_gradient, gradient, atol=1e-12)


def test_gradients_of_matched_objectives_agree_with_central_differences(rng):
    objective = small_objective(rng, n_rows=400)
    sample = replace(objective, engine=objective.engine.sample(100))
    at, elsewhere, step = rng.normal(size=(3, 2, 6))
    matched = MatchedObjective.at_point(sample, at, *objective.value_and_gradient(at))
    ahead, behind = (matched.value(elsewhere + h * step) for h in (1e-6, -1e-6))
    slope = np.sum(matched.value_and_gradient(elsewhere)[1] * step)
    assert (ahead - behind) / 2e-6 == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("covariance_type", ["diag", "full"])
@pytest.mark.parametrize("weighted", [False, True])
def test_searches_end_in_the_optimum_of_all_samples(covariance_type, weighted):
    problem = make_problem(covariance_type, weighted)
    objective, start = problem.objective, lda_axes(problem.classes, 2)
    search = SampledSearch(objective, start, [1500, 3000], tol=1e-6, on_iteration=ignore)
    search.run(100)
    result = search.result
    assert result.message == CONVERGED
    assert result.value == pytest.approx(maximize(objective, start).value, rel=1e-8)
    assert np.abs(objective.value_and_gradient(result.directions)[1]).max() <= 1e-6
    assert len(result.history) == result.n_iter + 1
    assert np.all(np.diff(result.history) > 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalized", [False, True])
def test_searches_work_with_every_target_and_penalty(kind, penalized, rng):
    penalty = Orthonormality(1.0, np.eye(6)) if penalized else None
    objective = small_objective(rng, kind=kind, penalty=penalty, n_rows=3000)
    start = normalize_rows(rng.normal(size=(2, 6)))
    search = SampledSearch(objective, start, [1000, 2000], tol=1e-6, on_iteration=ignore)
    search.run(100)
    assert search.value > objective.value(start)
    assert search.value >= maximize(objective, start).value * 1.02
    assert search.value == pytest.approx(objective.value(search.directions), rel=1e-12)


def test_searches_end_when_the_largest_sample_misleads():
    problem = make_problem()
    start = lda_axes(problem.classes, 2)
    search = SampledSearch(problem.objective, start, [8], tol=1e-9, on_iteration=ignore)
    search.run(100)
    assert search.message == NO_PROGRESS
    assert search.value >= problem.objective.value(start) - 1e-12


def test_a_callback_stops_a_search_and_a_limit_interrupts_it():
    problem, seen = make_problem(), []

    def stop(directions, value):
        seen.append((directions, value))
        if len(seen) == 2:
            raise StopIteration

    start = lda_axes(problem.classes, 2)
    search = SampledSearch(problem.objective, start, [1500], tol=1e-9, on_iteration=stop)
    search.run(1)
    assert len(seen) == search.result.n_iter == 1
    search.run(100)
    assert search.result.message == CALLBACK
    assert not search.result.converged
    assert search.result.n_iter == 2
    assert problem.objective.value(seen[1][0]) == pytest.approx(seen[1][1])
