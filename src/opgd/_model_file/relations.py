"""Conditions on several attributes of a model, and sizes derived from them.

A relation returns whether it holds; its message completes "Cannot load ...: its ". Types, shapes
and ranges of single attributes have been checked before.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

MAX_BASIS_CELLS = 2**21
"""Cells of the matrix (16 MB) that evaluates the splines of one feature."""
MAX_POWERS = 64
"""Bound of min(p, degree): a polynomial basis has at least 2 to this power functions."""
MIN_BANDWIDTH, MAX_BANDWIDTH = 1e-50, 1e50
"""Bandwidths in standard deviations for which squared distances of scores are finite."""
TOLERANCE = 1e-6
"""Error of sums of probabilities, from rounding in the fit."""

Attributes = dict[str, Any]


@dataclass(frozen=True)
class Relation:
    """Condition on several attributes of a model."""

    message: str
    holds: Callable[[Attributes], bool]


def _sum_by_class(values: Any, classes: Any, n_classes: int) -> Any:
    return np.bincount(classes, values, n_classes)


def _priors_sum_to_one(fitted: Attributes) -> bool:
    return abs(float(fitted["priors_"].sum()) - 1.0) <= TOLERANCE


def _log_priors_match_priors(fitted: Attributes) -> bool:
    priors = fitted["priors_"]
    weights = np.exp(fitted["_projection.gaussians.log_priors"])
    by_class = _sum_by_class(weights, fitted["_projection.gaussian_classes"], len(priors))
    return bool(np.allclose(by_class, priors, rtol=1e-3, atol=TOLERANCE))


def _log_priors_match_weights(fitted: Attributes) -> bool:
    weights = np.exp(fitted["_projection.gaussians.log_priors"])
    by_cluster = np.bincount(fitted["_projection.gaussian_classes"], weights)
    return bool(np.allclose(by_cluster / weights.sum(), fitted["weights_"], atol=TOLERANCE))


def _noise_is_complete(fitted: Attributes) -> bool:
    names = "noise_share_", "noise_log_density_", "noise_scales_", "noise_degrees_"
    return len({name in fitted for name in names}) == 1


def _weights_sum_to_one(fitted: Attributes) -> bool:
    return abs(float(fitted["weights_"].sum()) - 1.0) <= TOLERANCE


def _variances_match_form(fitted: Attributes) -> bool:
    n_axes = {"diag": 2, "full": 3}[fitted["_projection.form"]]
    return bool(fitted["_projection.gaussians.variances"].ndim == n_axes)


def _covariances_are_definite(fitted: Attributes) -> bool:
    covariances = fitted["_projection.gaussians.variances"]
    if covariances.ndim == 2:
        return True
    largest = np.abs(covariances).max()
    if np.abs(covariances - covariances.transpose(0, 2, 1)).max() > TOLERANCE * largest:
        return False
    try:
        np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        return False
    return True


def _projection_fits_in_space(fitted: Attributes) -> bool:
    n_components, n_features = fitted["_projection.components"].shape
    return bool(n_components <= n_features >= fitted["_coordinates.basis"].shape[1])


def _rest_is_orthogonal(fitted: Attributes) -> bool:
    basis, rest = fitted["_coordinates.basis"], fitted.get("_coordinates.rest")
    if rest is None:
        return True
    lengths = np.linalg.norm(rest, axis=0)
    if not np.all(np.isfinite(lengths) & (lengths > 0)):
        return False
    whole = np.hstack([basis, rest / lengths])
    return bool(np.allclose(whole.T @ whole, np.eye(whole.shape[1]), atol=TOLERANCE))


def _transduction_is_of_classes(fitted: Attributes) -> bool:
    classes, labels = fitted["classes_"], fitted["transduction_"]
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return bool(np.all(classes[places] == labels))


def _kernels_are_complete(fitted: Attributes) -> bool:
    names = {"_kernel_scores", "_kernel_classes", "_kernel_log_weights"} & set(fitted)
    if not names:
        return True
    if len(names) < 3 or "variance_" not in fitted:
        return False
    classes = fitted["_kernel_classes"]
    ascending = bool(np.all(np.diff(classes) >= 0))
    return ascending and len(np.unique(classes)) == len(fitted["priors_"])


def _distributions_sum_to_one(fitted: Attributes) -> bool:
    sums = fitted["label_distributions_"].sum(axis=1)
    return bool(np.all(np.abs(sums - 1.0) <= TOLERANCE))


def _each_class_has_samples(fitted: Attributes) -> bool:
    n_classes = len(fitted["priors_"])
    return bool(np.all(np.bincount(fitted["_codes"], minlength=n_classes) > 0))


def _bandwidths_match_scale(fitted: Attributes) -> bool:
    bandwidths, scale = fitted["bandwidths_"], fitted["_scale"]
    ratios = bandwidths[:, scale > 0] / scale[scale > 0]
    inside = np.all((ratios >= MIN_BANDWIDTH) & (ratios <= MAX_BANDWIDTH))
    return bool(inside and not np.any(bandwidths[:, scale == 0]))


def _axis_weights_sum_to_one(fitted: Attributes) -> bool:
    classes, n_classes = fitted["gaussian_classes_"], len(fitted["priors_"])
    sums = [_sum_by_class(weights, classes, n_classes) for weights in fitted["_axis_weights"]]
    return bool(np.all(np.abs(np.array(sums) - 1.0) <= TOLERANCE))


def _basis_has_the_coefficients(fitted: Attributes) -> bool:
    n_functions = fitted["coefficients_"].shape[1]
    (n_knots, n_features), degree = fitted["_basis.knots"].shape, int(fitted["_basis.degree"])
    if fitted["_basis.kind"] == "linear":
        return bool(n_functions == n_features)
    if degree > n_functions:
        return False
    if fitted["_basis.kind"] == "spline":
        return bool(n_functions == n_features * (n_knots + degree - 2))
    if min(n_features, degree) > MAX_POWERS:
        return False
    return bool(n_functions == comb(n_features + degree, degree) - 1)


def _spline_is_small(fitted: Attributes) -> bool:
    if fitted["_basis.kind"] != "spline":
        return True
    n_splines = len(fitted["_basis.knots"]) + int(fitted["_basis.degree"])
    return n_splines**2 <= MAX_BASIS_CELLS


def _knots_ascend(fitted: Attributes) -> bool:
    knots = fitted["_basis.knots"]
    if fitted["_basis.kind"] != "spline":
        return len(knots) == 0
    return len(knots) >= 2 and bool(np.all(np.diff(knots, axis=0) > 0))


def _best_index_is_in_results(fitted: Attributes) -> bool:
    return bool(fitted["best_index_"] < len(fitted["cv_results_"]["params"]))


def _features_are_those_of_best(fitted: Attributes) -> bool:
    best = vars(fitted["best_estimator_"])
    same_names = np.array_equal(
        fitted.get("feature_names_in_", ()), best.get("feature_names_in_", ())
    )
    return bool(fitted["n_features_in_"] == best["n_features_in_"]) and same_names


PRIORS = Relation("priors_ do not sum to one", _priors_sum_to_one)
WEIGHTS = Relation("weights_ do not sum to one", _weights_sum_to_one)
PROJECTION = (
    Relation(
        "projected variances do not have the shape of its covariance type", _variances_match_form
    ),
    Relation("covariances are not symmetric and positive definite", _covariances_are_definite),
    Relation(
        "number of components or coordinates exceeds its number of features",
        _projection_fits_in_space,
    ),
)
CLASSES = (
    PRIORS,
    Relation("log priors do not match its priors_", _log_priors_match_priors),
    *PROJECTION,
)
MIXTURE = (
    WEIGHTS,
    Relation("log priors do not match its weights_", _log_priors_match_weights),
    *PROJECTION,
    Relation("directions left out are not orthogonal to the others", _rest_is_orthogonal),
    Relation("noise is not complete", _noise_is_complete),
)
SEMI_SUPERVISED = (
    *CLASSES,
    Relation("transduction_ has labels that are not in classes_", _transduction_is_of_classes),
    Relation("label_distributions_ do not sum to one", _distributions_sum_to_one),
)
KERNELS = (PRIORS, Relation("samples do not include all classes", _each_class_has_samples))
SAMPLE_KERNELS = Relation(
    "kernels are incomplete, not in the order of their classes, or not of all classes",
    _kernels_are_complete,
)
BANDWIDTHS = Relation(
    "bandwidths_ are extreme for the scale of its features, or not 0 for constant features",
    _bandwidths_match_scale,
)
PURSUIT = (
    PRIORS,
    Relation("weights of the Gaussians of a class do not sum to one", _axis_weights_sum_to_one),
)
BASIS = (
    PRIORS,
    Relation("numbers of basis functions and coefficients differ", _basis_has_the_coefficients),
    Relation("basis would require too much memory", _spline_is_small),
    Relation("knots are not in ascending order, or do not match its type of basis", _knots_ascend),
)
CHOICE = (
    Relation("best_index_ is out of range for its cv_results_", _best_index_is_in_results),
    Relation("features differ from those of its best_estimator_", _features_are_those_of_best),
)
