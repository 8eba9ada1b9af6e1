"""Penalties: against loops over their formulas, differences, and their zeros."""

import numpy as np
import pytest

from opgd.core.penalties import Orthonormality
from tests.core.problems import small_objective


def test_value_is_the_sum_over_pairs_of_components(rng):
    factor = rng.normal(size=(6, 6))
    metric, components = factor @ factor.T, rng.normal(size=(3, 6))
    total = 0.0
    for i in range(3):
        for j in range(3):
            total += (components[i] @ metric @ components[j] - (i == j)) ** 2
    value, _ = Orthonormality(0.7, metric).value_and_gradient(components)
    assert value == pytest.approx(-0.7 * total)


@pytest.mark.parametrize("size", [0.1, 10.0])
@pytest.mark.parametrize("form", ["diag", "full"])
def test_penalized_gradient_far_from_orthonormal(form, size, rng):
    factor = rng.normal(size=(6, 6))
    penalty = Orthonormality(0.7, factor @ factor.T)
    objective = small_objective(rng, "strongest", form, weighted=True, penalty=penalty)
    at, step = rng.normal(size=(2, 3, 6))
    at, width = size * at, 1e-6 * size
    slope = (objective.value(at + width * step) - objective.value(at - width * step)) / (2 * width)
    value, gradient = objective.value_and_gradient(at)
    assert value == pytest.approx(objective.value(at), rel=1e-12)
    assert slope == pytest.approx(np.sum(gradient * step), rel=1e-6)


def test_penalty_is_zero_exactly_for_orthonormal_components(rng):
    factor = rng.normal(size=(6, 6))
    metric = factor @ factor.T
    orthonormal = np.linalg.inv(np.linalg.cholesky(metric)).T[:, :2].T
    orthonormal = np.linalg.solve(
        np.linalg.cholesky(orthonormal @ metric @ orthonormal.T), orthonormal
    )
    value, gradient = Orthonormality(2.0, metric).value_and_gradient(orthonormal)
    assert value == pytest.approx(0, abs=1e-20)
    np.testing.assert_allclose(gradient, 0, atol=1e-10)
