"""What a fitted estimator consists of: names, types and shapes of its fitted attributes.

Letters stand for sizes that have to agree: p columns, q axes, R dimensions in which rows differ,
C Gaussians, K classes, n training rows, F functions and m knots of a basis.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from opgd._model_file.checks import (
    Check,
    codes,
    count,
    each_gaussian,
    either,
    flag,
    floats,
    form,
    gaussian_classes,
    labels,
    logarithms,
    names,
    numbers,
    output,
    positive,
    real,
    row_labels,
    size,
    table,
)
from opgd._model_file.encoding import Unfit
from opgd.baselines import (
    AlternatingComponents,
    CommonPrincipalComponents,
    FlexibleDiscriminantAnalysis,
    GaussianMixturePursuit,
    InformativeComponents,
    KernelDiscriminantAnalysis,
    KernelNaiveBayes,
    LikelihoodRatioPursuit,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from opgd.baselines._basis_functions import BASES, Basis
from opgd.classifier import OPGDClassifier
from opgd.classifier_cv import OPGDClassifierCV
from opgd.core.coordinates import Coordinates
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import ProjectedGaussians
from opgd.mixture import OPGDMixture
from opgd.semi_supervised import OPGDSemiSupervised

VARIANCES = either(numbers("C q", above=0.0), numbers("C q q"))
GAUSSIANS: dict[str, Check] = {
    "means_": numbers("C p"),
    "n_features_in_": size("p"),
    "_coordinates.center": numbers("p"),
    "_coordinates.scale": numbers("p", above=0.0),
    "_coordinates.basis": numbers("p R"),
    "_coordinates.whitener": numbers("R R"),
    "_coordinates.unwhitener": numbers("R R"),
    "_coordinates.identity_share": real,
    "_covariances": numbers("C R R"),
    "_projection.center": numbers("p"),
    "_projection.components": numbers("q p"),
    "_projection.gaussians.log_priors": logarithms,
    "_projection.gaussians.means": numbers("C q"),
    "_projection.gaussians.variances": VARIANCES,
    "_projection.form": form,
    "_projection.temperature": positive,
}
CLASSES: dict[str, Check] = {
    "classes_": labels,
    "priors_": numbers("K", above=0.0),
    **GAUSSIANS,
    "_projection.gaussian_classes": gaussian_classes,
}
SEARCH: dict[str, Check] = {
    "log_likelihood_": real,
    "component_log_likelihoods_": numbers("q", finite=False),
    "component_shares_": numbers("q", finite=False),
    "n_iter_": count,
    "n_evaluations_": count,
    "converged_": flag,
    "loss_curve_": floats,
}
ITERATIONS: dict[str, Check] = {"n_iter_": count, "converged_": flag}
CLASSIFIER = CLASSES | SEARCH
SEMI_SUPERVISED = CLASSIFIER | {
    "n_rounds_": count,
    "transduction_": row_labels,
    "label_distributions_": numbers("n K"),
}
MIXTURE = (
    GAUSSIANS
    | SEARCH
    | {
        "_projection.gaussian_classes": each_gaussian,
        "n_clusters_": size("C"),
        "weights_": numbers("C"),
        "objective_": real,
        "labels_": codes("n", "C"),
        "initial_labels_": codes("n", "C"),
        "uncertainty_": numbers("n"),
        "eigenvalues_": numbers("R"),
        "n_rounds_": count,
        "selection_": partial(table, needed={"n_clusters", "n_components", "bic", "icl", "aic"}),
    }
)
POSTERIORS: dict[str, Check] = {
    "classes_": labels,
    "priors_": numbers("K", above=0.0),
    "_center": numbers("p"),
    "n_features_in_": size("p"),
}
ROWS: dict[str, Check] = POSTERIORS | {
    "_codes": codes("n", "K"),
    "_weights": numbers("n", above=0.0),
}
PURSUIT = (
    POSTERIORS
    | ITERATIONS
    | {
        "components_": numbers("q p"),
        "n_components_": size("q"),
        "log_ratios_": numbers("q"),
        "gaussian_classes_": gaussian_classes,
        "_axis_weights": numbers("q C"),
        "_axis_means": numbers("q C"),
        "_axis_deviations": numbers("q C", above=0.0),
    }
)
FLEXIBLE = POSTERIORS | {
    "explained_": numbers("q"),
    "n_components_": size("q"),
    "projected_means_": numbers("K q"),
    "coefficients_": numbers("q F"),
    "_scale": numbers("p", above=0.0),
    "_basis.kind": lambda value, _: isinstance(value, str) and value in BASES,
    "_basis.degree": count,
    "_basis.knots": numbers("m p"),
    "_function_center": numbers("F"),
    "_function_scale": numbers("F", above=0.0),
}
CHOICE: dict[str, Check] = {
    "n_splits_": count,
    "best_index_": count,
    "cv_results_": partial(table, needed={"params", "mean_test_score"}),
    "n_features_in_": count,
}
OUTPUT = "_sklearn_output_config"
"""Where scikit-learn keeps what `set_output` was told."""
OPTIONAL: dict[str, Check] = {
    "feature_names_in_": names,
    OUTPUT: output,
}
RECORDS: dict[str, type[Any]] = {
    "_basis": Basis,
    "_coordinates": Coordinates,
    "_projection.gaussians": ProjectedGaussians,
    "_projection": FittedProjection,
}
"""Frozen records among the attributes, whose fields are stored one by one; inner ones first."""


@dataclass(frozen=True)
class Parts:
    """An estimator that can be stored, and the attributes that make it up."""

    estimator: type[Any]
    attributes: dict[str, Check]
    estimators: dict[str, str] = field(default_factory=dict)
    """Attributes that are estimators themselves, and their class."""


ESTIMATORS = {
    parts.estimator.__name__: parts
    for parts in [
        Parts(OPGDClassifier, CLASSIFIER),
        Parts(OPGDClassifierCV, CHOICE, {"best_estimator_": "OPGDClassifier"}),
        Parts(OPGDMixture, MIXTURE),
        Parts(OPGDSemiSupervised, SEMI_SUPERVISED),
        Parts(
            CommonPrincipalComponents,
            CLASSES | ITERATIONS | {"common_variances_": numbers("C q")},
        ),
        Parts(
            MixtureDiscriminantAnalysis,
            CLASSES | ITERATIONS | {"weights_": numbers("C")},
        ),
        Parts(AlternatingComponents, CLASSES | SEARCH),
        Parts(FlexibleDiscriminantAnalysis, FLEXIBLE),
        Parts(GaussianMixturePursuit, PURSUIT),
        Parts(
            InformativeComponents,
            CLASSES
            | ITERATIONS
            | {"log_likelihood_": real, "n_evaluations_": count, "loss_curve_": floats},
        ),
        Parts(
            KernelDiscriminantAnalysis,
            ROWS
            | {
                "bandwidths_": numbers("K", above=0.0),
                "components_": numbers("R p"),
                "_rows": numbers("n R"),
            },
        ),
        Parts(
            KernelNaiveBayes,
            ROWS
            | {
                "bandwidths_": numbers("K p"),
                "_scale": numbers("p"),
                "_rows": numbers("n p"),
            },
        ),
        Parts(LikelihoodRatioPursuit, PURSUIT),
        Parts(ReducedRankLDA, CLASSES),
        Parts(RegularizedDiscriminantAnalysis, CLASSES),
        Parts(SlicedAverageVariance, CLASSES),
    ]
}


def check_attributes(parts: Parts, found: dict[str, Any]) -> None:
    """Refuse attributes that do not make up one model."""
    sizes: dict[str, int] = {}
    checks = parts.attributes | {name: own for name, own in OPTIONAL.items() if name in found}
    if set(checks) != set(found):
        raise Unfit(f"its attributes are not those of {parts.estimator.__name__}")
    for name, check in checks.items():
        if not check(found[name], sizes):
            raise Unfit(f"its {name} is not what it should be, or does not fit the rest")
    if "_projection.form" in found:
        _check_variances(found)
    if "_basis.kind" in found:
        _check_basis(found)
    if "best_index_" in found and found["best_index_"] >= len(found["cv_results_"]["params"]):
        raise Unfit("its best_index_ is not in its cv_results_")


def _check_basis(found: dict[str, Any]) -> None:
    n_functions, degree = found["coefficients_"].shape[1], found["_basis.degree"]
    basis = Basis(found["_basis.kind"], min(degree, n_functions), found["_basis.knots"])
    if basis.n_functions != n_functions:
        raise Unfit("its basis has another number of functions than coefficients")


def _check_variances(found: dict[str, Any]) -> None:
    variances = found["_projection.gaussians.variances"]
    n_axes = {"diag": 2, "full": 3}[found["_projection.form"]]
    if variances.ndim != n_axes:
        raise Unfit("its variances do not fit their form")
    if n_axes == 3:
        try:
            np.linalg.cholesky(variances)
        except np.linalg.LinAlgError:
            raise Unfit("its covariances are not positive definite") from None
