"""Maximization of the objective on all samples by searches on small samples of them.

Most samples have a target with a posterior near one, and contribute next to nothing to gradient and
Hessian. A search alternates between all samples and a few, which are drawn with probabilities that
grow with their losses at the current point and are weighted by the inverse of these probabilities.
A linear term makes the gradient on the few equal to that on all samples at this point, so that an
optimum on the few is a step like that of Newton's method on all (Shamir, Srebro and Zhang 2014,
"Communication-efficient distributed optimization using an approximate Newton-type method").
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from opgd.core.engines import RowBlock
from opgd.core.kernels import block_log_ratios
from opgd.core.objective import Objective
from opgd.core.solvers import CALLBACK, CONVERGED, MAX_ITER, NO_PROGRESS, SolverResult, maximize
from opgd.core.starts import normalize_rows
from opgd.core.types import FloatArray, IntArray

GOLDEN_RATIO = 0.5 * (np.sqrt(5.0) - 1.0)
EQUAL_SHARE = 0.5
"""Share of a sample that is drawn with equal probabilities, whatever the losses: losses change."""
LEAST_MEAN = 0.25
"""Lower bound of the mean of losses that are clipped to 1, as a fraction of the mean loss."""
LEAST_REDUCTION = 0.1
"""A search on a sample ends when its gradient is this fraction of the gradient at its start."""
MAX_SAMPLE_ITERATIONS = 100
"""Maximum number of iterations of a search on a sample."""
LEAST_RATIO = 0.25
"""Least gain on all samples for a gain of one on the sample; below, samples have to grow."""


@dataclass(frozen=True)
class _Candidates:
    """Positions, weights and losses of samples that may be drawn, block by block."""

    total_loss: float  # of all samples
    blocks: tuple[tuple[IntArray, FloatArray, FloatArray], ...]

    def __add__(self, other: "_Candidates") -> "_Candidates":
        return _Candidates(self.total_loss + other.total_loss, self.blocks + other.blocks)


def draw_sample(objective: Objective, at: FloatArray, loss: float, size: int) -> Objective:
    """Return the objective on about `size` samples, in one pass over all samples.

    A sample of weight w and loss l, at most 1, is drawn with a probability proportional to
    w (EQUAL_SHARE + (1 - EQUAL_SHARE) l / mean of l). The draw depends on nothing but this
    probability and the position of the sample.

    Parameters
    ----------
    at : point of shape (q, R)
    loss : mean loss at this point, without penalty
    """
    theta, form, targets = objective.theta(at), objective.form, objective.targets
    components, engine = at @ objective.whitener.T, objective.engine
    scale = size / engine.total_weight
    least_mean = max(LEAST_MEAN * loss, np.finfo(float).tiny)

    def select(block: RowBlock) -> _Candidates:
        losses = np.clip(-block_log_ratios(block, components, theta, form, targets), 0.0, 1.0)
        positions, weights = np.arange(block.rows.start, block.rows.stop), block.row_weights
        chosen = spread_evenly(positions) < chances(scale * weights, losses / least_mean)
        candidates = positions[chosen], weights[chosen], losses[chosen]
        return _Candidates(float(weights @ losses), (candidates,))

    selected = engine.sum(select, width=2 * theta.shape[1])
    positions, weights, losses = map(np.concatenate, zip(*selected.blocks, strict=True))
    mean = max(selected.total_loss / engine.total_weight, least_mean)
    probabilities = chances(scale * weights, losses / mean)
    drawn = spread_evenly(positions) < probabilities
    sample = engine.select_rows(positions[drawn])
    return replace(objective, engine=sample.with_weights((weights / probabilities)[drawn]))


def chances(scaled_weights: FloatArray, relative_losses: FloatArray) -> FloatArray:
    """Return the probabilities with which samples are drawn."""
    mixed = EQUAL_SHARE + (1.0 - EQUAL_SHARE) * relative_losses
    return np.minimum(scaled_weights * mixed, 1.0)


def spread_evenly(positions: IntArray) -> FloatArray:
    """Return numbers in [0, 1) that are spread evenly over any range of positions."""
    return (positions + 1) * GOLDEN_RATIO % 1.0


@dataclass(frozen=True)
class MatchedObjective:
    """An objective on a sample, plus a term that sets its value and gradient at one point.

    The term is linear in the directions divided by their lengths. The likelihood does not depend on
    lengths either, so that a term which did could be increased without limit.
    """

    sample: Objective
    at: FloatArray
    offset: float
    slope: FloatArray

    @classmethod
    def at_point(
        cls, sample: Objective, at: FloatArray, value: float, gradient: FloatArray
    ) -> "MatchedObjective":
        """Return the objective with this value and gradient at a point."""
        sample_value, sample_gradient = sample.value_and_gradient(at)
        slope = gradient - sample_gradient
        return cls(sample, at, value - sample_value - float(np.sum(slope * at)), slope)

    def value(self, at: FloatArray) -> float:
        return self.value_and_gradient(at)[0]

    def value_and_gradient(self, at: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.sample.value_and_gradient(at)
        lengths = np.linalg.norm(at, axis=1, keepdims=True)
        slope = self.slope * np.linalg.norm(self.at, axis=1, keepdims=True)
        unit = at / lengths
        along = np.sum(slope * unit, axis=1, keepdims=True)
        value += self.offset + float(along.sum())
        return value, gradient + (slope - along * unit) / lengths


class SampledSearch:
    """A search on all samples, each iteration of which is a search on a small sample.

    Parameters
    ----------
    start : ndarray of shape (q, R)
    sizes : sizes of the samples; the next one is used when the gains on a sample are misleading
    tol, on_iteration : as in `maximize`; iterations are those on all samples
    """

    def __init__(
        self,
        objective: Objective,
        start: FloatArray,
        sizes: Sequence[int],
        *,
        tol: float,
        on_iteration: Callable[[FloatArray, float], None],
    ) -> None:
        self.objective, self.tol, self.on_iteration = objective, tol, on_iteration
        self.sizes = list(sizes)
        self.directions = self._normalize(start)
        self.value, self.gradient = objective.value_and_gradient(self.directions)
        self.history, self.n_evaluations = [self.value], 1
        self.message = MAX_ITER

    @property
    def result(self) -> SolverResult:
        """Return what has been reached so far."""
        return SolverResult(
            self.directions,
            self.value,
            len(self.history) - 1,
            self.n_evaluations,
            self.message == CONVERGED,
            self.history,
            self.message,
        )

    def run(self, max_iter: int) -> None:
        """Iterate until convergence, until the largest samples mislead, or `max_iter` times."""
        while self.message == MAX_ITER and len(self.history) <= max_iter:
            if np.abs(self.gradient).max() <= self.tol:
                self.message = CONVERGED
            elif not self.sizes:
                self.message = NO_PROGRESS
            else:
                self._iterate(self.sizes[0])

    def _iterate(self, size: int) -> None:
        matched = self._match(draw_sample(self.objective, self.directions, self._loss(), size))
        step = maximize(
            matched,
            self.directions,
            max_iter=MAX_SAMPLE_ITERATIONS,
            tol=LEAST_REDUCTION * float(np.abs(self.gradient).max()),
        )
        directions = self._normalize(step.directions)
        value, gradient = self.objective.value_and_gradient(directions)
        self.n_evaluations += step.n_evaluations + 3
        gain = value - self.value
        if not gain > LEAST_RATIO * (step.value - self.value):  # also if it is not a number
            del self.sizes[0]
        if gain > 0:
            self.directions, self.value, self.gradient = directions, value, gradient
            self._report()

    def _match(self, sample: Objective) -> MatchedObjective:
        return MatchedObjective.at_point(sample, self.directions, self.value, self.gradient)

    def _loss(self) -> float:
        penalty = self.objective.penalty
        return -self.value + (penalty.value_and_gradient(self.directions)[0] if penalty else 0.0)

    def _report(self) -> None:
        self.history.append(self.value)
        try:
            self.on_iteration(self.directions, self.value)
        except StopIteration:
            self.message = CALLBACK

    def _normalize(self, directions: FloatArray) -> FloatArray:
        """Scale directions to length one, unless a penalty may depend on their lengths."""
        return directions if self.objective.penalty else normalize_rows(directions)
