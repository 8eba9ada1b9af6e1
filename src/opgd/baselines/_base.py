"""Base class of baselines whose classes are Gaussians."""

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
from opgd.core.engines import Engine, RowEngine
from opgd.core.gaussians import FORMS
from opgd.core.moments import Moments
from opgd.core.objective import Objective
from opgd.core.targets import Labeled
from opgd.core.types import AnyArray, FloatArray


@dataclass(frozen=True)
class Task:
    """Training data of a baseline: prepared samples, class labels and priors."""

    prepared: Prepared
    classes: AnyArray  # (K,), labels
    priors: FloatArray  # (K,)


@dataclass(frozen=True)
class Solution:
    """Gaussians of a method, and the directions on which they are projected."""

    problem: Problem
    directions: FloatArray  # (q, R)
    attributes: dict[str, Any] = field(default_factory=dict)  # further fitted attributes
    notes: list[str] = field(default_factory=list)  # for the user


class Baseline(GaussianClassifier):
    """Base class of Gaussian discriminants that are computed from class moments.

    A subclass implements `_solve`, which returns its Gaussians and projection directions.
    """

    priors: Any
    _advice = ""
    """Names of the parameters that regularize covariances, for warnings."""

    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels, all of one type.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A weight of 2 is equivalent to repeating the sample; samples of weight 0
            are ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._check_parameters()
        X, classes, codes, weights = self._check_labeled(X, y, sample_weight)
        with one_blas_thread():
            prepared = self._prepare(RowEngine(X, codes, weights), len(classes))
            priors = check_priors(self.priors, classes, prepared.classes.priors)
            solution = self._solve(Task(prepared, classes, priors))
            attributes = describe_gaussians(solution.problem, solution.directions)
        attributes |= solution.attributes | {"classes_": classes, "priors_": priors}
        labels, columns = [str(label) for label in classes], self._column_names()
        warn_about_data(solution.problem, labels, columns, solution.notes, advice=self._advice)
        self._store(attributes)
        return self

    def _check_parameters(self) -> None:
        """Raise an error that names the parameter if one is invalid."""

    def _prepare(self, engine: Engine, n_classes: int) -> Prepared:
        """Return standardized samples and moments of the classes."""
        return prepare(engine, n_classes)

    def _solve(self, task: Task) -> Solution:
        """Return the Gaussians of the method and their directions."""
        raise NotImplementedError


def build_problem(
    task: Task,
    coordinates: Coordinates,
    moments: Moments,
    form: str,
    borrowed: FloatArray,
    within_borrowed: float = 0.0,
    log_factors: FloatArray | float = 0.0,
) -> Problem:
    """Return the problem with one Gaussian per class, given by moments in some coordinates.

    `log_factors` (K,) are added to the log joint densities.
    """
    frame, gaussian_classes = task.prepared.frame, np.arange(moments.n_groups)
    objective = Objective(
        frame.engine,
        frame.engine_matrix(coordinates),
        moments,
        np.log(task.priors) + log_factors,
        FORMS[form],
        Labeled(gaussian_classes),
    )
    return Problem(
        frame,
        coordinates,
        moments,
        objective,
        gaussian_classes,
        task.priors,
        borrowed,
        within_borrowed,
    )


def count_components(
    n_components: Any, frame: Frame, rank: int, default: int | None = None
) -> tuple[int, list[str]]:
    """Return the number of components, and a note if the rank allows fewer than requested.

    None means `default`, or the rank if there is no default.
    """
    check_n_components(n_components, len(frame.center))
    if n_components is None:
        n_components = rank if default is None else default
    return limit_n_components(n_components, rank)
