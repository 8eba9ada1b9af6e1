"""Base class of all estimators, and a decorator that undoes failed fits."""

import functools
from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from opgd._utils.features import validate_features
from opgd.core.types import AnyArray

OPTIONAL = (
    "_held_out",
    "feature_order_",
    "sparsity_path_",
    "noise_share_",
    "noise_log_density_",
    "noise_scales_",
    "noise_degrees_",
)
"""Fitted attributes that not every fit sets."""


def restore_on_failure(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate `fit` so that a failure or an interrupt leaves the estimator unchanged.

    Attributes of an earlier fit that this one may not set are dropped.
    """

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.__dict__.copy()
        for name in OPTIONAL:
            self.__dict__.pop(name, None)
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return guarded


class BaseModel(BaseEstimator):
    """Base class of estimators, with validation of samples at prediction."""

    _allow_missing = False
    """Whether samples may have missing values (nan)."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allow_missing
        return tags

    def _column_names(self) -> list[str]:
        """Return the names of the features for messages."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"column {j}" for j in range(self.n_features_in_)]
        return [repr(name) for name in names]

    def _check_rows(self, X: Any) -> AnyArray:
        """Return validated samples; raise an error if the estimator is not fitted."""
        check_is_fitted(self)
        return validate_features(self, X, reset=False, allow_nan=self._allow_missing)
