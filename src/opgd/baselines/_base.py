"""What the baselines share: rows in, fitted Gaussians out."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from opgd._base.estimator import restore_on_failure
from opgd._base.gaussian import GaussianClassifier
from opgd._fit.data_warnings import warn_about_data
from opgd._fit.normal_form import describe_gaussians
from opgd._fit.problem import Prepared, Problem, limit_n_components, prepare
from opgd._utils.blas import one_blas_thread
from opgd._utils.validation import check_n_components, check_priors
from opgd.core.coordinates import Coordinates, Frame
from opgd.core.engines import RowEngine
from opgd.core.gaussians import FORMS
from opgd.core.moments import Moments
from opgd.core.objective import Objective
from opgd.core.targets import Labeled
from opgd.core.types import AnyArray, FloatArray

LEAST_SQUARE = 1e4 * np.finfo(np.float64).tiny
"""A total variance below this leaves no room for smaller ones of classes and directions."""


@dataclass(frozen=True)
class Task:
    """Labeled rows, as every method gets them."""

    prepared: Prepared
    classes: AnyArray  # (K,), labels
    priors: FloatArray  # (K,)


@dataclass(frozen=True)
class Solution:
    """Gaussians of a method, and the directions on which they are used."""

    problem: Problem
    directions: FloatArray  # (q, R)
    more: dict[str, Any] = field(default_factory=dict)  # further fitted attributes
    notes: list[str] = field(default_factory=list)  # for the user


class Baseline(GaussianClassifier):
    """A Gaussian discriminant whose axes follow from the moments of the classes.

    A method says in `_solve` what its Gaussians are and on which directions they are used.
    """

    priors: Any
    _advice = ""
    """Parameters with which a user can choose what singular covariances borrow."""

    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any one type.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self : object
        """
        self._check_parameters()
        X, classes, codes, weights = self._check_labeled(X, y, sample_weight)
        with one_blas_thread():
            prepared = prepare(RowEngine(X, codes, weights), len(classes))
            priors = check_priors(self.priors, classes, prepared.classes.priors)
            solution = self._solve(Task(prepared, classes, priors))
            attributes = describe_gaussians(solution.problem, solution.directions)
        attributes |= solution.more | {"classes_": classes, "priors_": priors}
        labels, columns = [str(label) for label in classes], self._column_names()
        warn_about_data(solution.problem, labels, columns, solution.notes, advice=self._advice)
        self._store(attributes)
        return self

    def _check_parameters(self) -> None:
        """Refuse bad parameters by name."""

    def _solve(self, task: Task) -> Solution:
        """The Gaussians of a method."""
        raise NotImplementedError


def problem_of(
    task: Task,
    coordinates: Coordinates,
    moments: Moments,
    form: str,
    borrowed: FloatArray,
    within_borrowed: float = 0.0,
    log_factors: FloatArray | float = 0.0,
) -> Problem:
    """A problem whose Gaussians, one for each class, are given in some coordinates.

    `log_factors` (K,) are added to the log joints.
    """
    frame, one_each = task.prepared.frame, np.arange(moments.n_groups)
    objective = Objective(
        frame.engine,
        frame.engine_matrix(coordinates),
        moments,
        np.log(task.priors) + log_factors,
        FORMS[form],
        Labeled(one_each),
    )
    return Problem(
        frame, coordinates, moments, objective, one_each, task.priors, borrowed, within_borrowed
    )


def mapped_to_columns(moments: Moments, matrix: FloatArray) -> Moments:
    """Moments in the units of the columns, whose squares may be too large or small for that."""
    with np.errstate(over="ignore", invalid="ignore"):
        mapped = moments.mapped(matrix)
        totals = np.diag(mapped.total)
    if not np.all(np.isfinite(totals)):
        raise ValueError("X has values too large to compute with: squares overflow; rescale X.")
    if not np.all(totals > LEAST_SQUARE):
        raise ValueError("X has values too small to compute with: squares vanish; rescale X.")
    return mapped


def count_components(
    n_components: Any, frame: Frame, rank: int, default: int | None = None
) -> tuple[int, list[str]]:
    """Return the number of components, and a note where samples allow fewer than were wanted.

    None stands for `default`, or for all that the rank allows.
    """
    check_n_components(n_components, len(frame.center))
    if n_components is None:
        n_components = rank if default is None else default
    return limit_n_components(n_components, rank)
