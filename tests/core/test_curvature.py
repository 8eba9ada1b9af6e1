"""Scaling of the variables by the curvature of a subsample."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from opgd._fit.problem import pose, prepare
from opgd.core.curvature import estimate_scaling, span_krylov_space
from opgd.core.engines import RowEngine
from opgd.core.penalties import Orthonormality
from opgd.core.solvers import CALLBACK, CONVERGED, maximize
from opgd.core.starts import lda_axes, normalize_rows
from tests.core.problems import KINDS, small_objective

SHAPE = (2, 6)


@dataclass(frozen=True)
class Quadratic:
    """-1 - 1/2 sum_j curvatures_j (u_j - 1)^2 in rotated coordinates."""

    matrix: np.ndarray

    def value(self, at):
        return self.value_and_gradient(at)[0]

    def value_and_gradient(self, at):
        departure = at.ravel() - 1
        slope = self.matrix @ departure
        return -1 - 0.5 * departure @ slope, -slope.reshape(at.shape)


@pytest.fixture
def quadratic():
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))[0]
    return Quadratic(rotation @ np.diag(np.geomspace(0.05, 1, 12)) @ rotation.T)


def make_problem(covariance_type, weighted):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 6000)
    spread = rng.uniform(0.5, 1.5, (3, 6))
    X = 1.2 * rng.normal(size=(3, 6))[y] + spread[y] * rng.normal(size=(6000, 6))
    engine = RowEngine(X, y, rng.uniform(0.5, 2, 6000) if weighted else None)
    return pose(prepare(engine, 3), np.full(3, 1 / 3), covariance_type=covariance_type)


def test_krylov_spaces_are_orthonormal_and_end_where_they_are_complete():
    matrix = np.diag([1.0, 2.0, 3.0, 3.0, 3.0])
    basis, products = span_krylov_space(matrix.dot, np.ones(5), 5)
    assert len(basis) == 3  # three different eigenvalues
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(products, basis @ matrix, atol=1e-12)


def test_scaling_is_the_inverse_root_of_the_hessian(quadratic):
    at = np.zeros(SHAPE)
    at[0, 0] = 0.5
    value, gradient = quadratic.value_and_gradient(at)
    scaling, n_evaluations = estimate_scaling(quadratic, 40, at, value, gradient)
    assert n_evaluations == 13
    twice = np.array([scaling.apply(scaling.apply(row)) for row in quadratic.matrix])
    np.testing.assert_allclose(twice, np.eye(12), atol=1e-5)


def test_a_quadratic_takes_one_step(quadratic):
    make_scaling = partial(estimate_scaling, quadratic, 40)
    start = np.full(SHAPE, 3.0)
    start[1, 2] = -1.0
    result = maximize(quadratic, start, make_scaling=make_scaling)
    assert result.message == CONVERGED
    assert result.n_iter <= 3 < maximize(quadratic, start).n_iter
    np.testing.assert_allclose(result.directions, 1, atol=1e-4)


def test_a_sample_with_another_value_scales_nothing(quadratic):
    at = np.zeros(SHAPE)
    value, gradient = quadratic.value_and_gradient(at)
    assert estimate_scaling(quadratic, 40, at, 2 * value, gradient) == (None, 1)


@pytest.mark.parametrize("covariance_type", ["diag", "full"])
@pytest.mark.parametrize("weighted", [False, True])
def test_scaled_searches_end_in_the_same_optimum(covariance_type, weighted):
    problem = make_problem(covariance_type, weighted)
    objective, start = problem.objective, lda_axes(problem.classes, 2)
    sample = replace(objective, engine=objective.engine.sample(1500))
    plain = maximize(objective, start)
    scaled = maximize(objective, start, make_scaling=partial(estimate_scaling, sample, 12))
    assert scaled.converged
    assert scaled.value == pytest.approx(plain.value, rel=1e-8)
    assert np.abs(objective.value_and_gradient(scaled.directions)[1]).max() <= 2e-6
    assert len(scaled.history) == scaled.n_iter + 1
    assert scaled.history[-1] == pytest.approx(objective.value(scaled.directions), rel=1e-12)


def test_hessian_products_agree_with_central_differences():
    problem = make_problem("diag", weighted=False)
    objective, at = problem.objective, lda_axes(problem.classes, 2)
    value, gradient = objective.value_and_gradient(at)
    scaling, _ = estimate_scaling(objective, 1, at, value, gradient)
    v = (gradient / np.linalg.norm(gradient)).ravel()
    ahead, behind = (
        objective.value_and_gradient(at + h * v.reshape(at.shape))[1] for h in (1e-4, -1e-4)
    )
    curvature = -v @ (ahead - behind).ravel() / 2e-4
    assert scaling.factors[0] ** -2 == pytest.approx(abs(curvature), rel=1e-3)


def test_a_callback_gets_directions_and_stops_a_scaled_search(quadratic):
    seen = []

    def stop(directions, value):
        seen.append((directions, value))
        raise StopIteration

    make_scaling = partial(estimate_scaling, quadratic, 2)
    result = maximize(quadratic, np.full(SHAPE, 0.5), on_iteration=stop, make_scaling=make_scaling)
    assert result.message == CALLBACK
    assert not result.converged
    assert quadratic.value(seen[0][0]) == pytest.approx(seen[0][1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalized", [False, True])
def test_scaled_searches_work_with_every_target_and_penalty(kind, penalized, rng):
    penalty = Orthonormality(1.0, np.eye(6)) if penalized else None
    objective = small_objective(rng, kind=kind, penalty=penalty, n_rows=3000)
    sample = replace(objective, engine=objective.engine.sample(1500))
    start = normalize_rows(rng.normal(size=(2, 6)))
    plain = maximize(objective, start)
    scaled = maximize(objective, start, make_scaling=partial(estimate_scaling, sample, 12))
    assert scaled.value > objective.value(start)
    assert scaled.value >= plain.value - 0.02 * abs(plain.value)
    assert scaled.value == pytest.approx(objective.value(scaled.directions), rel=1e-12)
