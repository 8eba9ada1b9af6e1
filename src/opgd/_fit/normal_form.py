"""Unique basis, signs and order of the components found by the solver."""

from typing import Any

import numpy as np

from opgd._fit.problem import Problem
from opgd.core import starts
from opgd.core.ordering import order_components
from opgd.core.solvers import SolverResult
from opgd.core.types import FloatArray


def normalize(problem: Problem, directions: FloatArray) -> FloatArray:
    """Return equivalent directions with a unique basis, length and sign.

    Where only the span matters, its basis is rotated to the LDA components inside the span, then
    the SAVE components. Directions have length one (pooled within-class variance one), and their
    largest loading on standardized features is positive.
    """
    if problem.objective.form.spans_only:
        span = np.linalg.qr(directions.T)[0].T
        directions = starts.lda_axes(problem.classes.mapped(span.T), len(span)) @ span
    return starts.fix_signs(problem.coordinates, starts.normalize_rows(directions))


def order_result(problem: Problem, result: SolverResult) -> tuple[FloatArray, dict[str, Any]]:
    """Return normalized directions in the paper's order, and fitted attributes of the search."""
    directions = normalize(problem, result.directions)
    order, values = order_components(problem.objective, directions)
    weight = problem.objective.engine.total_weight
    without_components = problem.objective.values(directions, lambda axis: iter([0.0 * axis(0)]))
    gains = np.diff(values, prepend=without_components)
    total = gains.sum()
    shares = gains / total if total > 0 else np.full(len(gains), 1 / len(gains))
    return directions[order], {
        "log_likelihood_": float(values[-1] * weight),
        "component_log_likelihoods_": values * weight,
        "component_shares_": shares,
        # evaluations without an improvement count as one iteration
        "n_iter_": max(result.n_iter, int(result.n_evaluations > 0)),
        "n_evaluations_": result.n_evaluations,
        "converged_": result.converged,
        "loss_curve_": [-value for value in result.history],
    }


def describe_gaussians(problem: Problem, directions: FloatArray) -> dict[str, Any]:
    """Return the fitted attributes of the Gaussians in the projection on these directions."""
    moments = problem.objective.moments
    return {
        "_projection": problem.project(directions),
        "means_": problem.coordinates.raw_means(moments.means),
        "_coordinates": problem.coordinates,
        "_covariances": moments.covariances,
    }
