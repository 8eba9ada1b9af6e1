"""The search for a projection: comparison of starts, random restarts, and subsampling."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from opgd._fit.problem import Problem
from opgd._utils.warnings import warn_not_converged
from opgd.core import starts
from opgd.core.objective import Objective
from opgd.core.solvers import SolverResult, join_runs, maximize, select_best_run
from opgd.core.types import FloatArray

RACE_ITERATIONS = 10
MANY_ROWS = 100_000
"""Number of samples from which a search starts on subsamples."""
FIRST_SAMPLE = 10_000
ROWS_PER_COEFFICIENT = 15
"""Minimum number of samples in a subsample per coefficient of the projection."""
SAMPLE_GROWTH = 5
LEAST_GROWTH = 2
LARGEST_SAMPLE = 0.25
MAX_SAMPLE_CELLS = 2**23
"""Maximum number of entries of a subsample, which is copied into memory (64 MB)."""
NOISE = 1.0
NOISE_ITERATIONS = 5
"""A search on m samples ends when this many iterations gain less than NOISE / sqrt(m)."""

OnIteration = Callable[[str, FloatArray, float], None]
"""Called with the name of the run, the directions and the value after every iteration."""


def search(
    problem: Problem,
    initial: list[FloatArray],
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration,
    n_random: int = 0,
    rng: np.random.RandomState | None = None,
    subsample: bool = False,
) -> SolverResult:
    """Optimize from the best initial directions and from random ones; return the best result.

    The best initial directions are those with the largest value after a few iterations. With
    `subsample` and many samples, searches first run on subsamples, whose results are the starts of
    the search on all samples.
    """
    climber = _Climber(problem.objective, max_iter, tol, on_iteration)
    if subsample and max_iter:
        climber = replace(climber, samples=growing_samples(problem.objective, initial[0].size))
    best = climber.race(initial)
    n_evaluations = best.n_evaluations
    for number in range(n_random):
        assert rng is not None
        start = starts.random_axes(problem.coordinates.rank, len(initial[0]), rng)
        run = climber.climb([start], f"search {number + 2}")
        n_evaluations += run.n_evaluations
        best = max(best, run, key=lambda result: result.value)
    if best.n_iter >= max_iter > 0 and not best.converged:
        value = best.value * problem.objective.engine.total_weight
        warn_not_converged("The projection has", max_iter, f" (objective {value:.6g})")
    return replace(best, n_evaluations=n_evaluations)


@dataclass(frozen=True)
class _Climber:
    """Solver with fixed settings, which runs on subsamples first if there are any."""

    objective: Objective
    max_iter: int
    tol: float
    on_iteration: OnIteration
    samples: tuple[Objective, ...] = ()

    def race(self, initial: list[FloatArray]) -> SolverResult:
        """Run a few iterations from every start, and continue the best run."""
        if self.samples or len(initial) == 1:
            return self.climb(initial, "search 1")
        few = min(RACE_ITERATIONS, self.max_iter)
        best = select_best_run(
            [self._run(start, f"start {i + 1}", few) for i, start in enumerate(initial)]
        )
        if few == self.max_iter or best.converged:
            return best
        rest = self._run(best.directions, "search 1", self.max_iter - best.n_iter)
        return join_runs(best, rest)

    def climb(self, initial: list[FloatArray], name: str) -> SolverResult:
        """Optimize on growing subsamples, then on all samples.

        If there are several starts, the first subsample selects the best one.
        """
        n_evaluations = 0
        for sample in self.samples:
            runs = [
                maximize(
                    sample,
                    start,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    on_iteration=make_noise_stop(sample),
                )
                for start in initial
            ]
            n_evaluations += sum(run.n_evaluations for run in runs)
            initial = [max(runs, key=lambda run: run.value).directions]
        result = self._run(initial[0], name, self.max_iter)
        return replace(result, n_evaluations=n_evaluations + result.n_evaluations)

    def _run(self, start: FloatArray, name: str, max_iter: int) -> SolverResult:
        report = partial(self.on_iteration, name)
        return maximize(self.objective, start, max_iter=max_iter, tol=self.tol, on_iteration=report)


def growing_samples(objective: Objective, n_coefficients: int) -> tuple[Objective, ...]:
    """Return the objective on subsamples of growing size; empty if there are few samples.

    Moments and priors are those of all samples.
    """
    engine = objective.engine
    if engine.n_samples < MANY_ROWS:
        return ()
    most = int(min(LARGEST_SAMPLE * engine.n_samples, MAX_SAMPLE_CELLS / engine.n_features))
    first = max(FIRST_SAMPLE, ROWS_PER_COEFFICIENT * n_coefficients)
    sizes = sample_sizes(first, most)
    return tuple(replace(objective, engine=engine.sample(size)) for size in sizes)


def sample_sizes(first: int, most: int) -> list[int]:
    """Return sizes that grow by `SAMPLE_GROWTH` from `first`, and `most` if it is large enough."""
    sizes = []
    while first <= most:
        sizes.append(first)
        first *= SAMPLE_GROWTH
    return [*sizes, most] if sizes and most >= LEAST_GROWTH * sizes[-1] else sizes


def make_noise_stop(sample: Objective) -> Callable[[FloatArray, float], None]:
    """Return a callback that stops a search on a subsample once gains are below sampling noise."""
    values: list[float] = []
    least = NOISE / np.sqrt(sample.engine.n_samples)

    def after_iteration(_: FloatArray, value: float) -> None:
        values.append(value)
        before = values[-1 - NOISE_ITERATIONS] if len(values) > NOISE_ITERATIONS else -np.inf
        if value - before < least * abs(value):
            raise StopIteration

    return after_iteration
