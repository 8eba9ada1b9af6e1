"""Models with an increasing number of components.

A path is a sequence of models with more and more components. Its first model starts from the LDA or
the principal components, or from the components of another model. For each further model, the
components found so far and new ones, from the best of a few inexpensive initial values, are
optimized together. Two limiting cases need no search: reduced-rank LDA (pooled covariance, LDA
components) and regularized discriminant analysis (RDA: full covariances, all components), with one
or more Gaussians per class.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd._fit.initialization import make_starts
from opgd._fit.problem import Problem
from opgd.core import starts
from opgd.core.solvers import maximize, select_best_run
from opgd.core.types import FloatArray

PATH_TOL = 1e-4
PATH_ITERATIONS, WARM_ITERATIONS = 15, 10
"""Maximum number of iterations for each step of a path, and for a variant of another model."""
SEPARATED = -1e-5
"""Mean log posterior above which the training samples are considered separated."""


@dataclass(frozen=True)
class Setting:
    """Hyperparameters of a model other than n_components; names as in OPGDClassifier."""

    covariance_type: str
    n_subclasses: Any
    shrinkage: float | str
    ridge: float | str
    end: str | None = None  # "lda" or "rda" for the limiting cases, which need no search
    limited: bool = False  # whether small classes get fewer Gaussians than `n_subclasses`
    n_features: int | None = None  # number of features that are used, None for all


def grow_path(
    problem: Problem, counts: Sequence[int], initial: FloatArray | None = None
) -> Iterator[FloatArray]:
    """Yield the directions of models with an increasing number of components.

    Each model is initialized by the previous one, the first by as many of the `initial` directions
    as it has components, if they are given. The iteration ends early once the training samples are
    separated.
    """
    rng = np.random.RandomState(0)
    objective = problem.objective
    max_iter = PATH_ITERATIONS if initial is None else WARM_ITERATIONS
    directions = np.empty((0, problem.coordinates.rank)) if initial is None else initial
    for count in counts:
        if len(directions) == 0:
            runs = [
                maximize(objective, start.directions, max_iter=10, tol=PATH_TOL)
                for start in make_starts(problem, ("lda", "pca"), count, rng)
            ]
            start = select_best_run(runs).directions
        elif len(directions) < count:
            additions = next_directions(problem, directions, count - len(directions))
            candidates = [np.vstack([directions, addition]) for addition in additions]
            # faster than `value`, which goes through the components one by one
            start = max(candidates, key=lambda at: objective.value_and_gradient(at)[0])
        else:
            start = directions[:count]
        result = maximize(objective, starts.normalize_rows(start), max_iter=max_iter, tol=PATH_TOL)
        directions = starts.normalize_rows(result.directions)
        yield directions
        if result.value > SEPARATED:
            return


def next_directions(problem: Problem, directions: FloatArray, number: int) -> list[FloatArray]:
    """Return initial values of further directions, (number, R) each, orthogonal to the given ones.

    They are LDA directions, SAVE directions and principal components in the orthogonal complement.
    """
    complement = np.linalg.qr(directions.T, mode="complete")[0][:, len(directions) :]  # (R, R - q)
    classes = problem.classes.mapped(complement)
    principal = starts.pca_axes(problem.coordinates, problem.coordinates.rank) @ complement
    longest = np.linalg.svd(principal, full_matrices=False)[2]
    candidates = [starts.lda_axes(classes, number), starts.save_axes(classes, number), longest]
    return [starts.normalize_rows(rows[:number]) @ complement.T for rows in candidates]


def model_directions(
    problem: Problem, setting: Setting, counts: Sequence[int], initial: FloatArray | None = None
) -> Iterator[FloatArray]:
    """Yield the directions of each model of a setting."""
    rank = problem.coordinates.rank
    if setting.end == "rda":
        yield np.eye(rank)
    elif setting.end == "lda":
        maximum = min(rank, max(1, problem.classes.n_groups - 1))
        directions = starts.lda_axes(problem.classes, maximum)
        yield from (directions[:q] for q in counts if q <= maximum)
    else:
        # the training samples of a split may span fewer dimensions than all samples
        yield from grow_path(problem, sorted({min(q, rank) for q in counts}), initial)


def count_parameters(problem: Problem, setting: Setting, n_components: int) -> int:
    """Count the free parameters of a model: components, projected means and variances."""
    rank, n_gaussians = problem.coordinates.rank, len(problem.gaussian_classes)
    q = n_components
    if setting.end == "lda":  # the span of the components, and the projected means
        return q * (rank - q) + n_gaussians * q
    if setting.covariance_type == "full":
        return q * (rank - q) + n_gaussians * (q + q * (q + 1) // 2)
    return q * (rank - 1) + n_gaussians * 2 * q
