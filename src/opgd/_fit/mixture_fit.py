"""One fit of a mixture: first mixtures, and the projection and Gaussians refined from them."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Self

import numpy as np

from opgd._fit.cluster_numbers import Scored, combine_candidates
from opgd._fit.exploration import OnIteration
from opgd._fit.first_mixtures import MAX_CANDIDATES, FirstMixture
from opgd._fit.initialization import convert_components
from opgd._fit.mixture_init import Starts
from opgd._fit.problem import Problem, default_n_components
from opgd._fit.refinement import (
    RefinedMixture,
    compute_criteria,
    mixture_axes,
    next_clusters,
    orthonormalize,
    pose_mixture,
    refine,
)
from opgd._fit.regularizer import Regularizer
from opgd._utils.callbacks import FitProgress
from opgd._utils.validation import check_components_init
from opgd.core.coordinates import Frame
from opgd.core.moments import Moments
from opgd.core.types import FloatArray


@dataclass(frozen=True)
class MixtureSettings:
    """Parameters of an `OPGDMixture` that concern a single fit."""

    n_components: int | None
    covariance_type: str
    metric: str
    orthogonality: float
    components_init: Any
    n_init: int
    n_rounds: int
    shrinkage: float | str
    regularization: float
    criterion: str
    max_iter: int
    tol: float

    @classmethod
    def read(cls, estimator: Any) -> Self:
        """Return the settings of an estimator."""
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})

    @property
    def max_total_iter(self) -> int:
        """Return the maximum number of iterations for one number of clusters."""
        return MAX_CANDIDATES * self.n_rounds * self.max_iter


@dataclass(frozen=True)
class Monitor:
    """Reports of iterations to callbacks and to the terminal."""

    progress: FitProgress
    describe: Callable[[Problem, FloatArray], dict[str, Any]]  # fitted attributes at directions
    verbose: int

    def reporter(self, total_weight: float) -> OnIteration:
        """Return a function that reports iterations."""
        return self.progress.reporter(self.verbose, total_weight, "objective")

    def watch(self, problem: Problem) -> None:
        """Report the attributes of this problem from now on."""
        self.progress.describe = partial(self.describe, problem)


@dataclass(frozen=True)
class MixtureFit(Scored):
    """Fit for one number of clusters: the first mixture, and the best round."""

    first: FirstMixture
    refined: RefinedMixture
    n_rounds: int

    @property
    def n_clusters(self) -> int:
        """Return the number of clusters."""
        return self.first.moments.n_groups


def fit_number(
    starts: Starts, settings: MixtureSettings, monitor: Monitor, n_clusters: int
) -> MixtureFit:
    """Fit one number of clusters, and return the best of several first mixtures."""
    fits = [
        refine_mixture(starts.frame, starts.regularizer, first, settings, monitor)
        for first in starts.make_mixtures(n_clusters)
    ]
    return combine_candidates(fits, settings.criterion)


def refine_mixture(
    frame: Frame,
    regularizer: Regularizer,
    first: FirstMixture,
    settings: MixtureSettings,
    monitor: Monitor,
) -> MixtureFit:
    """Refine a first mixture, and return the best round."""
    rounds = run_rounds(frame, regularizer, first.moments, settings, monitor)
    best = max(rounds, key=lambda refined: refined.log_likelihood)
    of_first = first.criteria(frame.engine.count, best.density.log_volume)
    criteria = compute_criteria(best) | {"covariances": first.structure}
    criteria |= {f"first_{name}": value for name, value in of_first.items()}
    return MixtureFit(criteria, int(np.sum(best.sizes == 0)), first, best, len(rounds))


def run_rounds(
    frame: Frame,
    regularizer: Regularizer,
    clusters: Moments,
    settings: MixtureSettings,
    monitor: Monitor,
) -> list[RefinedMixture]:
    """Refine clusters again and again, until none changes or `n_rounds` is reached."""
    report, rounds = monitor.reporter(frame.engine.total_weight), list[RefinedMixture]()
    while True:
        problem = pose_mixture(
            frame,
            clusters,
            metric=settings.metric,
            covariance_type=settings.covariance_type,
            shrinkage=settings.shrinkage,
            orthogonality=settings.orthogonality,
        )
        monitor.watch(problem)
        if not rounds:
            start = make_initial_components(problem, clusters, settings)
        is_free = settings.components_init is None and not rounds
        refined = refine(
            problem,
            start,
            max_iter=settings.max_iter,
            tol=settings.tol,
            on_iteration=report,
            subsample=is_free,
            regularizer=regularizer,
        )
        rounds.append(refined)
        is_same = len(rounds) > 1 and refined.agrees_with(rounds[-2])
        if is_same or len(rounds) == settings.n_rounds:
            return rounds
        clusters, start = next_clusters(refined), orthonormalize(refined.directions)
        if not np.all(clusters.weights > 0):  # a cluster without samples has no moments
            return rounds


def make_initial_components(
    problem: Problem, clusters: Moments, settings: MixtureSettings
) -> FloatArray:
    """Return the directions from which the search for the projection starts, (q, R)."""
    rank, number = problem.coordinates.rank, settings.n_components
    if settings.components_init is None:
        number = default_n_components(rank, clusters.n_groups) if number is None else number
        return mixture_axes(problem, clusters, min(rank, number))
    name, n_features = "components_init", len(problem.frame.center)
    components = check_components_init(settings.components_init, number, n_features, name)
    return convert_components(problem, components[:rank], name)
