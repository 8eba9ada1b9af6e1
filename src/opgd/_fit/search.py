"""The search for a projection: a race of starts, restarts, and subsamples of many samples."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from opgd._fit.problem import Problem
from opgd._utils.warnings import warn_not_converged
from opgd.core import starts
from opgd.core.objective import Objective
from opgd.core.solvers import SolverResult, best_of, continued, maximize
from opgd.core.types import FloatArray

RACE_ITERATIONS = 10
MANY_ROWS = 100_000
"""Number of samples from which a search begins on subsamples."""
FIRST_SAMPLE = 10_000
ROWS_PER_COEFFICIENT = 15
"""A subsample with fewer samples per coefficient of the projection is not used."""
SAMPLE_GROWTH = 5
LEAST_GROWTH = 2
LARGEST_SAMPLE = 0.25
MAX_SAMPLE_CELLS = 2**23
"""Subsamples are copied into memory (64 MB), from a cluster through its network."""
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
    """Race the initial directions, optimize the winner, then random starts; return the best.

    With `subsample`, searches among many samples begin on subsamples, of which only the directions
    they lead to are kept.
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
    """Runs of the solver with the same settings, on subsamples first where there are some."""

    objective: Objective
    max_iter: int
    tol: float
    on_iteration: OnIteration
    samples: tuple[Objective, ...] = ()

    def race(self, initial: list[FloatArray]) -> SolverResult:
        """Optimize from the best of several starts."""
        if self.samples or len(initial) == 1:
            return self.climb(initial, "search 1")
        few = min(RACE_ITERATIONS, self.max_iter)
        best = best_of([self._run(start, f"guess {i + 1}", few) for i, start in enumerate(initial)])
        if few == self.max_iter or best.converged:
            return best
        rest = self._run(best.directions, "search 1", self.max_iter - best.n_iter)
        return continued(best, rest)

    def climb(self, initial: list[FloatArray], name: str) -> SolverResult:
        """Optimize on growing subsamples, the first of which decides among starts, then on all."""
        n_evaluations = 0
        for sample in self.samples:
            runs = [
                maximize(
                    sample,
                    start,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    on_iteration=stop_in_noise(sample),
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
    """Return the objective on growing subsamples; none where samples are few.

    Moments and priors stay those of all samples.
    """
    engine = objective.engine
    if engine.n_samples < MANY_ROWS:
        return ()
    most = int(min(LARGEST_SAMPLE * engine.n_samples, MAX_SAMPLE_CELLS / engine.n_features))
    first = max(FIRST_SAMPLE, ROWS_PER_COEFFICIENT * n_coefficients)
    sizes = sample_sizes(first, most)
    return tuple(replace(objective, engine=engine.sample(size)) for size in sizes)


def sample_sizes(first: int, most: int) -> list[int]:
    """Return sizes from the first in large steps to the most, if that is worth a step."""
    sizes = []
    while first <= most:
        sizes.append(first)
        first *= SAMPLE_GROWTH
    return [*sizes, most] if sizes and most >= LEAST_GROWTH * sizes[-1] else sizes


def stop_in_noise(sample: Objective) -> Callable[[FloatArray, float], None]:
    """Return a callback that ends a search on a subsample where gains are below its noise."""
    values: list[float] = []
    least = NOISE / np.sqrt(sample.engine.n_samples)

    def after_iteration(_: FloatArray, value: float) -> None:
        values.append(value)
        before = values[-1 - NOISE_ITERATIONS] if len(values) > NOISE_ITERATIONS else -np.inf
        if value - before < least * abs(value):
            raise StopIteration

    return after_iteration
