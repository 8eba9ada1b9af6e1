"""Numbers of features that were compared, and the features that a model uses."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class FeaturePath:
    """Error on held-out samples by number of features.

    Attributes
    ----------
    n_features : ndarray of shape (n_sizes,)
        Numbers of features that were compared, ascending.
    errors : ndarray of shape (n_sizes,)
        Error rate of the best model with each number.
    standard_errors : ndarray of shape (n_sizes,)
        Standard errors of the error rates.
    selected : int
        Index of the selected number.
    n_available : int
        Number of all features.
    """

    n_features: IntArray
    errors: FloatArray
    standard_errors: FloatArray
    selected: int
    n_available: int


def has_selected_features(estimator: Any) -> bool:
    """Return whether a fitted model was asked to use some of its features only."""
    return getattr(estimator, "feature_order_", None) is not None


def get_feature_path(estimator: Any) -> FeaturePath | None:
    """Return the comparison of numbers of features, None if there was none."""
    path = getattr(estimator, "sparsity_path_", None)
    if path is None:
        return None
    order = np.argsort(path["n_features"], kind="stable")
    return FeaturePath(
        n_features=np.asarray(path["n_features"], dtype=np.intp)[order],
        errors=np.asarray(path["mean_test_error"], dtype=np.float64)[order],
        standard_errors=np.asarray(path["se_test_error"], dtype=np.float64)[order],
        selected=int(np.argmax(np.asarray(path["selected"])[order])),
        n_available=int(estimator.n_features_in_),
    )


def list_used_features(estimator: Any) -> IntArray:
    """Return the indices of the features that components use, in the order of their selection."""
    used: AnyArray = np.asarray(estimator.support_)
    order = np.asarray(estimator.feature_order_, dtype=np.intp)
    return order[used[order]]
