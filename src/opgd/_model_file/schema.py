"""What a fitted estimator consists of: names, types and shapes of its fitted attributes.

Letters stand for sizes that have to agree: p columns, q axes, R dimensions in which rows differ,
C Gaussians, K classes, n training rows, F functions and m knots of a basis.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from opgd._model_file.checks import (
    Check,
    codes,
    count,
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
from opgd.baselines._bases import BASES, Basis
from opgd.classifier import OPGDClassifier
from opgd.classifier_cv import OPGDClassifierCV
from opgd.core.coordinates import Coordinates
from opgd.core.gaussians import ProjectedGaussians
from opgd.mixture import OPGDMixture
from opgd.semi_supervised import OPGDSemiSupervised

VARIANCES = either(numbers("C q", above=0.0), numbers("C q q"))
GAUSSIANS: dict[str, Check] = {
    "means_": numbers("C p"),
    "n_features_in_": size("p"),
    "_covariance_type": form,
    "_coordinates.center": numbers("p"),
    "_coordinates.scale": numbers("p", above=0.0),
    "_coordinates.basis": numbers("p R"),
    "_coordinates.whitener": numbers("R R"),
    "_coordinates.unwhitener": numbers("R R"),
    "_coordinates.identity_share": real,
    "_covariances": numbers("C R R"),
    "_gaussians.log_priors": logarithms,
    "_gaussians.means": numbers("C q"),
    "_gaussians.variances": VARIANCES,
}
AXES: dict[str, Check] = GAUSSIANS | {
    "components_": numbers("q p"),
    "n_components_": size("q"),
    "projected_means_": numbers("C q"),
    "projected_variances_": VARIANCES,
}
WHOLE_ROWS: dict[str, Check] = GAUSSIANS | {"_whole_space": numbers("q p")}
CLASSES: dict[str, Check] = {
    "classes_": labels,
    "priors_": numbers("K", above=0.0),
    "gaussian_classes_": gaussian_classes,
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
CLASSIFIER = AXES | CLASSES | SEARCH | {"_temperature": positive}
SEMI_SUPERVISED = CLASSIFIER | {
    "n_rounds_": count,
    "transduction_": row_labels,
    "label_distributions_": numbers("n K"),
}
MIXTURE = (
    AXES
    | SEARCH
    | {
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
    "_gaussians": ProjectedGaussians,
}


@dataclass(frozen=True)
class Parts:
    """An estimator that can be stored, and the attributes that make it up."""

    estimator: type[Any]
    attributes: dict[str, Check]


ESTIMATORS = {
    parts.estimator.__name__: parts
    for parts in [
        Parts(OPGDClassifier, CLASSIFIER),
        Parts(OPGDClassifierCV, CHOICE),
        Parts(OPGDMixture, MIXTURE),
        Parts(OPGDSemiSupervised, SEMI_SUPERVISED),
        Parts(
            CommonPrincipalComponents,
            AXES | CLASSES | ITERATIONS | {"common_variances_": numbers("C q")},
        ),
        Parts(
            MixtureDiscriminantAnalysis,
            WHOLE_ROWS | CLASSES | ITERATIONS | {"weights_": numbers("C")},
        ),
        Parts(AlternatingComponents, AXES | CLASSES | SEARCH),
        Parts(FlexibleDiscriminantAnalysis, FLEXIBLE),
        Parts(GaussianMixturePursuit, PURSUIT),
        Parts(
            InformativeComponents,
            AXES
            | CLASSES
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
        Parts(ReducedRankLDA, AXES | CLASSES),
        Parts(RegularizedDiscriminantAnalysis, WHOLE_ROWS | CLASSES),
        Parts(SlicedAverageVariance, AXES | CLASSES),
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
    if "_gaussians.variances" in found:
        _check_variances(found)
    if "_basis.kind" in found:
        _check_basis(found)


def _check_basis(found: dict[str, Any]) -> None:
    n_functions, degree = found["coefficients_"].shape[1], found["_basis.degree"]
    basis = Basis(found["_basis.kind"], min(degree, n_functions), found["_basis.knots"])
    if basis.n_functions != n_functions:
        raise Unfit("its basis has another number of functions than coefficients")


def _check_variances(found: dict[str, Any]) -> None:
    n_axes = {"diag": 2, "full": 3}[found["_covariance_type"]]
    for name in ("_gaussians.variances", "projected_variances_"):
        if name in found and found[name].ndim != n_axes:
            raise Unfit(f"its {name} does not fit its _covariance_type")
    if n_axes == 3:
        try:
            np.linalg.cholesky(found["_gaussians.variances"])
        except np.linalg.LinAlgError:
            raise Unfit("its covariances are not positive definite") from None
