"""Fitting a projection to classes: what the labelled and the partly labelled estimator share."""

from collections.abc import Callable
from typing import Any

import numpy as np

from opgd._base.gaussian import AxesMixin, GaussianClassifier
from opgd._fit.problem import (
    STARTS,
    Prepared,
    Problem,
    first_guesses,
    fitted_attributes,
    ordered_attributes,
    pose,
    search,
    warn_of_data,
)
from opgd._utils.callbacks import CallbackSupportMixin, FitProgress
from opgd._utils.validation import (
    check_choice,
    check_components_init,
    check_flag,
    check_integer,
    check_n_jobs,
    check_positive,
    check_priors,
    check_share,
)
from opgd.core.types import AnyArray, FloatArray, IntArray


class ProjectionClassifier(AxesMixin, CallbackSupportMixin, GaussianClassifier):
    """A classifier with the parameters of the search for a projection."""

    n_components: int | None
    covariance_type: str
    shrinkage: float | str
    ridge: float
    priors: Any
    init: Any
    n_init: int
    max_iter: int
    tol: float
    n_jobs: int | None
    subsample: bool
    verbose: int

    def _goes_on(self) -> bool:
        """Whether a fit begins with the axes of the last one."""
        return False

    def _check_parameters(self) -> None:
        if self.n_components is not None:
            check_integer("n_components", self.n_components, 1)
        check_choice("covariance_type", self.covariance_type, ["diag", "full"])
        if self.shrinkage != "auto":
            check_share("shrinkage", self.shrinkage, word="auto")
        check_share("ridge", self.ridge)
        if isinstance(self.init, str) or np.ndim(self.init) == 0:
            check_choice("init", self.init, STARTS)
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        check_integer("verbose", self.verbose)
        check_flag("subsample", self.subsample)
        check_n_jobs(self.n_jobs)

    def _check_n_components(self, n_features: int) -> None:
        if self.n_components is not None and self.n_components > n_features:
            raise ValueError(
                f"n_components={self.n_components} is more than the {n_features} columns of X."
            )

    def _find_axes(
        self,
        prepared: Prepared,
        classes: AnyArray,
        numbers: IntArray,
        rng: np.random.RandomState,
        data: dict[str, Any],
        extra: Callable[[dict[str, Any]], dict[str, Any]] = lambda found: {},  # noqa: ARG005
    ) -> None:
        """Search, put in order, and set the fitted attributes.

        `numbers` of Gaussians by class; `data` is what callbacks may ask for; `extra` makes further
        attributes of those that were found.
        """
        problem, constants = self._pose(prepared, classes, numbers)
        progress = FitProgress(
            self,
            data,
            lambda directions: constants | fitted_attributes(problem, directions),
            # no more than two guesses race before the first search goes on from one of them
            (self.n_init + 1) * self.max_iter,
        )
        n_components, notes = self._count_axes(problem, len(classes))
        total_weight = problem.objective.engine.total_weight
        result = search(
            problem,
            self._first_guesses(problem, n_components, rng),
            max_iter=self.max_iter,
            tol=self.tol,
            n_random=self.n_init - 1,
            rng=rng,
            on_iteration=progress.reporter(self.verbose, total_weight, "log-likelihood"),
            # axes that somebody gave are a better beginning than a sample's
            subsample=self.subsample and isinstance(self.init, str) and not self._goes_on(),
        )
        directions, summary = ordered_attributes(problem, result)
        attributes = constants | fitted_attributes(problem, directions) | summary
        attributes |= extra(attributes)
        warn_of_data(problem, [str(label) for label in classes], self._column_names(), notes)
        self.__dict__.update(attributes)
        progress.finish(attributes)

    def _pose(
        self, prepared: Prepared, classes: AnyArray, numbers: IntArray
    ) -> tuple[Problem, dict[str, Any]]:
        """The problem for the core, and the fitted attributes that no search changes."""
        priors = check_priors(self.priors, classes, prepared.classes.priors)
        problem = pose(
            prepared,
            priors,
            numbers=numbers,
            covariance_type=self.covariance_type,
            shrinkage=self.shrinkage,
            ridge=self.ridge,
        )
        return problem, {
            "classes_": classes,
            "priors_": priors,
            "_covariance_type": self.covariance_type,
            "_temperature": 1.0,
        }

    def _count_axes(self, problem: Problem, n_classes: int) -> tuple[int, list[str]]:
        rank, wanted = problem.coordinates.rank, self.n_components
        if wanted is None and not isinstance(self.init, str):
            wanted = len(self.init)
        if wanted is None:
            return min(rank, max(2, n_classes - 1)), []
        if wanted <= rank:
            return wanted, []
        note = f"rows differ in {rank} dimensions only, so {rank} axes are found"
        return rank, [f"{note} instead of {wanted}"]

    def _first_guesses(
        self, problem: Problem, n_components: int, rng: np.random.RandomState
    ) -> list[FloatArray]:
        init = self.init
        if not isinstance(init, str):
            init = check_components_init(init, self.n_components, self.n_features_in_)
        return first_guesses(problem, init, n_components, rng)
