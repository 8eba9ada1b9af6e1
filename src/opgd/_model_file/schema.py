"""Names, types and shapes of the fitted attributes of each estimator.

Letters denote sizes that must agree: p features, q components, R rank of the centered samples,
C Gaussians, K classes, n training samples, F functions and m knots of a basis.
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
    sample_labels,
    size,
    table,
)
from opgd._model_file.encoding import InvalidContent
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
    "transduction_": sample_labels,
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
"""Attribute in which scikit-learn stores the configuration of `set_output`."""
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
"""Attributes that are records, whose fields are stored separately; inner records first."""


@dataclass(frozen=True)
class Parts:
    """An estimator class that can be stored, and its fitted attributes."""

    estimator: type[Any]
    attributes: dict[str, Check]
    estimators: dict[str, str] = field(default_factory=dict)
    """Names of attributes that are estimators, and of their classes."""


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


def check_attributes(parts: Parts, fitted: dict[str, Any]) -> None:
    """Raise InvalidContent unless the attributes form a valid model."""
    sizes: dict[str, int] = {}
    checks = parts.attributes | {name: check for name, check in OPTIONAL.items() if name in fitted}
    if set(checks) != set(fitted):
        raise InvalidContent(f"its attributes are not those of {parts.estimator.__name__}")
    for name, check in checks.items():
        if not check(fitted[name], sizes):
            raise InvalidContent(f"its {name} has an unexpected type, shape or value")
    if "_projection.form" in fitted:
        _check_variances(fitted)
    if "_basis.kind" in fitted:
        _check_basis(fitted)
    if "best_index_" in fitted and fitted["best_index_"] >= len(fitted["cv_results_"]["params"]):
        raise InvalidContent("its best_index_ is out of range for its cv_results_")


def _check_basis(fitted: dict[str, Any]) -> None:
    n_functions, degree = fitted["coefficients_"].shape[1], fitted["_basis.degree"]
    basis = Basis(fitted["_basis.kind"], min(degree, n_functions), fitted["_basis.knots"])
    if basis.n_functions != n_functions:
        raise InvalidContent("its numbers of basis functions and coefficients differ")


def _check_variances(fitted: dict[str, Any]) -> None:
    variances = fitted["_projection.gaussians.variances"]
    ndim = {"diag": 2, "full": 3}[fitted["_projection.form"]]
    if variances.ndim != ndim:
        raise InvalidContent("its projected variances do not have the shape of their form")
    if ndim == 3:
        try:
            np.linalg.cholesky(variances)
        except np.linalg.LinAlgError:
            raise InvalidContent("its covariances are not positive definite") from None
