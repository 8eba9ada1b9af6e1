"""From moments to a projection: posing the problem to the core, searching, the normal form."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from opgd._fit.subclasses import split_classes
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core import starts
from opgd.core.coordinates import Coordinates, Frame, make_frame
from opgd.core.engines import Engine
from opgd.core.gaussians import FORMS
from opgd.core.moments import Moments
from opgd.core.objective import Objective
from opgd.core.ordering import order_components
from opgd.core.regularization import (
    draw_to_classes,
    regularise,
    unit_variance,
    whitened_coordinates,
)
from opgd.core.solvers import SolverResult, best_of, continued, maximise
from opgd.core.targets import Labelled, Mixed
from opgd.core.types import FloatArray, IntArray

RACE_ITERATIONS = 10
MANY_ROWS = 100_000
"""From so many rows on, a search begins on samples of them."""
FIRST_SAMPLE = 10_000
ROWS_PER_COEFFICIENT = 15
"""A sample says too little about a projection with more coefficients than that."""
SAMPLE_GROWTH = 5
LEAST_GROWTH = 2
LARGEST_SAMPLE = 0.25
MAX_SAMPLE_CELLS = 2**23
"""Samples are copied into memory (64 MB), from a cluster through its network."""
NOISE = 1.0
NOISE_ITERATIONS = 5
"""A search on m rows ends when so many iterations gain less than NOISE / sqrt(m) of the value."""
STARTS = ["auto", "lda", "paper", "pca", "random", "save"]


@dataclass(frozen=True)
class Prepared:
    """Rows with labels, made ready once for any number of settings."""

    frame: Frame
    classes: Moments  # of sphered rows


@dataclass(frozen=True)
class Problem:
    """Everything that is fixed before the search for a projection begins."""

    frame: Frame
    coordinates: Coordinates
    classes: Moments  # by class, whitened: what the first guesses are made of
    objective: Objective
    gaussian_classes: IntArray  # (C,)
    priors: FloatArray  # (K,)
    borrowed: FloatArray  # (C,)
    within_borrowed: float


def frame_rows(engine: Engine) -> Frame:
    """Rows made ready for the core, or a sentence on why they cannot be."""
    try:
        frame = make_frame(engine)
    except OverflowError as error:
        raise ValueError(f"X has values too large to compute with: {error}; rescale X.") from None
    if frame.basis.shape[1] == 0:
        raise ValueError("All columns of X are constant: no axis can tell rows apart.")
    return frame


def prepare(engine: Engine, n_classes: int) -> Prepared:
    """Pass over the rows for all that does not depend on settings."""
    frame = frame_rows(engine)
    return Prepared(frame, frame.moments(n_classes))


def pose(
    prepared: Prepared,
    priors: FloatArray,
    *,
    numbers: IntArray,
    covariance_type: str,
    shrinkage: float | str,
    ridge: float,
) -> Problem:
    """The problem of rows with labels; `numbers` of Gaussians by class, `priors` by class.

    Rows whose label is -1 aim at the strongest class.
    """
    frame, classes = prepared.frame, prepared.classes
    coordinates, within_borrowed = whitened_coordinates(frame, classes, ridge)
    gaussians, gaussian_classes = classes, np.arange(classes.n_groups)
    if np.any(numbers != 1):
        groups, gaussian_classes = split_classes(frame, coordinates, numbers)
        gaussians = frame.moments(len(gaussian_classes), groups)
    level = unit_variance(frame, classes)
    share = None if isinstance(shrinkage, str) else shrinkage
    moments, borrowed = regularise(
        frame, coordinates, gaussians, level=level, shrinkage=share, ridge=ridge
    )
    by_class = moments
    if gaussians is not classes or share != 0:
        by_class, _ = regularise(frame, coordinates, classes, level=level, ridge=ridge)
    shares = gaussians.weights / classes.weights[gaussian_classes]
    targets = Mixed if frame.engine.partly_labelled else Labelled
    objective = Objective(
        frame.engine,
        frame.engine_matrix(coordinates),
        draw_to_classes(moments, gaussian_classes),
        np.log(priors[gaussian_classes]) + np.log(shares),
        FORMS[covariance_type],
        targets(gaussian_classes),
    )
    return Problem(
        frame,
        coordinates,
        by_class,
        objective,
        gaussian_classes,
        priors,
        borrowed,
        within_borrowed,
    )


def first_guesses(
    problem: Problem, init: Any, n_components: int, rng: np.random.RandomState
) -> list[FloatArray]:
    """Directions to begin with, rows of length one; more than one for "auto"."""
    coordinates, classes = problem.coordinates, problem.classes
    make: dict[str, Callable[[], FloatArray]] = {
        "lda": lambda: starts.lda_axes(classes, n_components),
        "save": lambda: starts.save_axes(classes, n_components),
        "pca": lambda: starts.pca_axes(coordinates, n_components),
        "paper": lambda: starts.paper_axes(coordinates, classes, n_components),
        "random": lambda: starts.random_axes(coordinates.rank, n_components, rng),
    }
    if not isinstance(init, str):
        guesses = [given_directions(problem, init[:n_components])]
    else:
        guesses = [make[name]() for name in (("lda", "pca") if init == "auto" else (init,))]
    return [starts.unit_rows(guess) for guess in guesses]


def given_directions(problem: Problem, components: FloatArray, name: str = "init") -> FloatArray:
    """Components given by hand as directions; they must be some, where rows differ."""
    directions = problem.coordinates.directions(components)
    lengths = np.linalg.norm(directions, axis=1)
    if not np.all(lengths > 1e-10 * np.linalg.norm(components * problem.frame.scale, axis=1)):
        raise ValueError(f"{name} has a component along which the rows of X do not differ.")
    full = problem.objective.form is FORMS["full"]
    if full and np.linalg.matrix_rank(starts.unit_rows(directions), tol=1e-8) < len(directions):
        raise ValueError(f"{name} has components that are combinations of the others.")
    return directions


def search(
    problem: Problem,
    guesses: list[FloatArray],
    *,
    max_iter: int,
    tol: float,
    on_iteration: Callable[[str, FloatArray, float], None],
    n_random: int = 0,
    rng: np.random.RandomState | None = None,
    subsample: bool = False,
) -> SolverResult:
    """Race the first guesses, climb from the winner, then from random starts; keep the best.

    `on_iteration` is told which search it is, where it has come to, and the value there. With
    `subsample`, searches among many rows begin on samples of them, of which nothing but the place
    they lead to is kept.
    """
    objective = problem.objective
    samples = growing_samples(objective, guesses[0].size) if subsample and max_iter else []
    n_evaluations = 0

    def climb(start: FloatArray, name: str, most: int = max_iter) -> SolverResult:
        tell = partial(on_iteration, name)
        return maximise(objective, start, max_iter=most, tol=tol, on_iteration=tell)

    def climb_samples(guesses: list[FloatArray]) -> FloatArray:
        """Where the samples lead to; the first of them decides among guesses."""
        nonlocal n_evaluations
        for sample in samples:
            runs = [
                maximise(
                    sample, own, max_iter=max_iter, tol=tol, on_iteration=stop_in_noise(sample)
                )
                for own in guesses
            ]
            n_evaluations += sum(run.n_evaluations for run in runs)
            guesses = [max(runs, key=lambda run: run.value).directions]
        return guesses[0]

    if samples:
        best = climb(climb_samples(guesses), "search 1")
    elif len(guesses) == 1:
        best = climb(guesses[0], "search 1")
    else:
        few = min(RACE_ITERATIONS, max_iter)
        best = best_of([climb(own, f"guess {i + 1}", few) for i, own in enumerate(guesses)])
        if few < max_iter and not best.converged:
            best = continued(best, climb(best.directions, "search 1", max_iter - best.n_iter))
    n_evaluations += best.n_evaluations
    for number in range(n_random):
        assert rng is not None
        start = starts.random_axes(problem.coordinates.rank, len(guesses[0]), rng)
        run = climb(climb_samples([start]), f"search {number + 2}")
        n_evaluations += run.n_evaluations
        best = max(best, run, key=lambda result: result.value)
    if best.n_iter >= max_iter > 0 and not best.converged:
        warn_caller(
            f"The projection has not converged after max_iter={max_iter} iterations "
            f"(objective {best.value * objective.engine.total_weight:.6g}). "
            "Increase max_iter, or loosen tol if this is close enough.",
            ConvergenceWarning,
        )
    return replace(best, n_evaluations=n_evaluations)


def growing_samples(objective: Objective, n_coefficients: int) -> list[Objective]:
    """The same objective on more and more of its rows, none where these are few.

    Moments and priors stay those of all rows.
    """
    engine = objective.engine
    if engine.n_samples < MANY_ROWS:
        return []
    most = int(min(LARGEST_SAMPLE * engine.n_samples, MAX_SAMPLE_CELLS / engine.n_features))
    first = max(FIRST_SAMPLE, ROWS_PER_COEFFICIENT * n_coefficients)
    return [replace(objective, engine=engine.sample(size)) for size in sample_sizes(first, most)]


def sample_sizes(first: int, most: int) -> list[int]:
    """From the first in large steps to the most, where that is much more than the last step."""
    sizes = []
    while first <= most:
        sizes.append(first)
        first *= SAMPLE_GROWTH
    return [*sizes, most] if sizes and most >= LEAST_GROWTH * sizes[-1] else sizes


def stop_in_noise(sample: Objective) -> Callable[[FloatArray, float], None]:
    """Ends a search on a sample where its gains are smaller than what another would change."""
    values: list[float] = []
    least = NOISE / np.sqrt(sample.engine.n_samples)

    def after_iteration(_: FloatArray, value: float) -> None:
        values.append(value)
        before = values[-1 - NOISE_ITERATIONS] if len(values) > NOISE_ITERATIONS else -np.inf
        if value - before < least * abs(value):
            raise StopIteration

    return after_iteration


def normal_form(problem: Problem, directions: FloatArray) -> FloatArray:
    """One of the many projections with the same value: definite basis, length and sign.

    A "full" model depends on the span alone, so its basis is turned to the LDA axes inside the
    span, then the SAVE axes. Rows have length one (pooled within-class variance one), and the
    largest loading on standardised columns is positive.
    """
    if problem.objective.form is FORMS["full"]:
        span = np.linalg.qr(directions.T)[0].T
        directions = starts.lda_axes(problem.classes.mapped(span.T), len(span)) @ span
    return with_definite_signs(problem.coordinates, starts.unit_rows(directions))


def with_definite_signs(coordinates: Coordinates, directions: FloatArray) -> FloatArray:
    """Directions whose largest loading on standardised columns is positive."""
    loadings = directions @ coordinates.whitener.T @ coordinates.basis.T
    largest = loadings[np.arange(len(loadings)), np.argmax(np.abs(loadings), axis=1)]
    return directions * np.where(largest < 0, -1.0, 1.0)[:, None]


def fitted_attributes(problem: Problem, directions: FloatArray) -> dict[str, Any]:
    """What an estimator needs to predict and transform with these directions."""
    coordinates, moments = problem.coordinates, problem.objective.moments
    components = coordinates.components(directions)
    gaussians = problem.objective.gaussians(directions)
    return {
        "components_": components,
        "n_components_": len(components),
        "means_": coordinates.raw_means(moments.means),
        "projected_means_": gaussians.means + components @ coordinates.center,
        "projected_variances_": gaussians.variances,
        "gaussian_classes_": problem.gaussian_classes,
        "_coordinates": coordinates,
        "_covariances": moments.covariances,
        "_gaussians": gaussians,
    }


def ordered_attributes(problem: Problem, result: SolverResult) -> tuple[FloatArray, dict[str, Any]]:
    """Directions in normal form and in the paper's order, and what each adds."""
    directions = normal_form(problem, result.directions)
    order, values = order_components(problem.objective, directions)
    weight = problem.objective.engine.total_weight
    without_axes = problem.objective.values(directions, lambda axis: iter([0.0 * axis(0)]))
    gains = np.diff(values, prepend=without_axes)
    total = gains.sum()
    shares = gains / total if total > 0 else np.full(len(gains), 1 / len(gains))
    return directions[order], {
        "log_likelihood_": float(values[-1] * weight),
        "component_log_likelihoods_": values * weight,
        "component_shares_": shares,
        # finding that the start cannot be improved counts as an iteration
        "n_iter_": max(result.n_iter, int(result.n_evaluations > 0)),
        "n_evaluations_": result.n_evaluations,
        "converged_": result.converged,
        "loss_curve_": [-value for value in result.history],
    }


def warn_of_data(
    problem: Problem,
    labels: list[str],
    columns: list[str],
    notes: list[str],
    what: str = "classes",
    advice: str = "shrinkage or ridge",
) -> None:
    """One warning that names every column and class for which the fit had to decide something.

    `advice` are the parameters with which a user can decide, if there are any.
    """
    frame = problem.frame
    decide = f"; set {advice} to choose this yourself" if advice else ""
    if len(frame.constant):
        notes.append(f"constant columns get zero loadings: {_listed(columns, frame.constant)}")
    if len(frame.collinear):
        notes.append(
            "collinear columns share their loadings: "
            f"{_listed(columns, frame.collinear)} can be computed from the others"
        )
    if problem.within_borrowed > 0:
        rows = " (there are no more rows than columns)" if frame.few_rows else ""
        notes.append(
            f"the pooled covariance of the {what} is singular{rows}: "
            f"{problem.within_borrowed:.0%} of it is the identity on standardised columns, "
            f"and probabilities may be overconfident{decide}"
        )
    poor = np.unique(problem.gaussian_classes[problem.borrowed > 0])
    if len(poor):
        notes.append(
            f"{what} with a singular covariance borrow from the pooled one: "
            f"{_listed(labels, poor)}{decide}"
        )
    if notes:
        warn_caller("; ".join(notes) + ".", DataWarning)


def _listed(names: list[str], indices: IntArray, most: int = 8) -> str:
    if len(indices) == len(names) > most:
        return f"all {len(names)}"
    shown = ", ".join(names[i] for i in indices[:most])
    left = len(indices) - most
    return f"{shown} and {left} more" if left > 0 else shown
