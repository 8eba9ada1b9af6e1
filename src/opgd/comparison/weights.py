"""How sample weights are passed to classifiers, pipelines and searches."""

from typing import Any

from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from opgd.core.types import AnyArray, FloatArray

SEARCHES = (GridSearchCV, RandomizedSearchCV)
"""Searches whose `fit` passes its parameters on to the classifier."""


def uses_weights(estimator: Any) -> bool:
    """Return whether the classifier itself, not only a step before it, uses sample weights."""
    if isinstance(estimator, Pipeline):
        return uses_weights(estimator.steps[-1][1])
    if not hasattr(estimator, "fit"):  # "passthrough"
        return False
    takes_weights = isinstance(estimator, SEARCHES) or has_fit_parameter(estimator, "sample_weight")
    inner = getattr(estimator, "estimator", None)
    return takes_weights and (inner is None or uses_weights(inner))


def make_weight_params(estimator: Any, weights: Any) -> dict[str, Any]:
    """Return the keyword arguments of `fit` that pass the weights to every step that uses them."""
    if weights is None or not uses_weights(estimator):
        return {}
    if isinstance(estimator, SEARCHES):
        return make_weight_params(estimator.estimator, weights)
    if not isinstance(estimator, Pipeline):
        return {"sample_weight": weights}
    return {
        f"{name}__{key}": value
        for name, step in estimator.steps
        for key, value in make_weight_params(step, weights).items()
    }


def take_weights(weights: FloatArray | None, indices: AnyArray) -> Any:
    """Return the weights of some samples, None without weights."""
    return None if weights is None else weights[indices]
