"""What pictures and reports read from fitted estimators.

Private attributes of estimators are used in this module alone; the rest of `inspection`,
`plotting` and `report` calls the functions below.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from opgd._base.gaussian import GaussianClassifier, GaussianModel
from opgd._base.projection import AxesMixin
from opgd._model_selection.n_components import predict_by_first_components
from opgd.core.gaussians import ProjectedGaussians
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.labels import encode_classes


def has_gaussians_on_axes(estimator: Any) -> bool:
    """Return whether this is an estimator of ours that displays and reports can draw."""
    return isinstance(estimator, AxesMixin) and isinstance(estimator, GaussianModel)


def has_classes(estimator: Any) -> bool:
    """Return whether the Gaussians stand for classes, not for clusters."""
    return isinstance(estimator, GaussianClassifier)


def check_has_axes(estimator: Any) -> None:
    """Refuse an estimator without axes, without Gaussians on them, or not fitted."""
    if not isinstance(estimator, AxesMixin):
        advice = ""
        if hasattr(estimator, "steps"):
            advice = "; of a pipeline, pass the last step, and rows as that step sees them"
        elif hasattr(estimator, "best_estimator_"):
            advice = "; of a search, pass its best_estimator_"
        raise TypeError(
            f"{type(estimator).__name__} is no estimator of opgd that has axes{advice}."
        )
    if not has_gaussians_on_axes(estimator):
        raise TypeError(
            f"{type(estimator).__name__} has axes, but no Gaussians on all of them together, "
            "which is what displays and reports draw."
        )
    check_is_fitted(estimator)


def check_axes(axes: Any, n_components: int) -> list[int]:
    """Return the indices of axes as a list; each must exist and occur once."""
    numbers = [axes] if isinstance(axes, Integral) else list(axes)
    for axis in numbers:
        if not isinstance(axis, Integral) or not 0 <= int(axis) < n_components:
            last = n_components - 1
            raise ValueError(f"axes must be among 0, ..., {last}, got {axis!r}.")
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"axes must be one or several different numbers, got {axes!r}.")
    return [int(axis) for axis in numbers]


def check_rows(estimator: Any, X: Any, y: Any = None) -> AnyArray:
    """Return X as an array of numbers; y must have as many labels.

    Public methods of the estimator are called with X itself, which has the names of its columns.
    """
    rows: AnyArray = estimator._check_rows(X)
    if y is not None:
        check_consistent_length(rows, y)
    return rows


def get_group_names(estimator: Any) -> list[str]:
    """Return the names of the classes or clusters, in full."""
    if has_classes(estimator):
        return [str(label) for label in estimator.classes_.tolist()]
    return [f"cluster {k}" for k in range(len(estimator.projected_means_))]


def get_column_names(estimator: Any) -> list[str]:
    """Return the names of the columns, in full."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"column {j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def get_center(estimator: Any) -> FloatArray:
    """Return the point that is subtracted from rows before they are projected, (p,)."""
    center: FloatArray = estimator._coordinates.center
    return center


def get_feature_scale(estimator: Any) -> FloatArray:
    """Return the standard deviations of the training columns, (p,)."""
    scale: FloatArray = estimator._coordinates.scale
    return scale


def get_log_priors(estimator: Any) -> FloatArray:
    """Return the log probabilities of the Gaussians, (C,)."""
    log_priors: FloatArray = estimator._projection.gaussians.log_priors
    return log_priors


def get_gaussian_groups(estimator: Any) -> IntArray:
    """Return the class (or cluster) of each Gaussian, (C,)."""
    each = np.arange(len(estimator.projected_means_))
    return np.asarray(getattr(estimator, "gaussian_classes_", each), dtype=np.intp)


def select_gaussians(estimator: Any, axes: list[int]) -> ProjectedGaussians:
    """Return the Gaussians on some axes of the model, the others integrated out.

    Means are in the units of `transform`, covariances (C, len(axes), len(axes)).
    """
    variances = estimator.projected_variances_
    if variances.ndim == 2:
        covariances = variances[:, axes, None] * np.eye(len(axes))
    else:
        covariances = variances[:, axes][:, :, axes]
    means = estimator.projected_means_[:, axes]
    return ProjectedGaussians(get_log_priors(estimator), means, covariances)


def standardize_rows(estimator: Any, rows: AnyArray) -> FloatArray:
    """Subtract the center of the model and divide by the training standard deviations, (n, p)."""
    centered = np.asarray(rows, dtype=np.float64) - get_center(estimator)
    standardized: FloatArray = centered / get_feature_scale(estimator)
    return standardized


def predict_codes(classifier: Any, X: Any) -> IntArray:
    """Return the index of the most probable class of each row, (n,)."""
    return np.argmax(classifier._class_log_joint(X), axis=1)


def copy_temperature(source: Any, target: Any) -> None:
    """Give the class probabilities of one classifier the temperature of another."""
    target._set_temperature(source._projection.temperature)


def compute_first_components_errors(classifier: Any, X: Any, y: Any) -> FloatArray:
    """Compute the share of labeled rows that the first 1, 2, ... axes misclassify, (q,)."""
    rows = check_rows(classifier, X, y)
    codes = encode_classes(classifier, y)
    labeled = codes >= 0
    if not labeled.any():
        raise ValueError("y has no labels of the estimator's classes.")
    predicted = predict_by_first_components(classifier, rows)
    return np.array([np.mean((found != codes)[labeled]) for found in predicted])
