"""Base class of classifiers that search for a projection."""

from contextlib import suppress
from typing import Any

import numpy as np

from opgd._base.gaussian import GaussianClassifier, describe_projection
from opgd._base.projection import ProjectionMixin
from opgd._fit.exploration import MAX_RUNS
from opgd._fit.initialization import COMPONENT_INITS, Start, has_names, make_starts
from opgd._fit.normal_form import describe_gaussians, order_result
from opgd._fit.problem import Problem, default_n_components, limit_n_components
from opgd._fit.search import SearchResult, search
from opgd._utils.callbacks import CallbackSupportMixin, FitProgress
from opgd._utils.validation import (
    check_choice,
    check_components_init,
    check_integer,
    check_n_components,
    check_n_jobs,
    check_positive,
    check_share,
)
from opgd.core.types import AnyArray, FloatArray


class ProjectionClassifier(ProjectionMixin, CallbackSupportMixin, GaussianClassifier):
    """Classifier with the parameters of the search for a projection."""

    _allow_missing = True

    n_components: int | None
    covariance_type: str
    shrinkage: float | str
    ridge: float | str
    priors: Any
    init: Any
    n_init: int
    max_iter: int
    tol: float
    n_jobs: int | None
    verbose: int

    def _check_parameters(self) -> None:
        """Raise TypeError or ValueError for parameters of a wrong type or value."""
        check_n_components(self.n_components)
        check_choice("covariance_type", self.covariance_type, ["diag", "full"])
        if self.shrinkage != "auto":
            check_share("shrinkage", self.shrinkage, word="auto")
        if self.ridge != "auto":
            check_share("ridge", self.ridge, word="auto")
        self._check_init()
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        check_integer("verbose", self.verbose)
        check_n_jobs(self.n_jobs)

    def _check_init(self) -> None:
        init = self.init
        if isinstance(init, list | tuple) and has_names(init):
            for name in init:
                check_choice("Each name in init", name, [n for n in COMPONENT_INITS if n != "auto"])
        elif isinstance(init, str) or np.ndim(init) == 0:
            check_choice("init", init, COMPONENT_INITS)

    def _describe(
        self, problem: Problem, classes: AnyArray, directions: FloatArray
    ) -> dict[str, Any]:
        """Return the fitted attributes of a classifier with these directions."""
        gaussians = describe_gaussians(problem, directions)
        attributes = {"classes_": classes, "priors_": problem.priors}
        return attributes | gaussians | describe_projection(self, gaussians["_projection"])

    def _watch(self, problem: Problem, classes: AnyArray, data: dict[str, Any]) -> FitProgress:
        """Return an object that reports iterations to callbacks, to which `data` is passed."""
        return FitProgress(
            self,
            data,
            lambda directions: self._describe(problem, classes, directions),
            (int(self.n_init) + MAX_RUNS) * int(self.max_iter),
        )

    def _optimize(
        self,
        problem: Problem,
        rng: np.random.RandomState,
        progress: FitProgress,
        last: FloatArray | None = None,
    ) -> tuple[FloatArray, dict[str, Any], list[str]]:
        """Search for the components; return ordered directions, fitted attributes and notes.

        `last` are the components of an earlier fit; the search starts from them if their shape is
        right.
        """
        n_components, notes = self._count_components(problem)
        total_weight = problem.objective.engine.total_weight
        result = search(
            problem,
            self._make_starts(problem, n_components, rng, last),
            max_iter=int(self.max_iter),
            tol=self.tol,
            n_random=int(self.n_init) - 1,
            rng=rng,
            on_iteration=progress.reporter(self.verbose, total_weight, "log-likelihood"),
            # given components are a better start than those of a subsample
            subsample=has_names(self.init) and last is None,
        )
        return *summarize_search(problem, result), notes

    def _count_components(self, problem: Problem) -> tuple[int, list[str]]:
        rank, n_requested = problem.coordinates.rank, self.n_components
        if n_requested is None:
            is_array = not has_names(self.init)
            n_requested = (
                len(self.init) if is_array else default_n_components(rank, len(problem.priors))
            )
        if getattr(self, "sparsity", 0) and len(problem.frame.left_out):
            return limit_n_components(n_requested, rank, "The selected features vary")
        return limit_n_components(n_requested, rank)

    def _make_starts(
        self,
        problem: Problem,
        n_components: int,
        rng: np.random.RandomState,
        last: FloatArray | None,
    ) -> list[Start] | int:
        """Return the starts of the search, or the number of components to explore many starts."""
        if last is not None and last.shape == (n_components, self.n_features_in_):
            with suppress(ValueError):  # samples may no longer vary along the last components
                return make_starts(problem, last, n_components, rng)
        init = self.init
        if isinstance(init, str) and init == "auto":
            return int(n_components)  # may be a NumPy integer
        if not has_names(init):
            init = check_components_init(init, self.n_components, self.n_features_in_)
        return make_starts(problem, init, n_components, rng)


def summarize_search(problem: Problem, result: SearchResult) -> tuple[FloatArray, dict[str, Any]]:
    """Return ordered directions and fitted attributes from the result of a search."""
    directions, summary = order_result(problem, result.best)
    return directions, summary | {"search_": result.table, "ridge_": float(problem.ridge)}
