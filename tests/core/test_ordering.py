import numpy as np
import pytest

from opgd.core import ordering
from opgd.core.ordering import order_components, values_of_first, values_with_each
from tests.core.problems import KINDS, small_objective


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["diag", "full"])
@pytest.mark.parametrize("n_subclasses", [1, 3])
def test_values_of_first_agree_with_the_kernel(kind, form, n_subclasses, rng):
    objective = small_objective(rng, kind, form, n_subclasses, weighted=True, block_rows=20)
    directions = rng.normal(size=(4, 6))
    expected = [objective.value(directions[: j + 1]) for j in range(4)]
    np.testing.assert_allclose(values_of_first(objective, directions), expected, rtol=1e-10)


def test_values_with_each_agree_with_the_kernel(rng):
    objective = small_objective(rng, n_subclasses=2)
    directions = rng.normal(size=(4, 6))
    found = values_with_each(objective, directions, [2, 0], [1, 3])
    expected = [objective.value(directions[[2, 0, j]]) for j in (1, 3)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("form", ["diag", "full"])
def test_order_is_greedy(form, rng):
    objective = small_objective(rng, form=form)
    directions = rng.normal(size=(4, 6))
    order, values = order_components(objective, directions)
    assert sorted(order) == [0, 1, 2, 3]
    for step in range(4):
        before, after = list(order[:step]), list(order[step:])
        tried = [objective.value(directions[[*before, j]]) for j in after]
        assert values[step] == pytest.approx(max(tried), rel=1e-10)
        assert np.argmax(tried) == 0


def test_many_axes_with_full_covariances_keep_the_order_of_their_basis(rng, monkeypatch):
    monkeypatch.setattr(ordering, "MOST_FULL", 2)
    objective = small_objective(rng, form="full")
    directions = rng.normal(size=(3, 6))
    order, values = order_components(objective, directions)
    assert list(order) == [0, 1, 2]
    assert values[-1] == pytest.approx(objective.value_and_gradient(directions)[0], rel=1e-10)
