"""What the baselines share: rows in, fitted Gaussians out."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from opgd._base.gaussian import AxesMixin, GaussianClassifier, restore_on_failure
from opgd._fit.problem import Prepared, Problem, fitted_attributes, prepare, warn_of_data
from opgd._utils.blas import one_blas_thread
from opgd._utils.validation import check_integer, check_priors
from opgd.core.coordinates import Coordinates
from opgd.core.engines import RowEngine
from opgd.core.gaussians import FORMS
from opgd.core.moments import Moments
from opgd.core.objective import Objective
from opgd.core.targets import Labelled
from opgd.core.types import AnyArray, FloatArray

LEAST_SQUARE = 1e4 * np.finfo(np.float64).tiny
"""A total variance below this leaves no room for smaller ones of classes and directions."""


@dataclass(frozen=True)
class Task:
    """Labelled rows, as every method gets them."""

    prepared: Prepared
    classes: AnyArray  # (K,), labels
    priors: FloatArray  # (K,)


@dataclass(frozen=True)
class Solution:
    """Gaussians of a method, and the directions on which they are used."""

    problem: Problem
    directions: FloatArray  # (q, R)
    more: dict[str, Any]  # further fitted attributes
    notes: list[str] = field(default_factory=list)  # for the user


class Baseline(GaussianClassifier):
    """A Gaussian discriminant whose axes follow from the moments of the classes.

    A method says in `_solve` what its Gaussians are and on which directions they are used.
    """

    priors: Any
    _covariance_type: str
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
        X, classes, codes, weights = self._check_labelled(X, y, sample_weight)
        with one_blas_thread():
            prepared = prepare(RowEngine(X, codes, weights), len(classes))
            priors = check_priors(self.priors, classes, prepared.classes.priors)
            solution = self._solve(Task(prepared, classes, priors))
            attributes = fitted_attributes(solution.problem, solution.directions)
        attributes |= solution.more | {"classes_": classes, "priors_": priors}
        if not isinstance(self, AxesMixin):  # Gaussians of whole rows, on axes that mean nothing
            attributes["_whole_space"] = attributes.pop("components_")
            for name in ("n_components_", "projected_means_", "projected_variances_"):
                del attributes[name]
        labels, columns = [str(label) for label in classes], self._column_names()
        warn_of_data(solution.problem, labels, columns, solution.notes, advice=self._advice)
        self.__dict__.update(attributes)
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
        Labelled(one_each),
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


def count_axes(n_components: Any, n_features: int, rank: int) -> tuple[int, list[str]]:
    """The number of axes (all there are for None), and what to say where they are fewer."""
    if n_components is None:
        return rank, []
    wanted = check_integer("n_components", n_components, 1)
    if wanted > n_features:
        raise ValueError(f"n_components={wanted} is more than the {n_features} columns of X.")
    if wanted <= rank:
        return wanted, []
    note = f"rows differ in {rank} dimensions only, so {rank} axes are found instead of {wanted}"
    return rank, [note]
