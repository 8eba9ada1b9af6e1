import numpy as np
import pytest

from opgd.core import solvers
from opgd.core.solvers import join_runs, maximize, select_best_run
from opgd.core.starts import random_axes
from tests.core.problems import small_objective


def start_of(seed=0, q=2):
    return random_axes(6, q, np.random.RandomState(seed))


def test_ends_at_a_stationary_point(rng):
    objective = small_objective(rng)
    result = maximize(objective, start_of(), tol=1e-7)
    assert result.converged
    assert np.abs(objective.value_and_gradient(result.directions)[1]).max() <= 1e-7
    assert result.value == pytest.approx(objective.value(result.directions), rel=1e-12)
    assert result.n_evaluations >= result.n_iter + 1


@pytest.mark.parametrize("max_iter", [0, 1, 3, 200])
@pytest.mark.parametrize("kind", ["labeled", "strongest"])
def test_never_ends_below_its_start(rng, kind, max_iter):
    objective = small_objective(rng, kind)
    for seed in range(5):
        start = start_of(seed)
        result = maximize(objective, start, max_iter=max_iter)
        assert result.value >= objective.value_and_gradient(start)[0] - 1e-14
        assert result.n_iter <= max_iter
        assert len(result.history) == result.n_iter + 1


def test_history_never_falls(rng):
    history = maximize(small_objective(rng), start_of()).history
    assert np.all(np.diff(history) >= 0)


def test_callback_may_stop_the_search(rng):
    seen = []

    def stop_after_three(directions, value):
        seen.append(value)
        if len(seen) == 3:
            raise StopIteration

    result = maximize(small_objective(rng), start_of(), on_iteration=stop_after_three)
    assert len(seen) == 3
    assert not result.converged
    assert result.message == solvers.CALLBACK


def test_a_tolerance_below_rounding_still_ends(rng):
    result = maximize(small_objective(rng), start_of(), tol=1e-300, max_iter=2000)
    assert result.converged
    assert result.message in (solvers.NO_PROGRESS, solvers.CONVERGED)
    assert result.n_iter < 2000


def test_the_result_says_why_the_search_stopped(rng):
    objective = small_objective(rng)
    messages = {n: maximize(objective, start_of(), max_iter=n).message for n in (0, 1, 500)}
    assert messages == {0: solvers.NOT_SEARCHED, 1: solvers.MAX_ITER, 500: solvers.CONVERGED}


def test_a_value_that_is_not_finite_is_not_convergence():
    class Nowhere:
        def value(self, at):
            return -np.inf

        def value_and_gradient(self, at):
            return -np.inf, np.zeros_like(at)

    with np.errstate(invalid="ignore"):
        result = maximize(Nowhere(), start_of(), max_iter=5)
    assert not result.converged
    assert result.message == solvers.NOT_FINITE


def test_best_of_several_counts_all_evaluations(rng):
    objective = small_objective(rng)
    guesses = [start_of(seed) for seed in range(3)]
    runs = [maximize(objective, guess, max_iter=5) for guess in guesses]
    winner = select_best_run(runs)
    assert winner.value == max(run.value for run in runs)
    assert winner.n_evaluations == sum(run.n_evaluations for run in runs)
    rest = maximize(objective, winner.directions)
    whole = join_runs(winner, rest)
    assert whole.n_iter == winner.n_iter + rest.n_iter
    assert len(whole.history) == whole.n_iter + 1
