"""Projection pursuit by the likelihood ratio of class densities on one direction."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from opgd._base.estimator import restore_on_failure
from opgd._base.projection import ProjectionMixin
from opgd._utils.validation import check_integer, check_n_components, check_positive
from opgd._utils.warnings import DataWarning, warn_caller, warn_not_converged
from opgd.baselines._axis_densities import BLOCK_CELLS, AxisDensities, CommonVariance, LineMixture
from opgd.baselines._base import count_components
from opgd.baselines._posterior import (
    LabeledSamples,
    PosteriorClassifier,
    center_and_project,
    whiten_samples,
)
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import FORMS, ProjectedGaussians
from opgd.core.moments import Moments
from opgd.core.scoring import log_sum_by_group
from opgd.core.solvers import CONVERGED, SolverResult, join_runs, maximize, select_best_run
from opgd.core.starts import fix_signs, lda_axes, leading_vectors
from opgd.core.types import AnyArray, FloatArray, IntArray

DEFAULT_COMPONENTS = 2
MAX_CANDIDATES = 20
N_STARTS = 3
START_ITERATIONS = 5
"""The ratio has many local optima, so a search starts from the best few of many candidates."""


@dataclass(frozen=True)
class LikelihoodRatio:
    """Mean log LR of the samples as a function of a direction (1, R) of any length."""

    classes: list[FloatArray]  # samples of each class, (n_k, R)
    family: AxisDensities

    def value(self, at: FloatArray) -> float:
        """Return the mean log LR."""
        return self.value_and_gradient(at)[0]

    def value_and_gradient(self, at: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean log LR and its gradient, (1, R)."""
        length = float(np.linalg.norm(at))
        direction = at[0] / length
        ratio, slopes = self.family.log_ratio([points @ direction for points in self.classes])
        slope = sum(s @ points for s, points in zip(slopes, self.classes, strict=True))
        gradient = np.asarray(slope - (slope @ direction) * direction) / length
        n_samples = sum(map(len, self.classes))
        return ratio / n_samples, gradient[None] / n_samples

    def candidates(self) -> FloatArray:
        """Return directions in which means, variances or fourth moments of classes differ, (m, R).

        LDA directions are followed by those in which class variances differ. The last ones are
        eigenvectors of sum_k pi_k (B_k - B)^2 with the fourth moments B_k = E |z|^2 z z' of the
        centered samples z of class k, and their mean B. They help where only shapes differ.
        """
        counts = np.array([float(len(points)) for points in self.classes])
        means = np.array([points.mean(axis=0) for points in self.classes])
        covariances = np.array([np.atleast_2d(np.cov(points.T, ddof=0)) for points in self.classes])
        moments = Moments(counts, counts, means, covariances)
        number = min(MAX_CANDIDATES, means.shape[1])
        centered = [points - mean for points, mean in zip(self.classes, means, strict=True)]
        fourth = np.array([(z.T * np.sum(z**2, axis=1)) @ z / len(z) for z in centered])
        departures = fourth - np.tensordot(moments.priors, fourth, axes=1)
        spread = np.tensordot(moments.priors, departures @ departures, axes=1)
        return np.vstack([lda_axes(moments, number), leading_vectors(spread)[1][:number]])

    def search(self, *, max_iter: int, tol: float) -> SolverResult:
        """Maximize the ratio: a few iterations from several starts, then on from the best."""
        candidates = self.candidates()
        values = [self.value(candidate[None]) for candidate in candidates]
        best_starts = np.argsort(values)[::-1][:N_STARTS]
        budget = min(START_ITERATIONS, max_iter)
        result = select_best_run(
            [self._maximize(candidates[[i]], budget, tol) for i in best_starts]
        )
        if result.converged or budget == max_iter:
            return result
        continuation = self._maximize(result.directions, max_iter - result.n_iter, tol)
        return join_runs(result, continuation)

    def _maximize(self, start: FloatArray, max_iter: int, tol: float) -> SolverResult:
        """Maximize the ratio until an iteration increases it by less than `tol`."""
        values = [-np.inf]

        def has_converged() -> bool:
            return len(values) > 2 and values[-1] - values[-2] < tol

        def on_iteration(_: FloatArray, value: float) -> None:
            values.append(value)
            if has_converged():
                raise StopIteration

        result = maximize(self, start, max_iter=max_iter, tol=tol, on_iteration=on_iteration)
        if has_converged():
            result = replace(result, converged=True, message=CONVERGED)
        return result

    def without(self, direction: FloatArray) -> "LikelihoodRatio":
        """Return the ratio of samples that do not differ between classes in a direction (R,).

        The direction has length one. Scores on it are transformed to standard normal in each class;
        orthogonal to it, samples do not change.
        """
        scores = [points @ direction for points in self.classes]
        densities = self.family.densities(scores)
        transformed = [
            points + np.outer(density.normal_scores(z) - z, direction)
            for points, z, density in zip(self.classes, scores, densities, strict=True)
        ]
        return LikelihoodRatio(transformed, self.family)


class Pursuit(ProjectionMixin, PosteriorClassifier):
    """Base class of projection pursuit, which computes components one after another.

    Scores on different components are assumed to be independent within classes. A subclass
    implements `_density_family`, which returns the family of class densities.
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
        """Fit the components and the class densities on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels, all of one type.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._fit(X, y)
        return self

    def _density_family(self, borrowed: FloatArray) -> AxisDensities:
        """Return the family of densities; `borrowed` (K,) are weights of the pooled variance."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_n_components(self.n_components)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)

    def _fit_densities(self, samples: LabeledSamples) -> dict[str, Any]:
        prepared, whitening, Z = whiten_samples(samples)
        coordinates, rank = whitening.coordinates, whitening.coordinates.rank
        default = min(DEFAULT_COMPONENTS, rank)
        n_components, notes = count_components(self.n_components, prepared.frame, rank, default)
        _, borrowed = whitening.regularize(prepared.classes)
        family = self._density_family(borrowed)
        if np.any(borrowed > 0) and not isinstance(family, CommonVariance):
            notes.append(
                f"{np.sum(borrowed > 0)} of {samples.n_classes} classes have a singular "
                "covariance, so their variances are shrunk toward the pooled variance"
            )
        if notes:
            warn_caller(". ".join(notes) + ".", DataWarning)
        by_class = [Z[samples.codes == k] for k in range(samples.n_classes)]
        runs = self._pursue(LikelihoodRatio(by_class, family), n_components)
        directions = np.vstack([run.directions for run in runs])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        directions = fix_signs(coordinates, directions)
        densities = [
            family.densities([points @ direction for points in by_class])
            for direction in directions
        ]
        numbers = [len(density.means) for density in densities[0]]
        return {
            "components_": coordinates.components(directions),
            "n_components_": n_components,
            "log_ratios_": np.array([run.value for run in runs]),
            "n_iter_": max(1, *(run.n_iter for run in runs)),
            "converged_": all(run.converged for run in runs),
            "gaussian_classes_": np.repeat(np.arange(samples.n_classes), numbers),
            "_center": coordinates.center,
            "_axis_weights": _stack([[d.weights for d in classes] for classes in densities]),
            "_axis_means": _stack([[d.means for d in classes] for classes in densities]),
            "_axis_deviations": _stack([[d.deviations for d in classes] for classes in densities]),
        }

    def _pursue(self, ratio: LikelihoodRatio, n_components: int) -> list[SolverResult]:
        runs: list[SolverResult] = []
        for number in range(n_components):
            run = ratio.search(max_iter=self.max_iter, tol=self.tol)
            runs.append(run)
            if number + 1 < n_components:
                ratio = ratio.without(run.directions[0] / np.linalg.norm(run.directions))
        if self.max_iter > 0 and not all(run.converged for run in runs):
            warn_not_converged("A component has", self.max_iter)
        return runs

    @property
    def _density_projections(self) -> list[FittedProjection]:
        """One projection for each component, since scores are independent within classes.

        The class priors are those of the first one.
        """
        projections = []
        log_priors = np.log(self.priors_)[self.gaussian_classes_]
        parts = (self._axis_weights, self._axis_means, self._axis_deviations)
        for component, weights, means, deviations in zip(self.components_, *parts, strict=True):
            gaussians = ProjectedGaussians(
                log_priors + np.log(weights), means[:, None], deviations[:, None] ** 2
            )
            form, classes = FORMS["diag"], self.gaussian_classes_
            projections.append(
                FittedProjection(self._center, component[None], gaussians, form, classes)
            )
            log_priors = np.zeros_like(log_priors)
        return projections

    def _log_densities(self, X: AnyArray) -> FloatArray:
        scores = center_and_project(X, self._center, self.components_)
        n_blocks = 1 + len(X) * len(self.gaussian_classes_) // BLOCK_CELLS
        blocks = [self._block_log_densities(z) for z in np.array_split(scores, n_blocks)]
        return np.concatenate(blocks)

    def _block_log_densities(self, scores: FloatArray) -> FloatArray:
        """Return the log densities of a block, summed over components, (n, K)."""
        logs = np.zeros((len(self.priors_), len(scores)))
        parts = (self._axis_weights, self._axis_means, self._axis_deviations)
        for column, *mixture in zip(scores.T, *parts, strict=True):
            log_densities = LineMixture(*mixture).log_densities(column)
            logs += log_sum_by_group(log_densities, self.gaussian_classes_)
        return logs.T


def _stack(values: list[list[FloatArray]]) -> FloatArray:
    """Return one row per component, (q, G), from arrays for each component and class."""
    return np.vstack([np.concatenate(arrays) for arrays in values])
