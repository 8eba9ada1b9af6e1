"""Components that use few features each.

Loadings are removed from each component step by step, those first whose removal changes the
component least if its other loadings adapt, in the metric of the pooled within-class covariance.
After every step the same objective is optimized again on what is left; no penalty is added for
sparsity, so that loadings are not shrunk.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from opgd._fit.problem import Problem
from opgd.core import starts
from opgd.core.objective import Objective
from opgd.core.solvers import SolverResult, maximize
from opgd.core.types import AnyArray, FloatArray, IntArray

KEPT_SHARE = 0.7
"""Share of the loadings of a component that a step keeps."""
STEP_ITERATIONS = 15
"""Maximum number of iterations after each step but the last."""
MAX_CANDIDATES = 1000
"""Number of largest loadings of a component from which loadings are removed."""
METRIC_RIDGE = 1e-6
"""Share of the average variance that is added to a metric, which may be singular."""
RANK_TOLERANCE = 1e-10
"""Share of the largest singular value below which directions count as dependent."""


@dataclass(frozen=True)
class SupportObjective:
    """The objective as a function of coordinates (sum of s_j,) on the supports of components.

    Row j of the directions is a combination of the orthonormal rows of `bases[j]`, (s_j, R).
    """

    objective: Objective
    bases: list[FloatArray]

    def directions(self, at: FloatArray) -> FloatArray:
        """Return the directions (q, R) of coordinates."""
        ends = np.cumsum([len(basis) for basis in self.bases])[:-1]
        parts = zip(np.split(at, ends), self.bases, strict=True)
        return np.stack([part @ basis for part, basis in parts])

    def coordinates(self, directions: FloatArray) -> FloatArray:
        """Return the coordinates of directions, projected on the supports."""
        pairs = zip(directions, self.bases, strict=True)
        return np.concatenate([basis @ direction for direction, basis in pairs])

    def value(self, at: FloatArray) -> float:
        return self.objective.value(self.directions(at))

    def value_and_gradient(self, at: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.objective.value_and_gradient(self.directions(at))
        return value, self.coordinates(gradient)


@dataclass(frozen=True)
class SparseDirections:
    """Directions whose components use few features each."""

    directions: FloatArray  # (q, R)
    used: AnyArray  # (q, p), which features each component uses
    result: SolverResult  # of the last optimization

    def select(self, order: IntArray) -> "SparseDirections":
        """Return the directions in another order."""
        return replace(self, directions=self.directions[order], used=self.used[order])

    def components(self, problem: Problem) -> FloatArray:
        """Return the components (q, p), with zeros for all features that they do not use."""
        components = np.zeros(self.used.shape)
        to_directions = directions_of_features(problem)
        for row, direction, support in zip(components, self.directions, self.used, strict=True):
            row[support] = linalg.lstsq(to_directions[support].T, direction)[0]
        return components / problem.frame.scale


def directions_of_features(problem: Problem) -> FloatArray:
    """Return the directions of loadings of one on each standardized feature, (p, R)."""
    return problem.coordinates.basis @ problem.coordinates.unwhitener.T


def remove_loadings(
    problem: Problem, directions: FloatArray, n_kept: int, *, max_iter: int, tol: float
) -> SparseDirections:
    """Remove loadings from components, and optimize what is left.

    Parameters
    ----------
    directions : ndarray of shape (q, R), where the search starts
    n_kept : number of features that each component uses
    """
    to_directions = directions_of_features(problem)
    used = np.tile(np.any(to_directions != 0, axis=1), (len(directions), 1))
    n_left = min(int(used[0].sum()), max(MAX_CANDIDATES, n_kept + 1))
    loadings = problem.coordinates.components(directions) * problem.frame.scale
    for support, loading in zip(used, loadings, strict=True):
        support[np.argsort(-np.abs(loading), kind="stable")[n_left:]] = False
    while n_left > n_kept:
        n_left = max(n_kept, min(n_left - 1, int(KEPT_SHARE * n_left)))
        for support, direction in zip(used, directions, strict=True):
            support[:] = _keep_important(support, direction, to_directions, n_left)
        is_last = n_left == n_kept
        n_iter = max_iter if is_last else min(STEP_ITERATIONS, max_iter)
        result = _optimize_on(problem, directions, [to_directions[s] for s in used], n_iter, tol)
        directions = starts.normalize_rows(result.directions)
    return SparseDirections(starts.fix_signs(problem.coordinates, directions), used, result)


def _keep_important(
    support: AnyArray, direction: FloatArray, to_directions: FloatArray, n_kept: int
) -> AnyArray:
    """Return the support, (p,), without the loadings whose removal changes a direction least."""
    features = np.flatnonzero(support)
    rows = to_directions[features]
    metric = rows @ rows.T
    metric[np.diag_indices_from(metric)] += METRIC_RIDGE * np.trace(metric) / len(metric)
    inverse = linalg.inv(metric)
    loadings = inverse @ (rows @ direction)
    change = loadings**2 / np.diag(inverse)
    kept = np.zeros_like(support)
    kept[features[np.argsort(-change, kind="stable")[:n_kept]]] = True
    return kept


def _optimize_on(
    problem: Problem,
    directions: FloatArray,
    supports: list[FloatArray],
    max_iter: int,
    tol: float,
) -> SolverResult:
    """Optimize directions, each in the span of the rows of its support (s_j, R)."""
    restricted = SupportObjective(problem.objective, [_orthonormal_rows(s) for s in supports])
    result = maximize(restricted, restricted.coordinates(directions), max_iter=max_iter, tol=tol)
    return replace(result, directions=restricted.directions(result.directions))


def _orthonormal_rows(rows: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of rows (s, R)."""
    _, singular, right = linalg.svd(rows, full_matrices=False)
    basis: FloatArray = right[singular > RANK_TOLERANCE * singular[0]]
    return basis
