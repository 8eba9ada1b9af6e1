"""What displays read from fitted estimators."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from opgd._base.gaussian import GaussianClassifier, GaussianModel
from opgd._base.projection import AxesMixin
from opgd._utils.labels import codes_among, is_missing, label_array
from opgd.core.gaussians import ProjectedGaussians
from opgd.core.types import AnyArray, FloatArray, IntArray


def has_gaussians_on_axes(estimator: Any) -> bool:
    """Whether this is an estimator of ours with what displays and reports draw."""
    return isinstance(estimator, AxesMixin) and isinstance(estimator, GaussianModel)


def check_has_axes(estimator: Any) -> None:
    """Refuse what has no axes, or no Gaussians on them, and what is not fitted."""
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


def chosen_axes(axes: Any, n_components: int) -> list[int]:
    """Indices of axes that the model has, each once."""
    numbers = [axes] if isinstance(axes, Integral) else list(axes)
    for axis in numbers:
        if not isinstance(axis, Integral) or not 0 <= int(axis) < n_components:
            last = n_components - 1
            raise ValueError(f"axes must be among 0, ..., {last}, got {axis!r}.")
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"axes must be one or several different numbers, got {axes!r}.")
    return [int(axis) for axis in numbers]


def plane_gaussians(estimator: Any, axes: list[int]) -> ProjectedGaussians:
    """The model's Gaussians on some of its axes, the others integrated out.

    Means are in the units of `transform`, covariances (C, len(axes), len(axes)).
    """
    variances = estimator.projected_variances_
    if variances.ndim == 2:
        covariances = variances[:, axes, None] * np.eye(len(axes))
    else:
        covariances = variances[:, axes][:, :, axes]
    log_priors = estimator._projection.gaussians.log_priors
    return ProjectedGaussians(log_priors, estimator.projected_means_[:, axes], covariances)


def gaussian_groups(estimator: Any) -> IntArray:
    """The class (or cluster) of each Gaussian, (C,)."""
    each = np.arange(len(estimator.projected_means_))
    return np.asarray(getattr(estimator, "gaussian_classes_", each), dtype=np.intp)


def group_names(estimator: Any) -> list[str]:
    """Names of the classes or clusters, in full."""
    if isinstance(estimator, GaussianClassifier):
        return [str(label) for label in estimator.classes_.tolist()]
    return [f"cluster {k}" for k in range(len(estimator.projected_means_))]


def class_codes(estimator: GaussianClassifier, y: Any) -> IntArray:
    """Codes of labels among the classes, -1 for those that are missing or of no class."""
    unlabeled = getattr(estimator, "unlabeled", np.nan)
    return codes_among(label_array(y), estimator.classes_, unlabeled)


def encode_any(y: Any) -> tuple[list[str], IntArray]:
    """Names and codes of labels that no model knows, -1 for missing ones."""
    labels = label_array(y)
    missing = is_missing(labels, np.nan)
    known = list(dict.fromkeys(labels[~missing].tolist()))
    try:
        known.sort()
    except TypeError:  # labels of several types
        known.sort(key=str)
    return [str(label) for label in known], codes_among(labels, np.array(known, object), np.nan)


def checked_rows(estimator: Any, X: Any, y: Any = None) -> AnyArray:
    """Rows as an array of numbers; labels must be as many.

    The estimator's own methods get X itself, with the names of its columns.
    """
    rows: AnyArray = estimator._check_rows(X)
    if y is not None:
        check_consistent_length(rows, y)
    return rows


def axis_names(estimator: Any, axes: list[int]) -> list[str]:
    """Labels of axes, counted from one, with what each is worth where the model knows."""
    shares = getattr(estimator, "component_shares_", None)
    if shares is None:
        return [f"axis {axis + 1}" for axis in axes]
    what = "likelihood" if isinstance(estimator, GaussianClassifier) else "objective"
    return [f"axis {a + 1} ({percentage(shares[a])} of the {what} gain)" for a in axes]


def percentage(share: float) -> str:
    """A share in words of at most two figures."""
    if 0 < share < 0.005:
        return "< 1 %"
    return f"{100 * share:.0f} %".replace("-0 %", "0 %")


def column_names(estimator: Any) -> list[str]:
    """Names of the columns, in full."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"column {j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def standardised_coefficients(estimator: Any) -> FloatArray:
    """Coefficients times the standard deviations of the training columns, (q, p)."""
    coefficients: FloatArray = estimator.components_ * estimator._coordinates.scale
    return coefficients


def correlations(X: AnyArray, components: FloatArray) -> FloatArray:
    """Correlations of scores and columns, (q, p); nan where one of them is constant."""
    columns = np.asarray(X, dtype=np.float64)
    columns = columns - columns.mean(axis=0)  # scores of centred rows keep their digits
    scores = columns @ components.T
    spread = np.sqrt(np.mean(columns**2, axis=0))
    # a constant column leaves rounding errors of its mean
    spread[spread <= 8 * np.finfo(X.dtype).eps * np.abs(X).max(axis=0)] = np.nan
    score_spread = np.sqrt(np.mean(scores**2, axis=0))
    score_spread[score_spread == 0] = np.nan
    products: FloatArray = scores.T @ columns / len(columns)
    return np.clip(products / (score_spread[:, None] * spread), -1.0, 1.0)
