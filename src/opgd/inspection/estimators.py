"""Access to fitted estimators for plots and reports.

This is the only module of `inspection`, `plotting` and `report` that uses private attributes of
estimators.
"""

from copy import copy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from opgd._base.gaussian import GaussianClassifier
from opgd._base.projection import ProjectionMixin
from opgd._dask.lazy import compute_eagerly
from opgd._model_selection.n_components import predict_by_first_components
from opgd._model_selection.names import name_model
from opgd._utils.validation import count_kept
from opgd.classifier import OPGDClassifier
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import ProjectedGaussians
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.labels import encode_classes

MAX_STANDARDIZED = 1e100
"""Maximum absolute value of standardized samples, whose squares must be finite."""


def has_axes(estimator: Any) -> bool:
    """Return whether displays and reports support the estimator."""
    return isinstance(estimator, ProjectionMixin)


def has_classes(estimator: Any) -> bool:
    """Return whether the estimator is a classifier, not a mixture."""
    return isinstance(estimator, GaussianClassifier)


def get_initial_labels(mixture: Any, n_rows: int) -> IntArray | None:
    """Return the initial clusters of a mixture, None if it was fitted to another number of rows."""
    if mixture.initial_labels_.shape[0] != n_rows:  # nan if a Dask array has unknown lengths
        return None
    labels: IntArray = compute_eagerly(mixture.initial_labels_)
    return labels


def check_has_axes(estimator: Any, *, in_pipeline: bool = False) -> None:
    """Raise an error unless this is a fitted estimator with components."""
    if not has_axes(estimator):
        held = [name for name in ("best_estimator_", "estimator_") if hasattr(estimator, name)]
        advice = f" Pass its {held[0]}." if held else ""
        place = "a Pipeline that ends in " if in_pipeline else ""
        raise TypeError(
            "Expected a fitted opgd estimator with components (axes), or a Pipeline that ends in "
            f"one, got {place}{type(estimator).__name__}.{advice}"
        )
    check_is_fitted(estimator)


def check_has_method(estimator: Any, name: str) -> None:
    """Raise TypeError unless an estimator has a method that only some of opgd have."""
    if not hasattr(estimator, name):
        raise TypeError(
            f"Expected a fitted opgd classifier with {name}, or a Pipeline that ends in one, got "
            f"{type(estimator).__name__}."
        )


def get_fitted(estimator: Any, name: str, expected: str) -> Any:
    """Return a fitted attribute that only `expected` estimators have, or raise an error."""
    check_is_fitted(estimator)
    if not hasattr(estimator, name):
        raise TypeError(
            f"Expected a fitted {expected}, or a Pipeline that ends in one, got "
            f"{type(estimator).__name__}."
        )
    return getattr(estimator, name)


def check_axes(axes: Any, n_components: int) -> list[int]:
    """Return indices of axes as a list; raise ValueError unless they exist and are distinct."""
    numbers = [axes] if isinstance(axes, Integral) else list(axes)
    for axis in numbers:
        if not isinstance(axis, Integral) or not 0 <= int(axis) < n_components:
            last = n_components - 1
            raise ValueError(f"axes must be integers from 0 to {last}, got {axis!r}.")
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"axes must be one or more distinct integers, got {axes!r}.")
    return [int(axis) for axis in numbers]


def check_rows(estimator: Any, X: Any, y: Any = None) -> AnyArray:
    """Return X as a numeric array; raise ValueError if y has another length.

    Pass the original X, not this array, to public methods of the estimator: it may have feature
    names.
    """
    rows: AnyArray = estimator._check_rows(X)
    if y is not None:
        check_consistent_length(rows, y)
    return rows


def name_columns(estimator: Any, names: list[str]) -> Any:
    """Return a shallow copy of a fitted estimator whose columns have names in displays."""
    named = copy(estimator)
    named._display_names = names
    return named


def get_group_names(estimator: Any) -> list[str]:
    """Return the names of the classes or clusters, not shortened."""
    if has_classes(estimator):
        return [str(label) for label in estimator.classes_.tolist()]
    return [f"cluster {k}" for k in range(estimator.n_clusters_)]


def name_fitted_model(estimator: Any) -> str:
    """Return the name of the fitted model, such as "LDA" or "OPGD, 2 components".

    Estimators that are not a special case of OPGDClassifier are named by their class.
    """
    if hasattr(estimator, "summary_"):
        return str(estimator.summary_.model)
    if type(estimator) is not OPGDClassifier:
        return type(estimator).__name__
    n_features = estimator.n_features_in_
    n_kept = count_kept(estimator.sparsity, n_features)
    params = estimator.get_params(deep=False) | {
        "n_components": estimator.n_components_,
        "sparsity": n_kept if n_kept < n_features else 0,
    }
    return name_model(params, estimator._coordinates.rank, len(estimator.classes_))


def get_column_names(estimator: Any) -> list[str]:
    """Return the names of the columns, not shortened."""
    names = getattr(estimator, "_display_names", getattr(estimator, "feature_names_in_", None))
    if names is None:
        return [f"column {j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def get_center(estimator: Any) -> FloatArray:
    """Return the point that the estimator subtracts before it projects rows, (p,)."""
    center: FloatArray = estimator._coordinates.center
    return center


def get_feature_scale(estimator: Any) -> FloatArray:
    """Return the standard deviations of the training columns, (p,)."""
    scale: FloatArray = estimator._coordinates.scale
    return scale


def get_log_priors(estimator: Any) -> FloatArray:
    """Return the log prior probabilities of the Gaussians, (C,)."""
    log_priors: FloatArray = estimator._projection.gaussians.log_priors
    return log_priors


def get_gaussian_groups(estimator: Any) -> IntArray:
    """Return the class (or cluster) of each Gaussian, (C,)."""
    default = np.arange(len(estimator.projected_means_))  # one Gaussian per class or cluster
    return np.asarray(getattr(estimator, "gaussian_classes_", default), dtype=np.intp)


def select_gaussians(estimator: Any, axes: list[int]) -> ProjectedGaussians:
    """Return the marginal Gaussians on some axes of the model.

    Means are in the units of `transform`; covariances have shape (C, len(axes), len(axes)).
    """
    variances = estimator.projected_variances_
    if variances.ndim == 2:
        covariances = variances[:, axes, None] * np.eye(len(axes))
    else:
        covariances = variances[:, axes][:, :, axes]
    means = estimator.projected_means_[:, axes]
    return ProjectedGaussians(get_log_priors(estimator), means, covariances)


def complete_rows(estimator: Any, rows: AnyArray) -> AnyArray:
    """Replace missing values by their conditional means given the other columns."""
    projection: FittedProjection | None = getattr(estimator, "_projection", None)
    return rows if projection is None else projection.complete(rows)


def standardize_rows(estimator: Any, rows: AnyArray) -> FloatArray:
    """Subtract the center of the model and divide by the training standard deviations, (n, p).

    Values are clipped to +-1e100, so that their squares are finite.
    """
    limits = MAX_STANDARDIZED * get_feature_scale(estimator)
    centered = np.asarray(rows, dtype=np.float64) - get_center(estimator)
    standardized: FloatArray = centered.clip(-limits, limits) / get_feature_scale(estimator)
    return standardized


def predict_codes(classifier: Any, X: Any) -> IntArray:
    """Return the index of the most probable class of each row, (n,)."""
    return np.argmax(classifier._class_log_joint(X), axis=1)


def is_calibrated(estimator: Any) -> bool:
    """Return whether the class probabilities were calibrated to held-out rows."""
    projection = estimator._projection
    return bool(projection.temperature != 1 or projection.background)


def copy_calibration(source: Any, target: Any) -> None:
    """Calibrate the class probabilities of `target` like those of `source`."""
    projection = source._projection
    target._set_calibration(projection.temperature, projection.background)


def compute_first_components_errors(classifier: Any, X: Any, y: Any) -> FloatArray:
    """Compute the error on labeled rows with the first 1, 2, ... components, (q,)."""
    rows = check_rows(classifier, X, y)
    codes = encode_classes(classifier, y)
    labeled = codes >= 0
    if not labeled.any():
        raise ValueError("None of the labels in y is a class of the estimator (classes_).")
    predicted = predict_by_first_components(classifier, rows)
    return np.array([np.mean((prediction != codes)[labeled]) for prediction in predicted])
