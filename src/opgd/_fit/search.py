"""The search for a projection: comparison of starts, random restarts, and subsampling."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from opgd._fit.exploration import Explorer, NoiseStop, OnIteration, Run, tabulate_runs
from opgd._fit.initialization import Start
from opgd._fit.problem import Problem
from opgd._utils.warnings import warn_not_converged
from opgd.core import starts
from opgd.core.engines import Engine
from opgd.core.objective import Objective
from opgd.core.sampled_search import SampledSearch
from opgd.core.solvers import (
    CALLBACK,
    NO_PROGRESS,
    SolverResult,
    join_runs,
    maximize,
    select_best_run,
)
from opgd.core.types import FloatArray

RACE_ITERATIONS = 10
MANY_ROWS = 100_000
"""Number of samples from which a search starts on a subsample."""
FIRST_SAMPLE = 10_000
ROWS_PER_COEFFICIENT = 15
"""Minimum number of samples in a subsample per coefficient of the projection."""
SAMPLE_GROWTH = 2.5
LARGEST_SAMPLE = 0.25
MAX_SAMPLE_CELLS = 2**23
"""Maximum number of entries of a subsample, which is copied into memory (64 MB)."""
FINALISTS = 2
"""Number of optima of the first subsample that are compared again on all samples."""
FINALIST_ITERATIONS = 2
"""Number of iterations on all samples after which they are compared."""


@dataclass(frozen=True)
class SearchResult:
    """The best result of a search, and a table of all its runs."""

    best: SolverResult
    table: dict[str, Any]


def search(
    problem: Problem,
    initial: Sequence[Start] | int,
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration,
    n_random: int = 0,
    rng: np.random.RandomState | None = None,
    subsample: bool = False,
) -> SearchResult:
    """Optimize from initial directions and from random ones; return the best result.

    Parameters
    ----------
    initial : starts, of which the one with the largest value after a few iterations is used, or
        a number of components, for which `Explorer` compares many starts
    n_random : number of further searches from random directions
    subsample : whether to search on subsamples first, if there are many samples
    """
    objective = problem.objective
    n_samples = objective.engine.n_samples
    n_components = initial if isinstance(initial, int) else len(initial[0].directions)
    sizes: list[int] = []
    if subsample and max_iter:
        sizes = sample_sizes(objective.engine, n_components * problem.coordinates.rank)
    climber = _Climber(objective, max_iter, tol, on_iteration, sizes)
    if isinstance(initial, int):
        explorer = Explorer(
            problem,
            climber.first_sample() if sizes else objective,
            n_components,
            max_iter,
            tol,
            on_iteration,
            subsample,
            preliminary=bool(sizes),
        )
        best, runs = explorer.explore(), explorer.runs
        if sizes and not explorer.stopped:
            optima, few = explorer.rank_optima(FINALISTS), FINALIST_ITERATIONS
            if explorer.separated:  # the subsample does not rank starts: run two to the end
                optima, few = [starts.lda_axes(problem.classes, n_components), optima[0]], max_iter
            best = join_costs(climber.finish(optima, "all samples", few), best)
            runs = [*runs, Run("all samples", best.directions, best, n_samples)]
    else:
        best = climber.race(initial)
        name = ", ".join(start.name for start in initial)
        runs = [Run(name, best.directions, best, n_samples)]
    n_evaluations = best.n_evaluations
    for number in range(n_random):
        assert rng is not None
        start = starts.random_axes(problem.coordinates.rank, n_components, rng)
        result = climber.climb([start], f"search {number + 2}")
        n_evaluations += result.n_evaluations
        runs = [*runs, Run(f"search {number + 2}", result.directions, result, n_samples)]
        best = max(best, result, key=lambda result: result.value)
    if best.n_iter >= max_iter > 0 and not best.converged:
        value = best.value * objective.engine.total_weight
        warn_not_converged("The projection has", max_iter, f" (objective {value:.6g})")
    table = tabulate_runs(runs, objective.engine.total_weight)
    return SearchResult(replace(best, n_evaluations=n_evaluations), table)


def search_once(
    problem: Problem, initial: Sequence[Start], *, max_iter: int, tol: float
) -> FloatArray:
    """Return the directions found by one search that reports nothing, for trial fits."""
    objective = problem.objective
    sizes = sample_sizes(objective.engine, initial[0].directions.size) if max_iter else []
    climber = _Climber(objective, max_iter, tol, lambda *_: None, sizes)
    return climber.race(initial).directions


@dataclass(frozen=True)
class _Climber:
    """Solver with fixed settings, which uses subsamples if there are many samples."""

    objective: Objective
    max_iter: int
    tol: float
    on_iteration: OnIteration
    sizes: Sequence[int] = ()
    """Sizes of subsamples; empty if all iterations are on all samples."""

    def race(self, initial: Sequence[Start]) -> SolverResult:
        """Run a few iterations from every start, and continue the best run."""
        if self.sizes or len(initial) == 1:
            return self.climb([start.directions for start in initial], "search 1")
        few = min(RACE_ITERATIONS, self.max_iter)
        best = select_best_run(
            [self._run(start.directions, f"start {start.name}", few) for start in initial]
        )
        if few == self.max_iter or best.converged:
            return best
        rest = self._run(best.directions, "search 1", self.max_iter - best.n_iter)
        return join_runs(best, rest)

    def climb(self, initial: list[FloatArray], name: str) -> SolverResult:
        """Optimize on a subsample, if there are many samples, then on all samples.

        If there are several starts, the subsample selects the best one.
        """
        if not self.sizes:
            return self._run(initial[0], name, self.max_iter)
        sample = self.first_sample()
        best = select_best_run([self._run_on_sample(sample, start) for start in initial])
        return join_costs(self.finish([best.directions], name, self.max_iter), best)

    def first_sample(self) -> Objective:
        """Return the objective on a subsample drawn with equal probabilities."""
        return replace(self.objective, engine=self.objective.engine.sample(self.sizes[0]))

    def finish(self, initial: list[FloatArray], name: str, few: int) -> SolverResult:
        """Optimize on all samples with steps from subsamples, then without them.

        If there are several starts, the best one after `few` iterations is continued.
        """
        searches, stopped = [], False
        for number, start in enumerate(initial):
            if not stopped:
                searches.append(self._start(start, name, number))
                searches[-1].run(min(few, self.max_iter))
                stopped = searches[-1].message == CALLBACK
        if not stopped:
            max(searches, key=lambda search: search.value).run(self.max_iter)
        result = select_best_run([search.result for search in searches])
        if result.message == NO_PROGRESS:  # on samples
            rest = self._run(result.directions, name, self.max_iter - result.n_iter)
            result = join_runs(result, rest)
        return result

    def _start(self, start: FloatArray, name: str, number: int) -> SampledSearch:
        report = partial(self.on_iteration, f"{name}, start {number + 1}" if number else name)
        return SampledSearch(
            self.objective, start, self.sizes[1:], tol=self.tol, on_iteration=report
        )

    def _run_on_sample(self, sample: Objective, start: FloatArray) -> SolverResult:
        return maximize(
            sample, start, max_iter=self.max_iter, tol=self.tol, on_iteration=NoiseStop(sample)
        )

    def _run(self, start: FloatArray, name: str, max_iter: int) -> SolverResult:
        return maximize(
            self.objective,
            start,
            max_iter=max_iter,
            tol=self.tol,
            on_iteration=partial(self.on_iteration, name),
        )


def join_costs(result: SolverResult, earlier: SolverResult) -> SolverResult:
    """Return a result with the evaluations of an earlier search on a subsample included."""
    return replace(result, n_evaluations=result.n_evaluations + earlier.n_evaluations)


def sample_sizes(engine: Engine, n_coefficients: int) -> list[int]:
    """Return the sizes of subsamples, ascending; empty if there are few samples."""
    if engine.n_samples < MANY_ROWS:
        return []
    first = max(FIRST_SAMPLE, ROWS_PER_COEFFICIENT * n_coefficients)
    most = int(min(LARGEST_SAMPLE * engine.n_samples, MAX_SAMPLE_CELLS / engine.n_features))
    return grow_sizes(first, most)


def grow_sizes(first: int, most: int) -> list[int]:
    """Return `first`, and sizes above it that grow by `SAMPLE_GROWTH` up to `most`."""
    sizes = [most] if first <= most else []
    while sizes and sizes[0] > SAMPLE_GROWTH * first:
        sizes.insert(0, int(sizes[0] / SAMPLE_GROWTH))
    return [first, *sizes] if sizes else []
