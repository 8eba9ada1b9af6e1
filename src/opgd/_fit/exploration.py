"""Exploration of local optima: a race of many starts, repeated until the best optimum recurs.

A batch of starts runs for a few iterations, the best runs for some more (successive halving), and
what is left to convergence. Runs that approach the same optimum are merged and counted. Batches end
when the best optimum has been found often enough, or after `MAX_BATCHES`. All random numbers come
from a fixed seed, so that the result is deterministic.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

from opgd._fit.problem import Problem
from opgd.core import starts
from opgd.core.objective import Objective
from opgd.core.solvers import CALLBACK, SolverResult, join_runs, maximize
from opgd.core.types import FloatArray

OnIteration = Callable[[str, FloatArray, float], None]
"""Called with the name of the run, the directions and the value after every iteration."""

SCREENING = (7, 25)
"""Numbers of iterations after which the runs of a batch are compared and reduced."""
KEPT_FIRST = (3, 3)
KEPT_LATER = (2, 2)
"""Numbers of runs that continue after each comparison, in the first and in later batches."""
RANDOM_STARTS = 4
"""Number of random starts in each batch after the first."""
MAX_BATCHES = 5
MAX_PRELIMINARY_BATCHES = 3
"""Maximum number of batches on a subsample of many samples, whose optima are compared again."""
SEED = 20
"""Seed of the random starts, selected on the paper's data sets."""
MAX_RUNS = 3 + (MAX_BATCHES - 1) * (RANDOM_STARTS + 1)
ENOUGH = 3
"""How often the best optimum has to be found before the exploration ends."""
CHUNK = 20
"""Number of iterations between comparisons of the runs that are left."""
CATCH_UP = 3.0
"""A run ends if this many times its last gain would not reach the best run."""
SURPLUS = 2
"""Number of components of a pruned start that are removed again."""
SURPLUS_ITERATIONS = 10
SAME_VALUE = 2e-5
NEAR_VALUE, NEAR_COSINE = 3e-3, 0.9
"""Two runs approach one optimum if their values are equal, or near with similar components.

Differences of values are fractions of the entropy of the classes.
"""
SEPARATED = 1e-4
"""Fraction of the entropy below which a loss cannot be improved noticeably."""
NOISE = 0.1
NOISE_ITERATIONS = 5
"""A search on m samples ends when this many iterations gain less than NOISE standard errors."""
LEAST_ROWS, ROWS_PER_COEFFICIENT, ROWS_SHARE, WORTHWHILE = 1000, 5, 0.25, 0.7
"""Size of the subsample for the first iterations, if it is a worthwhile share of the samples."""


@dataclass
class Run:
    """One start, and what its search has reached so far."""

    name: str
    directions: FloatArray
    result: SolverResult | None = None
    n_samples: int = 0
    """Number of samples of the objective on which the run is or was."""
    last_gain: float = np.inf
    n_found: int = 1
    """Number of runs, this one included, that approach the same optimum."""
    same_as: "Run | None" = None
    at_noise: bool = False
    """Whether the last iterations gained less than sampling noise; see `Explorer.preliminary`."""

    @property
    def value(self) -> float:
        return -np.inf if self.result is None else self.result.value

    @property
    def converged(self) -> bool:
        return self.result is not None and self.result.converged


@dataclass
class Explorer:
    """A race of starts with fixed settings."""

    problem: Problem
    objective: Objective
    n_components: int
    max_iter: int
    tol: float
    on_iteration: OnIteration
    subsample: bool
    preliminary: bool = False
    """Whether the objective is that of a subsample: runs end at its sampling noise."""
    runs: list[Run] = field(default_factory=list)
    n_evaluations: int = 0
    stopped: bool = False
    separated: bool = False
    """Whether the best start separates the classes of the objective's samples."""

    def __post_init__(self) -> None:
        priors = self.problem.priors
        self.entropy = -float(priors @ np.log(priors))
        self.rng = np.random.RandomState(SEED)
        self.screened = self._screening_objective()

    def explore(self) -> SolverResult:
        """Return the best result of all batches."""
        names = ["lda", "pca", "pruned"] if self.max_iter else ["lda", "pca"]
        best = self._run_batch(names, KEPT_FIRST, None)
        for _ in range(1, MAX_PRELIMINARY_BATCHES if self.preliminary else MAX_BATCHES):
            self.separated = best.value > -SEPARATED * self.entropy
            if best.n_found >= ENOUGH or self.separated or self.stopped or not self.max_iter:
                break
            names = ["random"] * RANDOM_STARTS + ["pruned random"]
            best = self._run_batch(names, KEPT_LATER, best)
        assert best.result is not None
        return replace(best.result, n_evaluations=self.n_evaluations)

    def rank_optima(self, most: int) -> list[FloatArray]:
        """Return the directions of at most `most` different optima, best first."""
        n_samples = self.objective.engine.n_samples
        different = [run for run in self.runs if run.n_samples == n_samples and run.same_as is None]
        different.sort(key=lambda run: -run.value)
        return [run.directions for run in different[:most]]

    def _screening_objective(self) -> Objective:
        engine, rank = self.objective.engine, self.problem.coordinates.rank
        size = max(
            LEAST_ROWS,
            ROWS_PER_COEFFICIENT * self.n_components * rank,
            int(ROWS_SHARE * engine.n_samples),
        )
        if not self.subsample or size > WORTHWHILE * engine.n_samples:
            return self.objective
        return replace(self.objective, engine=engine.sample(size))

    def _run_batch(self, names: list[str], kept: tuple[int, ...], best: Run | None) -> Run:
        """Run a batch of starts; return the best run of the batch and of those before it."""
        for name in names:
            self.runs.append(self._start(name))
        batch = self.runs[-len(names) :]
        for n_iter, number in zip(SCREENING, kept, strict=True):
            for run in batch:
                self._continue(run, n_iter, self.screened)
            batch = self._merge(batch)[:number]
        if self.screened is not self.objective:
            for run in batch:  # values on the subsample cannot be compared with others
                n_iter = run.result.n_iter if run.result else 0
                run.result = None
                n_iter = 0 if self.stopped else min(SCREENING[0], self.max_iter - n_iter)
                self._continue(run, n_iter, self.objective)
        return self._settle(batch if best is None else [best, *batch])

    def _settle(self, runs: list[Run]) -> Run:
        """Continue runs until all but the best have converged, merged or fallen behind."""
        runs = self._merge(runs)
        while len(runs) > 1 and not self.stopped:
            for run in runs:
                n_iter = run.result.n_iter if run.result else 0
                self._continue(run, n_iter + CHUNK, self.objective)
            best, *others = self._merge(runs)
            runs = [best] + [
                run
                for run in others
                if not self._has_ended(run) and run.value + CATCH_UP * run.last_gain >= best.value
            ]
        self._continue(runs[0], self.max_iter, self.objective)
        return runs[0]

    def _has_ended(self, run: Run) -> bool:
        n_iter = run.result.n_iter if run.result else 0
        return run.converged or run.at_noise or n_iter >= self.max_iter

    def _continue(self, run: Run, n_iter: int, objective: Objective) -> None:
        """Continue a run until it has done `n_iter` iterations in all; 0 evaluates its start."""
        done = 0 if run.result is None else run.result.n_iter
        n_iter = min(n_iter, self.max_iter)
        stopped = self.stopped and n_iter > 0
        if stopped or run.converged or run.at_noise or (n_iter <= done and run.result is not None):
            return
        report = partial(self.on_iteration, run.name)
        noise = NoiseStop(objective, report) if self.preliminary else None
        result = maximize(
            objective,
            run.directions,
            max_iter=n_iter - done,
            tol=self.tol,
            on_iteration=noise or report,
        )
        self.n_evaluations += result.n_evaluations
        run.at_noise = noise is not None and noise.reached and objective is self.objective
        self.stopped = self.stopped or (
            result.message == CALLBACK and not (noise and noise.reached)
        )
        run.last_gain = result.value - run.value
        run.result = result if run.result is None else join_runs(run.result, result)
        run.directions, run.n_samples = result.directions, objective.engine.n_samples

    def _merge(self, runs: list[Run]) -> list[Run]:
        """Return the runs that approach different optima, best first."""
        different: list[Run] = []
        for run in sorted(runs, key=lambda run: -run.value):
            twin = next((other for other in different if self._agree(run, other)), None)
            if twin is None:
                different.append(run)
            else:
                twin.n_found += run.n_found
                run.same_as = twin
        return different

    def _agree(self, first: Run, second: Run) -> bool:
        """Return whether two runs approach the same optimum."""
        difference = abs(first.value - second.value)
        if difference <= SAME_VALUE * self.entropy:
            return True
        return (
            difference <= NEAR_VALUE * self.entropy
            and span_cosine(first.directions, second.directions) > NEAR_COSINE
        )

    def _start(self, name: str) -> Run:
        q, classes = self.n_components, self.problem.classes
        coordinates, surplus = self.problem.coordinates, self._surplus()
        directions = {
            "lda": lambda: starts.lda_axes(classes, q),
            "pca": lambda: starts.pca_axes(coordinates, q),
            "random": lambda: starts.spread_axes(coordinates, classes, q, self.rng),
            "pruned": lambda: self._prune(starts.lda_axes(classes, surplus)),
            "pruned random": lambda: self._prune(
                starts.spread_axes(coordinates, classes, surplus, self.rng)
            ),
        }[name]()
        number = sum(run.name.startswith(name) for run in self.runs) + 1
        return Run(
            f"{name} {number}" if "random" in name else name, starts.normalize_rows(directions)
        )

    def _surplus(self) -> int:
        return min(self.n_components + SURPLUS, self.problem.coordinates.rank)

    def _prune(self, directions: FloatArray) -> FloatArray:
        """Optimize more directions than needed for a few iterations, and drop the least useful.

        There are fewer poor optima with more components.
        """
        if len(directions) == self.n_components:
            return directions
        result = maximize(
            self.screened,
            starts.normalize_rows(directions),
            max_iter=min(SURPLUS_ITERATIONS, self.max_iter),
            tol=self.tol,
        )
        self.n_evaluations += result.n_evaluations
        directions = result.directions
        while len(directions) > self.n_components:
            subsets = [np.delete(directions, j, axis=0) for j in range(len(directions))]
            directions = max(subsets, key=self.screened.likelihood)
            self.n_evaluations += len(subsets)
        return directions


@dataclass
class NoiseStop:
    """A callback that stops a search on a subsample once gains are below sampling noise.

    Most samples have a log posterior near 0 and a few one near -1, so that the variance of log
    posteriors is about minus their mean, which is the value.
    """

    sample: Objective
    report: Callable[[FloatArray, float], None] | None = None
    """Another callback, which is called first."""
    values: list[float] = field(default_factory=list)
    reached: bool = False

    def __call__(self, directions: FloatArray, value: float) -> None:
        if self.report is not None:
            self.report(directions, value)
        self.values.append(value)
        deviation = NOISE * np.sqrt(abs(value))
        least = deviation / np.sqrt(self.sample.engine.n_samples)
        before = self.values[-1 - NOISE_ITERATIONS :][0]
        if len(self.values) > NOISE_ITERATIONS and value - before < least:
            self.reached = True
            raise StopIteration


def tabulate_runs(runs: list[Run], total_weight: float) -> dict[str, Any]:
    """Return runs as the columns of a table, in the order in which they started.

    Log-likelihoods of runs that ended on a subsample are scaled to all samples.
    """
    n_samples = max(run.n_samples for run in runs)
    complete = [run for run in runs if run.n_samples == n_samples]
    best = _follow(max(complete, key=lambda run: run.value))
    results = [run.result for run in runs]
    return {
        "start": np.array([run.name for run in runs], dtype=object),
        "log_likelihood": np.array([run.value * total_weight for run in runs]),
        "n_iter": np.array([0 if result is None else result.n_iter for result in results]),
        "n_samples": np.array([run.n_samples for run in runs]),
        "converged": np.array([run.converged for run in runs]),
        "found_best": np.array([_follow(run) is best for run in runs]),
    }


def span_cosine(first: FloatArray, second: FloatArray) -> float:
    """Return the cosine of the largest principal angle between the spans of two sets of rows."""
    orthonormal = [linalg.qr(rows.T, mode="economic")[0] for rows in (first, second)]
    return float(linalg.svdvals(orthonormal[0].T @ orthonormal[1]).min())


def _follow(run: Run) -> Run:
    """Return the run into which a run was merged, or the run itself."""
    while run.same_as is not None:
        run = run.same_as
    return run
