"""Schema of model files: the fitted attributes of each estimator, and their relations.

Every attribute is declared once, by its type, shape and range. A new attribute needs an entry here,
and a relation if it depends on others; reading, writing and the tests with invalid values follow.
Letters denote sizes that must agree: p features, q components, R rank of the centered samples,
C Gaussians, K classes, n training samples, h held-out samples, F functions and m knots of a basis.
"""

from dataclasses import dataclass, field
from typing import Any

from opgd._model_file import relations
from opgd._model_file.encoding import InvalidContent
from opgd._model_file.fields import (
    SMALLEST,
    Array,
    Choice,
    Codes,
    Count,
    Either,
    Field,
    Flag,
    Floats,
    GaussianClasses,
    Labels,
    Names,
    Number,
    Output,
    SampleLabels,
    Scalar,
    Seed,
    Size,
    Sizes,
    Table,
)
from opgd._model_file.relations import Relation
from opgd._utils.validation import MAX_WEIGHT
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
from opgd.baselines._posterior import MAX_SCORE
from opgd.classifier import OPGDClassifier
from opgd.classifier_cv import OPGDClassifierCV
from opgd.core.coordinates import Coordinates
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import FORMS, ProjectedGaussians
from opgd.core.held_out import HeldOut
from opgd.mixture import OPGDMixture
from opgd.semi_supervised import OPGDSemiSupervised


def probabilities(shape: str, low: float = 0.0) -> Array:
    """Return the declaration of an array of probabilities, which rounding may have increased."""
    return Array(shape, low, 1.0 + 1e-6)


MAX_TEMPERATURE = 1e6
"""Bound of the temperature and of its reciprocal; calibration stays within 2**-2 and 2**6."""
VARIANCES = Either((Array("C q", low=SMALLEST), Array("C q q")))
GAUSSIANS: dict[str, Field] = {
    "means_": Array("C p"),
    "n_features_in_": Size("p"),
    "_coordinates.center": Array("p"),
    "_coordinates.scale": Array("p", low=SMALLEST),
    "_coordinates.basis": Array("p R"),
    "_coordinates.whitener": Array("R R"),
    "_coordinates.unwhitener": Array("R R"),
    "_coordinates.identity_share": Number(0.0, 1.0),
    "_covariances": Array("C R R"),
    "_projection.center": Array("p"),
    "_projection.components": Array("q p"),
    "_projection.gaussians.log_priors": Array("C", high=1e-6),
    "_projection.gaussians.means": Array("C q"),
    "_projection.gaussians.variances": VARIANCES,
    "_projection.form": Choice(tuple(FORMS)),
    "_projection.temperature": Number(1 / MAX_TEMPERATURE, MAX_TEMPERATURE),
    "_projection.background": Number(0.0, 1.0),
}
CLASSES: dict[str, Field] = {
    "classes_": Labels(),
    "priors_": probabilities("K", low=SMALLEST),
    **GAUSSIANS,
    "_projection.gaussian_classes": GaussianClasses(),
}
SEARCH: dict[str, Field] = {
    "log_likelihood_": Number(),
    "component_log_likelihoods_": Array("q", finite=False),
    "component_shares_": Array("q", finite=False),
    "n_iter_": Count(),
    "n_evaluations_": Count(),
    "converged_": Flag(),
    "loss_curve_": Floats(),
}
ITERATIONS: dict[str, Field] = {"n_iter_": Count(), "converged_": Flag()}
CLASSIFIER = CLASSES | SEARCH
SEMI_SUPERVISED = CLASSIFIER | {
    "n_rounds_": Count(),
    "transduction_": SampleLabels(),
    "label_distributions_": probabilities("n K"),
}
MIXTURE = (
    GAUSSIANS
    | SEARCH
    | {
        "weights_": probabilities("K"),
        "n_clusters_": Size("K"),
        "_projection.gaussian_classes": GaussianClasses(),
        "objective_": Number(),
        "labels_": Codes("n", "K", low=-1),
        "initial_labels_": Codes("n", "K"),
        "uncertainty_": probabilities("n"),
        "eigenvalues_": Array("R"),
        "n_rounds_": Count(),
        "selection_": Table(("n_clusters", "n_components", "bic", "icl", "aic")),
    }
)
POSTERIORS: dict[str, Field] = {
    "classes_": Labels(),
    "priors_": probabilities("K", low=SMALLEST),
    "_center": Array("p"),
    "n_features_in_": Size("p"),
}
ROWS: dict[str, Field] = POSTERIORS | {
    "_codes": Codes("n", "K"),
    "_weights": Array("n", SMALLEST, MAX_WEIGHT),
}
PURSUIT = (
    POSTERIORS
    | ITERATIONS
    | {
        "components_": Array("q p"),
        "n_components_": Size("q"),
        "log_ratios_": Array("q"),
        "gaussian_classes_": GaussianClasses(),
        "_axis_weights": probabilities("q C", low=SMALLEST),
        "_axis_means": Array("q C"),
        "_axis_deviations": Array("q C", low=SMALLEST),
    }
)
FLEXIBLE = POSTERIORS | {
    "explained_": Array("q"),
    "n_components_": Size("q"),
    "projected_means_": Array("K q"),
    "coefficients_": Array("q F"),
    "_scale": Array("p", low=SMALLEST),
    "_basis.kind": Choice(tuple(BASES)),
    "_basis.degree": Count(1),
    "_basis.knots": Array("m p"),
    "_function_center": Array("F"),
    "_function_scale": Array("F", low=SMALLEST),
}
CHOICE: dict[str, Field] = {
    "n_splits_": Count(),
    "best_index_": Count(),
    "cv_results_": Table(("params", "mean_test_score")),
    "n_features_in_": Count(),
}
OUTPUT = "_sklearn_output_config"
"""Attribute in which scikit-learn stores the configuration of `set_output`."""
OPTIONAL: dict[str, Field] = {
    "feature_names_in_": Names(),
    "ridge_": Number(0.0, 1.0),
    "corrected_error_": Number(0.0, 1.0),
    "noise_share_": Number(0.0, 1.0),
    "noise_log_density_": Number(),
    "noise_scales_": Array("C", low=SMALLEST),
    "noise_degrees_": Array("C", low=1.0),
    "uses_unlabeled_": Flag(),
    "variance_": Number(SMALLEST),
    "_kernel_scores": Array("kernels q"),
    "_kernel_classes": Codes("kernels", "K"),
    "_kernel_log_weights": Array("kernels"),
    "trials_": Table(("model", "error", "log_loss", "missed_probability")),
    "feature_order_": Codes("v", "p"),
    "sparsity_path_": Table(("n_features", "mean_test_error", "se_test_error", "selected")),
    "search_": Table(("start", "log_likelihood", "n_iter", "converged", "found_best")),
    OUTPUT: Output(),
}
HELD_OUT: dict[str, Field] = {
    "_held_out.log_joints": Array("h K", high=0.0),
    "_held_out.codes": Codes("h", "K"),
    "_held_out.weights": Array("h", SMALLEST, MAX_WEIGHT),
    "_held_out.distances": Array("h", low=0.0),
}
"""Held-out samples, which any classifier can have; distances only if its classes are Gaussian."""
LEFT_OUT: dict[str, Field] = {"_coordinates.rest": Array("p k")}
"""Directions that a mixture leaves out, if there are any."""
PARAMETERS: dict[str, Field] = {"random_state": Seed(), "unlabeled": Scalar()}
"""Constructor parameters that methods other than `fit` use; `fit` checks the others."""
RECORDS: dict[str, type[Any]] = {
    "_basis": Basis,
    "_coordinates": Coordinates,
    "_held_out": HeldOut,
    "_projection.gaussians": ProjectedGaussians,
    "_projection": FittedProjection,
}
"""Attributes that are records, whose fields are stored separately; inner records first."""


@dataclass(frozen=True)
class Parts:
    """An estimator class that can be stored, and its fitted attributes."""

    estimator: type[Any]
    attributes: dict[str, Field]
    relations: tuple[Relation, ...]
    estimators: dict[str, str] = field(default_factory=dict)
    """Names of attributes that are estimators, and of their classes."""


ESTIMATORS = {
    parts.estimator.__name__: parts
    for parts in [
        Parts(OPGDClassifier, CLASSIFIER, relations.CLASSES),
        Parts(OPGDClassifierCV, CHOICE, relations.CHOICE, {"best_estimator_": "OPGDClassifier"}),
        Parts(OPGDMixture, MIXTURE, relations.MIXTURE),
        Parts(OPGDSemiSupervised, SEMI_SUPERVISED, relations.SEMI_SUPERVISED),
        Parts(
            CommonPrincipalComponents,
            CLASSES | ITERATIONS | {"common_variances_": Array("C q", low=0.0)},
            relations.CLASSES,
        ),
        Parts(
            MixtureDiscriminantAnalysis,
            CLASSES | ITERATIONS | {"weights_": probabilities("C")},
            (*relations.CLASSES, relations.WEIGHTS),
        ),
        Parts(AlternatingComponents, CLASSES | SEARCH, relations.CLASSES),
        Parts(FlexibleDiscriminantAnalysis, FLEXIBLE, relations.BASIS),
        Parts(GaussianMixturePursuit, PURSUIT, relations.PURSUIT),
        Parts(
            InformativeComponents,
            CLASSES
            | ITERATIONS
            | {"log_likelihood_": Number(), "n_evaluations_": Count(), "loss_curve_": Floats()},
            (*relations.CLASSES, relations.SAMPLE_KERNELS),
        ),
        Parts(
            KernelDiscriminantAnalysis,
            ROWS
            | {
                "bandwidths_": Array("K", relations.MIN_BANDWIDTH, relations.MAX_BANDWIDTH),
                "components_": Array("R p"),
                "_rows": Array("n R", -MAX_SCORE, MAX_SCORE),
            },
            relations.KERNELS,
        ),
        Parts(
            KernelNaiveBayes,
            ROWS
            | {
                "bandwidths_": Array("K p", low=0.0),
                "_scale": Array("p", low=0.0),
                "_rows": Array("n p", -MAX_SCORE, MAX_SCORE),
            },
            (*relations.KERNELS, relations.BANDWIDTHS),
        ),
        Parts(LikelihoodRatioPursuit, PURSUIT, relations.PURSUIT),
        Parts(ReducedRankLDA, CLASSES, relations.CLASSES),
        Parts(RegularizedDiscriminantAnalysis, CLASSES, relations.CLASSES),
        Parts(SlicedAverageVariance, CLASSES, relations.CLASSES),
    ]
}


def check_parameters(parts: Parts, parameters: dict[str, Any]) -> None:
    """Raise InvalidContent for a parameter that is unknown or has an unusable value."""
    unknown = set(parameters) - set(parts.estimator().get_params(deep=False))
    if unknown:
        name = parts.estimator.__name__
        raise InvalidContent(
            f"{name} has no parameter {min(unknown)!r} in this version of opgd; a later version may"
        )
    for name, declared in PARAMETERS.items():
        if name in parameters and not declared.accepts(parameters[name], {}):
            raise InvalidContent(f"its parameter {name} must be {declared}")


def check_attributes(parts: Parts, fitted: dict[str, Any], estimators: dict[str, Any]) -> None:
    """Raise InvalidContent unless the attributes form a valid model.

    `estimators` are the attributes that are estimators; they have been checked before.
    """
    sizes: Sizes = {}
    possible = OPTIONAL | (HELD_OUT if "classes_" in parts.attributes else LEFT_OUT)
    optional = {name: declared for name, declared in possible.items() if name in fitted}
    fields = parts.attributes | optional
    if set(fields) != set(fitted):
        raise InvalidContent(f"its attributes are not those of {parts.estimator.__name__}")
    for name, declared in fields.items():
        if not declared.accepts(fitted[name], sizes):
            raise InvalidContent(f"its {name} must be {declared}")
    for relation in parts.relations:
        if not relation.holds(fitted | estimators):
            raise InvalidContent(f"its {relation.message}")
