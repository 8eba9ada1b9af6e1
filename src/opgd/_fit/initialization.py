"""Initial components, by a named method or given by the user."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd._fit.problem import Problem
from opgd.core import starts
from opgd.core.types import FloatArray

COMPONENT_INITS = ["auto", "lda", "paper", "pca", "random", "save"]


@dataclass(frozen=True)
class Start:
    """Initial directions of length one, and the name of their method."""

    name: str
    directions: FloatArray  # (q, R)


def make_starts(
    problem: Problem, init: Any, n_components: int, rng: np.random.RandomState
) -> list[Start]:
    """Compute initial directions.

    `init` is a name of `COMPONENT_INITS` other than "auto", a sequence of such names, or components
    of shape (n_components or more, n_features).
    """
    coordinates, classes = problem.coordinates, problem.classes
    methods: dict[str, Callable[[], FloatArray]] = {
        "lda": lambda: starts.lda_axes(classes, n_components),
        "save": lambda: starts.save_axes(classes, n_components),
        "pca": lambda: starts.pca_axes(coordinates, n_components),
        "paper": lambda: starts.paper_axes(coordinates, classes, n_components),
        "random": lambda: starts.random_axes(coordinates.rank, n_components, rng),
    }
    if not has_names(init):
        directions = convert_components(problem, init[:n_components])
        return [Start("init", starts.normalize_rows(directions))]
    names = [init] if isinstance(init, str) else init
    return [Start(name, starts.normalize_rows(methods[name]())) for name in names]


def has_names(init: Any) -> bool:
    """Return whether `init` is a name or a sequence of names, rather than components."""
    return isinstance(init, str) or (
        isinstance(init, list | tuple)
        and len(init) > 0
        and all(isinstance(name, str) for name in init)
    )


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
