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
from opgd.core.curvature import estimate_scaling
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
PRODUCTS = 40
"""Number of Hessian-vector products on the largest subsample that scale the variables."""
FINALISTS = 2
"""Number of optima of the first subsample that are compared again on the next one."""


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
    samples: tuple[Objective, ...] = ()
    if subsample and max_iter:
        samples = growing_samples(objective, n_components * problem.coordinates.rank)
    curvature = samples[-1] if samples else None
    climber = _Climber(objective, max_iter, tol, on_iteration, samples, curvature)
    if isinstance(initial, int):
        explorer = Explorer(
            problem,
            samples[0] if samples else objective,
            n_components,
            max_iter,
            tol,
            on_iteration,
            subsample,
            preliminary=bool(samples),
        )
        best, runs = explorer.explore(), explorer.runs
        if samples and not explorer.stopped:
            rest = replace(climber, samples=samples[1:]).climb(
                explorer.rank_optima(FINALISTS), "all samples"
            )
            best = replace(rest, n_evaluations=rest.n_evaluations + best.n_evaluations)
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
    problem: Problem, initial: Sequence[Start], *, max_iter: int, tol: float, subsample: bool
) -> FloatArray:
    """Return the directions found by one search that reports nothing, for trial fits."""
    objective = problem.objective
    samples: tuple[Objective, ...] = ()
    if subsample and max_iter:
        samples = growing_samples(objective, initial[0].directions.size)
    curvature = samples[-1] if samples else None
    climber = _Climber(objective, max_iter, tol, lambda *_: None, samples, curvature)
    return climber.race(initial).directions


@dataclass(frozen=True)
class _Climber:
    """Solver with fixed settings, which runs on subsamples first if there are any."""

    objective: Objective
    max_iter: int
    tol: float
    on_iteration: OnIteration
    samples: tuple[Objective, ...] = ()
    curvature: Objective | None = None
    """The objective on a subsample, whose curvature scales the search on all samples."""

    def race(self, initial: Sequence[Start]) -> SolverResult:
        """Run a few iterations from every start, and continue the best run."""
        if self.samples or len(initial) == 1:
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
        """Optimize on growing subsamples, then on all samples with the curvature of the largest.

        If there are several starts, the first subsample selects the best one.
        """
        n_evaluations = 0
        for sample in self.samples:
            runs = [self._run_on_sample(sample, start) for start in initial]
            n_evaluations += sum(run.n_evaluations for run in runs)
            initial = [max(runs, key=lambda run: run.value).directions]
        start = self._normalize(initial[0]) if self.curvature else initial[0]
        result = self._run(start, name, self.max_iter)
        return replace(result, n_evaluations=n_evaluations + result.n_evaluations)

    def _run_on_sample(self, sample: Objective, start: FloatArray) -> SolverResult:
        return maximize(
            sample,
            self._normalize(start),
            max_iter=self.max_iter,
            tol=self.tol,
            on_iteration=NoiseStop(sample, relative=True),
        )

    def _run(self, start: FloatArray, name: str, max_iter: int) -> SolverResult:
        make_scaling = None
        if self.curvature is not None:
            n_products = max(1, min(PRODUCTS, MAX_SAMPLE_CELLS // start.size))
            make_scaling = partial(estimate_scaling, self.curvature, n_products)
        return maximize(
            self.objective,
            start,
            max_iter=max_iter,
            tol=self.tol,
            on_iteration=partial(self.on_iteration, name),
            make_scaling=make_scaling,
        )

    def _normalize(self, directions: FloatArray) -> FloatArray:
        """Scale directions to length one, if the objective ignores their lengths."""
        return directions if self.objective.penalty else starts.normalize_rows(directions)


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
