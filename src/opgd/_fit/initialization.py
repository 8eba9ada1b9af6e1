"""Initial components, by a named method or given by the user."""

from collections.abc import Callable
from typing import Any

import numpy as np

from opgd._fit.problem import Problem
from opgd.core import starts
from opgd.core.types import FloatArray

COMPONENT_INITS = ["auto", "lda", "paper", "pca", "random", "save"]


def make_starts(
    problem: Problem, init: Any, n_components: int, rng: np.random.RandomState
) -> list[FloatArray]:
    """Compute initial directions of length one; two candidates for "auto".

    `init` is one of `COMPONENT_INITS`, or components of shape (n_components or more, n_features).
    """
    coordinates, classes = problem.coordinates, problem.classes
    methods: dict[str, Callable[[], FloatArray]] = {
        "lda": lambda: starts.lda_axes(classes, n_components),
        "save": lambda: starts.save_axes(classes, n_components),
        "pca": lambda: starts.pca_axes(coordinates, n_components),
        "paper": lambda: starts.paper_axes(coordinates, classes, n_components),
        "random": lambda: starts.random_axes(coordinates.rank, n_components, rng),
    }
    if not isinstance(init, str):
        return [starts.normalize_rows(convert_components(problem, init[:n_components]))]
    names = ("lda", "pca") if init == "auto" else (init,)
    return [starts.normalize_rows(methods[name]()) for name in names]


def convert_components(problem: Problem, components: FloatArray, name: str = "init") -> FloatArray:
    """Convert components to directions in whitened coordinates.

    Raise ValueError if samples do not vary along a component, or if only the span matters and
    components are linearly dependent.
    """
    directions = problem.coordinates.directions(components)
    lengths = np.linalg.norm(directions, axis=1)
    if not np.all(lengths > 1e-10 * np.linalg.norm(components * problem.frame.scale, axis=1)):
        raise ValueError(f"{name} has a component along which the samples of X do not vary.")
    units = starts.normalize_rows(directions)
    spans_only = problem.objective.form.spans_only
    if spans_only and np.linalg.matrix_rank(units, tol=1e-8) < len(directions):
        raise ValueError(f"The rows of {name} must be linearly independent.")
    return directions
