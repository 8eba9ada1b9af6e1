"""Checks of the constructor parameters of a mixture."""

from collections.abc import Iterable
from numbers import Number
from typing import Any

from opgd._fit.mixture_init import MIXTURE_INITS
from opgd._fit.refinement import METRICS
from opgd._utils.validation import (
    check_choice,
    check_integer,
    check_n_components,
    check_n_jobs,
    check_positive,
    check_share,
    check_sparsity,
)

CRITERIA = ["bic", "icl", "aic"]


def check_mixture_parameters(estimator: Any) -> list[int]:
    """Check the parameters of an `OPGDMixture`; return numbers of clusters, none for "auto"."""
    if isinstance(estimator.n_clusters, str) and estimator.n_clusters != "auto":
        raise ValueError(
            f"n_clusters must be a number, several numbers or 'auto', got {estimator.n_clusters!r}."
        )
    several = isinstance(estimator.n_clusters, Iterable)
    values = [] if estimator.n_clusters == "auto" else [estimator.n_clusters]
    values = list(estimator.n_clusters) if several and values else values
    numbers = list(dict.fromkeys(check_integer("n_clusters", value, 1) for value in values))
    if not numbers and not isinstance(estimator.n_clusters, str):
        raise ValueError("n_clusters is empty; pass at least one number of clusters.")
    check_n_components(estimator.n_components)
    check_choice("covariance_type", estimator.covariance_type, ["diag", "full"])
    check_choice("metric", estimator.metric, METRICS)
    check_positive("orthogonality", estimator.orthogonality, or_zero=True)
    if isinstance(estimator.init, str | Number | None):
        check_choice("init", estimator.init, MIXTURE_INITS)
    check_integer("n_init", estimator.n_init, 1)
    check_integer("n_rounds", estimator.n_rounds, 1)
    if estimator.shrinkage != "auto":
        check_share("shrinkage", estimator.shrinkage, word="auto")
    check_positive("regularization", estimator.regularization, or_zero=True)
    check_choice("criterion", estimator.criterion, CRITERIA)
    if estimator.merge is not None:
        check_integer("merge", estimator.merge, 1)
    if not isinstance(estimator.noise, bool):
        check_share("noise", estimator.noise)
    check_sparsity(estimator.sparsity)
    check_integer("max_iter", estimator.max_iter)
    check_positive("tol", estimator.tol)
    check_integer("verbose", estimator.verbose)
    check_n_jobs(estimator.n_jobs)
    return numbers
