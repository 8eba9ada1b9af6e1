"""Maximization of the objective by scipy.optimize."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from scipy import optimize

from opgd.core.types import FloatArray

MEMORY = 20
LINE_SEARCH_FAILED = 2  # status of SciPy
STOPPED_BY_CALLBACK = 99  # status of SciPy

CONVERGED = "the gradient or the gain of an iteration is below its tolerance"
NO_PROGRESS = "the line search cannot distinguish better points from rounding error"
MAX_ITER = "the maximum number of iterations was reached"
CALLBACK = "a callback stopped the search"
NOT_SEARCHED = "no iterations were requested"
NOT_FINITE = "the objective is not finite"


class Smooth(Protocol):
    """A differentiable function of a matrix."""

    def value(self, at: FloatArray, /) -> float: ...

    def value_and_gradient(self, at: FloatArray, /) -> tuple[float, FloatArray]: ...


@dataclass(frozen=True)
class SolverResult:
    """Result of a search."""

    directions: FloatArray  # (q, R)
    value: float
    n_iter: int
    n_evaluations: int
    converged: bool
    history: list[float]  # value at the start and after every iteration
    message: str  # why the search stopped, one of the constants above


@dataclass
class _Search:
    """State of a search; converts the objective to the loss that SciPy minimizes."""

    objective: Smooth
    shape: tuple[int, ...]
    on_iteration: Callable[[FloatArray, float], None] | None
    best: FloatArray
    best_value: float = -np.inf
    n_evaluations: int = 0
    history: list[float] = field(default_factory=list)
    at_start: tuple[float, FloatArray] | None = None

    def evaluate_start(self, start: FloatArray) -> None:
        self.at_start = self.loss(start.ravel())
        self.history.append(-self.at_start[0])

    def loss(self, flat: FloatArray) -> tuple[float, FloatArray]:
        if self.at_start is not None:  # SciPy evaluates the starting point first
            at_start, self.at_start = self.at_start, None
            return at_start
        directions = flat.reshape(self.shape)
        value, gradient = self.objective.value_and_gradient(directions)
        self.n_evaluations += 1
        if value > self.best_value:
            self.best, self.best_value = directions.copy(), value
        return -value, -gradient.ravel()

    def after_iteration(self, intermediate_result: optimize.OptimizeResult) -> None:
        value = -float(intermediate_result.fun)
        self.history.append(value)
        if self.on_iteration is not None:
            self.on_iteration(intermediate_result.x.reshape(self.shape), value)


def maximize(
    objective: Smooth,
    start: FloatArray,
    *,
    max_iter: int = 500,
    tol: float = 1e-6,
    on_iteration: Callable[[FloatArray, float], None] | None = None,
) -> SolverResult:
    """Maximize from `start` with L-BFGS; the result is never worse than the start.

    Parameters
    ----------
    start : ndarray of shape (q, R)
    max_iter : maximum number of iterations; with 0 the start is evaluated and returned
    tol : tolerance of the largest absolute entry of the gradient of the mean objective
    on_iteration : called with (directions, value) after every iteration; may raise StopIteration
    """
    search = _Search(objective, start.shape, on_iteration, best=start.copy())
    if max_iter == 0:  # gradients of full covariances on many components are slow
        value = objective.value(start)
        return SolverResult(start, value, 0, 0, True, [value], NOT_SEARCHED)
    search.evaluate_start(start)
    n_iter = 0
    while True:
        value_before = search.best_value
        outcome = optimize.minimize(
            search.loss,
            search.best.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=search.after_iteration,
            options={
                "maxiter": max_iter - n_iter,
                "maxfun": 20 * max_iter,
                "maxcor": MEMORY,
                "gtol": tol,
                # a gradient of size tol corresponds to a gain of about tol^2
                "ftol": min(1e-12, tol * tol),
            },
        )
        n_iter += int(outcome.nit)
        failed = outcome.status == LINE_SEARCH_FAILED
        if failed and search.best_value > value_before and n_iter < max_iter:
            continue  # restart: rounding errors may have spoilt the estimated curvature
        message = _explain(outcome, n_iter < max_iter, search.best_value)
        return SolverResult(
            search.best,
            search.best_value,
            n_iter,
            search.n_evaluations,
            message in (CONVERGED, NO_PROGRESS),
            search.history,
            message,
        )


def _explain(outcome: optimize.OptimizeResult, iterations_left: bool, value: float) -> str:
    """Return the reason for which SciPy stopped.

    A line search that fails immediately after a restart is limited by rounding error, which counts
    as convergence.
    """
    if not np.isfinite(value):
        return NOT_FINITE
    if outcome.success:
        return CONVERGED
    if outcome.status == STOPPED_BY_CALLBACK:
        return CALLBACK
    if outcome.status == LINE_SEARCH_FAILED and iterations_left:
        return NO_PROGRESS
    return MAX_ITER


def select_best_run(runs: Sequence[SolverResult]) -> SolverResult:
    """Return the run with the largest value, with the number of evaluations of all runs.

    Compare runs of a few iterations, not the values at the starts: the LDA components nearly always
    have the largest value at first, and other starts often exceed it within a few iterations.
    """
    best = max(runs, key=lambda run: run.value)
    return replace(best, n_evaluations=sum(run.n_evaluations for run in runs))


def join_runs(first: SolverResult, second: SolverResult) -> SolverResult:
    """Join two runs, the second of which started where the first ended."""
    return replace(
        second,
        n_iter=first.n_iter + second.n_iter,
        n_evaluations=first.n_evaluations + second.n_evaluations,
        history=first.history + second.history[1:],
    )
