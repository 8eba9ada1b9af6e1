"""Forward pursuit of axes by the likelihood ratio of class densities along one of them."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from opgd._base.estimator import restore_on_failure
from opgd._base.projection import AxesMixin
from opgd._fit.normal_form import fix_signs
from opgd._utils.validation import check_integer, check_n_components, check_positive
from opgd._utils.warnings import DataWarning, warn_caller, warn_not_converged
from opgd.baselines._axis_densities import BLOCK_CELLS, AxisDensities, CommonVariance, LineMixture
from opgd.baselines._base import count_components
from opgd.baselines._posterior import LabeledSamples, PosteriorClassifier, centered_scores, whitened
from opgd.core.moments import Moments
from opgd.core.scoring import log_sum_by_group
from opgd.core.solvers import CONVERGED, SolverResult, best_of, continued, maximize
from opgd.core.starts import lda_axes
from opgd.core.types import AnyArray, FloatArray, IntArray

DEFAULT_AXES = 2
MOST_GUESSES = 20
CLIMBS = 3
RACE_ITERATIONS = 5
"""The ratio has many local optima: a search begins at the best few of the guesses."""


@dataclass(frozen=True)
class LikelihoodRatio:
    """Mean log LR of rows as a function of a direction (1, R), whose length does not matter."""

    classes: list[FloatArray]  # rows of each class, (n_k, R)
    kind: AxisDensities

    def value(self, at: FloatArray) -> float:
        """Mean log LR."""
        return self.value_and_gradient(at)[0]

    def value_and_gradient(self, at: FloatArray) -> tuple[float, FloatArray]:
        """Mean log LR and its gradient, (1, R)."""
        length = float(np.linalg.norm(at))
        direction = at[0] / length
        ratio, slopes = self.kind.log_ratio([rows @ direction for rows in self.classes])
        pull = sum(own @ rows for own, rows in zip(slopes, self.classes, strict=True))
        gradient = np.asarray(pull - (pull @ direction) * direction) / length
        n_rows = sum(map(len, self.classes))
        return ratio / n_rows, gradient[None] / n_rows

    def guesses(self) -> FloatArray:
        """The LDA axes of the rows, then axes along which class variances differ, (m, R)."""
        counts = np.array([float(len(rows)) for rows in self.classes])
        means = np.array([rows.mean(axis=0) for rows in self.classes])
        covariances = np.array([np.atleast_2d(np.cov(own.T, ddof=0)) for own in self.classes])
        moments = Moments(counts, counts, means, covariances)
        return lda_axes(moments, min(MOST_GUESSES, means.shape[1]))

    def best(self, *, max_iter: int, tol: float) -> SolverResult:
        """Climb from the best guesses a little, and from the highest of these to the end."""
        guesses = self.guesses()
        values = [self.value(guess[None]) for guess in guesses]
        first = np.argsort(values)[::-1][:CLIMBS]
        few = min(RACE_ITERATIONS, max_iter)
        race = best_of([self._climb(guesses[[i]], few, tol) for i in first])
        if race.converged or few == max_iter:
            return race
        return continued(race, self._climb(race.directions, max_iter - race.n_iter, tol))

    def _climb(self, start: FloatArray, max_iter: int, tol: float) -> SolverResult:
        """Until an iteration brings less than `tol`."""
        values = [-np.inf]

        def settled() -> bool:
            return len(values) > 2 and values[-1] - values[-2] < tol

        def on_iteration(_: FloatArray, value: float) -> None:
            values.append(value)
            if settled():
                raise StopIteration

        result = maximize(self, start, max_iter=max_iter, tol=tol, on_iteration=on_iteration)
        if settled():
            result = replace(result, converged=True, message=CONVERGED)
        return result

    def without(self, direction: FloatArray) -> "LikelihoodRatio":
        """Rows that no longer differ between classes along a direction (R,) of length one.

        There every class is made standard normal; across it rows stay where they are.
        """
        scores = [rows @ direction for rows in self.classes]
        densities = self.kind.densities(scores)
        changed = [
            rows + np.outer(density.normal_scores(own) - own, direction)
            for rows, own, density in zip(self.classes, scores, densities, strict=True)
        ]
        return LikelihoodRatio(changed, self.kind)


class Pursuit(AxesMixin, PosteriorClassifier):
    """Axes one after the other; on them classes have independent scores.

    A method says in `_kind` what densities along an axis are.
    """

    n_components: Any
    max_iter: int
    tol: float
    components_: FloatArray
    gaussian_classes_: IntArray
    _center: FloatArray
    _axis_weights: FloatArray
    _axis_means: FloatArray
    _axis_deviations: FloatArray

    @restore_on_failure
    def fit(self, X: Any, y: Any) -> Self:
        """Find the axes, and the densities of the classes on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any one type.

        Returns
        -------
        self : object
        """
        self._fit(X, y)
        return self

    def _kind(self, borrowed: FloatArray) -> AxisDensities:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_n_components(self.n_components)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)

    def _densities(self, rows: LabeledSamples) -> dict[str, Any]:
        prepared, whitening, Z = whitened(rows)
        coordinates, rank = whitening.coordinates, whitening.coordinates.rank
        default = min(DEFAULT_AXES, rank)
        n_axes, notes = count_components(self.n_components, prepared.frame, rank, default)
        _, borrowed = whitening.regularize(prepared.classes)
        kind = self._kind(borrowed)
        if np.any(borrowed > 0) and not isinstance(kind, CommonVariance):
            notes.append(
                f"{np.sum(borrowed > 0)} of {rows.n_classes} classes have a singular covariance: "
                "along an axis they borrow from the pooled variance"
            )
        if notes:
            warn_caller("; ".join(notes) + ".", DataWarning)
        by_class = [Z[rows.codes == k] for k in range(rows.n_classes)]
        runs = self._pursue(LikelihoodRatio(by_class, kind), n_axes)
        directions = np.vstack([run.directions for run in runs])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        directions = fix_signs(coordinates, directions)
        axes = [kind.densities([own @ axis for own in by_class]) for axis in directions]
        numbers = [len(density.means) for density in axes[0]]
        return {
            "components_": coordinates.components(directions),
            "n_components_": n_axes,
            "log_ratios_": np.array([run.value for run in runs]),
            "n_iter_": max(1, *(run.n_iter for run in runs)),
            "converged_": all(run.converged for run in runs),
            "gaussian_classes_": np.repeat(np.arange(rows.n_classes), numbers),
            "_center": coordinates.center,
            "_axis_weights": _stacked([[own.weights for own in axis] for axis in axes]),
            "_axis_means": _stacked([[own.means for own in axis] for axis in axes]),
            "_axis_deviations": _stacked([[own.deviations for own in axis] for axis in axes]),
        }

    def _pursue(self, ratio: LikelihoodRatio, n_axes: int) -> list[SolverResult]:
        runs: list[SolverResult] = []
        for number in range(n_axes):
            run = ratio.best(max_iter=self.max_iter, tol=self.tol)
            runs.append(run)
            if number + 1 < n_axes:
                ratio = ratio.without(run.directions[0] / np.linalg.norm(run.directions))
        if self.max_iter > 0 and not all(run.converged for run in runs):
            warn_not_converged("An axis has", self.max_iter)
        return runs

    def _log_densities(self, X: AnyArray) -> FloatArray:
        scores = centered_scores(X, self._center, self.components_)
        n_blocks = 1 + len(X) * len(self.gaussian_classes_) // BLOCK_CELLS
        blocks = [self._block(own) for own in np.array_split(scores, n_blocks)]
        return np.concatenate(blocks)

    def _block(self, scores: FloatArray) -> FloatArray:
        """Sums over axes of the log densities of classes, (n, K)."""
        logs = np.zeros((len(self.priors_), len(scores)))
        parts = (self._axis_weights, self._axis_means, self._axis_deviations)
        for column, *mixture in zip(scores.T, *parts, strict=True):
            own = LineMixture(*mixture).log_densities(column)
            logs += log_sum_by_group(own, self.gaussian_classes_)
        return logs.T


def _stacked(axes: list[list[FloatArray]]) -> FloatArray:
    """Parts of the densities of the classes on every axis, (q, G)."""
    return np.vstack([np.concatenate(parts) for parts in axes])
