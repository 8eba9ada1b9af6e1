"""Refinement of a mixture: a projection that separates its clusters, then EM inside it.

See Section 5 of the paper.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opgd._fit.exploration import OnIteration
from opgd._fit.initialization import Start
from opgd._fit.normal_form import order_result
from opgd._fit.problem import Problem
from opgd._fit.regularizer import Regularizer
from opgd._fit.search import search
from opgd._fit.units import map_to_features
from opgd.core import starts
from opgd.core.coordinates import (
    Coordinates,
    Frame,
    column_coordinates,
    sphered_coordinates,
)
from opgd.core.density import SampleDensity, information_criteria, make_sample_density
from opgd.core.em import MixtureResult, block_posteriors, fit_mixture
from opgd.core.engines import RowBlock
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import FORMS, ProjectedGaussians
from opgd.core.kernels import block_features
from opgd.core.marginal import BlockObserver, make_completion, observe_blocks
from opgd.core.moments import Memberships, Moments
from opgd.core.objective import Objective
from opgd.core.penalties import Orthonormality
from opgd.core.regularization import whiten_classes
from opgd.core.scoring import score_engine
from opgd.core.targets import Strongest
from opgd.core.types import FloatArray, IntArray

METRICS: dict[str, Callable[[Frame], Coordinates]] = {
    "covariance": sphered_coordinates,
    "identity": column_coordinates,
}
EM_TOL = 1e-2
"""Gain in log-likelihood per sample at which EM inside a projection stops.

EM only has to adapt the clusters to the new projection. Run to convergence, diagonal Gaussians move
away from clusters whose scores are correlated.
"""


@dataclass(frozen=True)
class RefinedMixture:
    """A mixture inside a projection, with the problem and a summary of the search."""

    problem: Problem
    directions: FloatArray  # (q, R), in the coordinates of the metric
    mixture: MixtureResult
    summary: dict[str, Any]

    @property
    def posteriors(self) -> Memberships:
        """Return a function from a block to probabilities of the clusters, (C, n_rows)."""
        objective, observe = self.problem.objective, self.observe
        if observe is not None:
            converted = observe.observer.convert(self.mixture.gaussians)
            return lambda block: observe(block)[0].posteriors(converted)[0]
        form, components = objective.form, self.directions @ objective.whitener.T
        theta = form.theta(self.mixture.gaussians)

        def posteriors(block: RowBlock) -> FloatArray:
            return block_posteriors(block, block_features(block, components, form), theta)[0]

        return posteriors

    @property
    def observe(self) -> BlockObserver | None:
        """Return the observer of the scores if samples have missing entries."""
        return _observe_scores(self.problem, self.directions)

    @property
    def width(self) -> int:
        """Return the buffer cells per row that the posteriors need, as in `Engine.sum`."""
        if (observe := self.observe) is not None:
            return observe.width
        q, C = len(self.directions), len(self.mixture.gaussians.means)
        return self.problem.objective.form.n_functions(q) + C

    @property
    def sizes(self) -> IntArray:
        """Return the number of samples for which each cluster is the most probable, (C,)."""
        return self._sum_by_cluster(lambda block: np.ones(block.n_rows)).astype(np.intp)

    @property
    def weights(self) -> FloatArray:
        """Return the weight of the samples for which each cluster is the most probable, (C,)."""
        return self._sum_by_cluster(lambda block: block.row_weights)

    def _sum_by_cluster(self, values: Callable[[RowBlock], FloatArray]) -> FloatArray:
        """Sum values of samples, (n_rows,) in a block, over those of each cluster."""
        posteriors, n_clusters = self.posteriors, len(self.problem.priors)

        def block_sums(block: RowBlock) -> FloatArray:
            labels = np.argmax(posteriors(block), axis=0)
            return np.bincount(labels, values(block), n_clusters).astype(np.float64)

        return self.problem.objective.engine.sum(block_sums, self.width)

    def agrees_with(self, other: "RefinedMixture") -> bool:
        """Return whether every sample has the same most probable cluster in both mixtures."""
        first, second = self.posteriors, other.posteriors

        def count_differences(block: RowBlock) -> IntArray:
            labels = np.argmax(first(block), axis=0)  # the second call overwrites the buffer
            return np.array([np.sum(labels != np.argmax(second(block), axis=0))])

        return not self.problem.objective.engine.sum(count_differences, self.width)[0]

    @property
    def projection(self) -> FittedProjection:
        """Return the projection with the mixture inside it."""
        projection = self.problem.project(self.directions)
        return replace(projection, gaussians=self.mixture.gaussians)

    @property
    def density(self) -> SampleDensity:
        """Return the density of the mixture in the space of the features."""
        return make_sample_density(sphered_coordinates(self.problem.frame), self.projection)

    @property
    def log_likelihood(self) -> float:
        """Return the mean log density of the samples in the space of the features."""
        if self.problem.frame.engine.incomplete:
            return self.mixture.log_likelihood  # of the observed entries
        return self.density.mean_log_density(self.mixture.log_likelihood)


def pose_mixture(
    frame: Frame,
    clusters: Moments,
    *,
    metric: str,
    covariance_type: str,
    shrinkage: float | str,
    orthogonality: float,
) -> Problem:
    """Set up the problem of unlabeled samples, from moments of sphered samples by cluster.

    The search uses coordinates in which the metric of the penalty is the identity.
    """
    whitening = whiten_classes(frame, clusters)
    regular, borrowed = whitening.regularize(clusters, shrinkage)
    coordinates = METRICS[metric](frame)
    moments = map_to_features(regular, whitening.coordinates.unwhitener @ coordinates.whitener)
    priors = clusters.priors
    penalty = Orthonormality(orthogonality, np.eye(coordinates.rank))
    objective = Objective(
        frame.engine,
        frame.engine_matrix(coordinates),
        moments,
        np.log(priors),
        FORMS[covariance_type],
        Strongest(),
        penalty if orthogonality > 0 else None,
    )
    return Problem(
        frame,
        coordinates,
        moments,
        objective,
        np.arange(clusters.n_groups),
        priors,
        borrowed,
        whitening.borrowed,
    )


def mixture_axes(problem: Problem, clusters: Moments, n_components: int) -> FloatArray:
    """Return LDA, then SAVE directions of the clusters, orthonormal in `problem.coordinates`."""
    whitening = whiten_classes(problem.frame, clusters)
    whitened, regular = whitening.coordinates, whitening.regularize(clusters)[0]
    if clusters.n_groups == 1:
        axes = starts.pca_axes(whitened, n_components)
    else:
        identity = whitened.unwhitener @ whitened.unwhitener.T  # on standardized features
        axes = starts.lda_axes(regular, n_components, preference=identity)
    return orthonormalize(problem.coordinates.directions(whitened.components(axes)))


def orthonormalize(directions: FloatArray) -> FloatArray:
    """Return orthonormal directions; the first j have the span of the given first j, for all j."""
    q, r = np.linalg.qr(starts.normalize_rows(directions).T)
    rows: FloatArray = (q * np.where(np.diag(r) < 0, -1.0, 1.0)).T
    return rows


def make_unprojected_mixture(frame: Frame, clusters: Moments) -> FittedProjection:
    """Return a mixture in the space of all features, from moments of sphered samples."""
    whitening = whiten_classes(frame, clusters)
    regular, _ = whitening.regularize(clusters)
    gaussians = ProjectedGaussians(np.log(clusters.priors), regular.means, regular.covariances)
    each = np.arange(clusters.n_groups)
    components = whitening.coordinates.matrix.T
    completion = make_completion(
        whitening.coordinates,
        clusters.priors,
        each,
        gaussians.log_priors,
        whitening.coordinates.raw_means(regular.means),
        regular.covariances,
    )
    return FittedProjection(
        frame.center, components, gaussians, FORMS["full"], each, completion=completion
    )


def refine(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration,
    subsample: bool,
    regularizer: Regularizer,
) -> RefinedMixture:
    """Search for a projection from `start`, then run EM inside it."""
    result = search(
        problem,
        [Start("clusters", start)],
        max_iter=max_iter,
        tol=tol,
        on_iteration=on_iteration,
        subsample=subsample,
    ).best
    directions, summary = order_result(problem, result)
    objective = problem.objective
    components = problem.coordinates.components(directions)
    constraints = regularizer.constrain(
        sphered_coordinates(problem.frame).directions(components),
        len(problem.priors),
        diagonal=objective.form.name == "diag",
    )
    observe, samples = _observe_scores(problem, directions), objective.engine
    if observe is None:
        samples = score_engine(samples, directions @ objective.whitener.T)
    mixture = fit_mixture(
        samples,
        np.eye(len(directions)),
        objective.gaussians(directions),
        objective.form,
        tol=EM_TOL,
        constraints=constraints,
        observe=observe,
    )
    summary["objective_"] = result.value * objective.engine.total_weight
    return RefinedMixture(problem, directions, mixture, summary)


def _observe_scores(problem: Problem, directions: FloatArray) -> BlockObserver | None:
    """Return the observer of the scores if samples have missing entries."""
    if not problem.frame.engine.incomplete:
        return None
    return observe_blocks(problem.frame, problem.coordinates.components(directions))


def next_clusters(refined: RefinedMixture) -> Moments:
    """Compute moments of sphered samples from the posteriors of the mixture in the projection."""
    return refined.problem.frame.soft_moments(refined.posteriors, refined.width)


def compute_criteria(refined: RefinedMixture) -> dict[str, Any]:
    """Return sizes, log-likelihood and information criteria of a mixture in its projection."""
    engine, density = refined.problem.frame.engine, refined.density
    posteriors = refined.posteriors

    def sum_log_certainty(block: RowBlock) -> FloatArray:
        strongest = np.log(posteriors(block).max(axis=0))
        weights = block.row_weights
        return np.array([weights @ strongest])

    log_likelihood = engine.count * refined.log_likelihood
    log_certainty = (
        engine.count / engine.total_weight * float(engine.sum(sum_log_certainty, refined.width)[0])
    )
    return {
        "n_clusters": len(refined.problem.priors),
        "n_components": len(refined.directions),
        "log_likelihood": log_likelihood,
        "n_parameters": density.n_parameters,
        **information_criteria(log_likelihood, density.n_parameters, engine.count, log_certainty),
        "smallest": float(np.exp(refined.mixture.gaussians.log_priors).min()),
    }
