"""Schema of the steps of pipelines: transformers of scikit-learn, by parameters and attributes.

Steps are rebuilt from a fixed list of classes, by public names of scikit-learn only: either their
documented attributes are set, or they are fitted to a few rows that lead to the same state.
"""

from dataclasses import dataclass, field
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from opgd._model_file.encoding import InvalidContent
from opgd._model_file.fields import (
    Array,
    Cells,
    Choice,
    Columns,
    Count,
    Either,
    Field,
    Flag,
    ListOf,
    Names,
    NewSize,
    Nothing,
    Number,
    Output,
    Pair,
    Scalar,
    Seed,
    Size,
    Sizes,
)
from opgd._model_file.schema import OUTPUT
from opgd.table_encoder import TableEncoder

LARGEST = 1e100
"""Bound of the numbers in steps and of their reciprocals; results for usual data are finite."""


def optional(declared: Field) -> Field:
    """Return the declaration of a value that may be None."""
    return Either((Nothing(), declared))


VALUES = Array("p", -LARGEST, LARGEST)
SCALES = Array("p", 1 / LARGEST, LARGEST)
SEEN = Either((Count(), Number(0.0), Cells("p")))
FREQUENCY = Either((Nothing(), Count(1), Number(0.0, 1.0)))
CATEGORIES: dict[str, Field] = {
    "n_features_in_": NewSize("p"),
    "categories_": ListOf(Cells()),
    "infrequent_categories_": ListOf(optional(Cells())),
}
COMMON: dict[str, Field] = {"feature_names_in_": Names(), OUTPUT: Output()}
"""Attributes that every step may have."""
NOT_NEEDED = ("memory", "n_jobs", "random_state", "verbose")
"""Parameters that results do not depend on; if they cannot be stored, they are left out."""


@dataclass(frozen=True)
class StepParts:
    """A class of steps that can be stored: its parameters and fitted attributes.

    Parameters in `fixed` must have these values; others need attributes that are not public.
    """

    step: type[Any]
    parameters: dict[str, Field]
    attributes: dict[str, Field] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)


STEPS = {
    parts.step.__name__: parts
    for parts in [
        StepParts(
            StandardScaler,
            {"copy": Flag(), "with_mean": Flag(), "with_std": Flag()},
            {
                "n_features_in_": NewSize("p"),
                "mean_": optional(VALUES),
                "var_": optional(Array("p", 0.0, LARGEST)),
                "scale_": optional(SCALES),
                "n_samples_seen_": SEEN,
            },
        ),
        StepParts(
            MinMaxScaler,
            {"feature_range": Pair(), "copy": Flag(), "clip": Flag()},
            {
                "n_features_in_": NewSize("p"),
                "min_": VALUES,
                "scale_": Array("p", 1 / LARGEST, LARGEST),
                "data_min_": VALUES,
                "data_max_": VALUES,
                "data_range_": Array("p", 0.0, LARGEST),
                "n_samples_seen_": SEEN,
            },
        ),
        StepParts(
            RobustScaler,
            {
                "with_centering": Flag(),
                "with_scaling": Flag(),
                "quantile_range": Pair(),
                "copy": Flag(),
                "unit_variance": Flag(),
            },
            {
                "n_features_in_": NewSize("p"),
                "center_": optional(VALUES),
                "scale_": optional(SCALES),
            },
        ),
        StepParts(
            PowerTransformer,
            {
                "method": Choice(("yeo-johnson", "box-cox")),
                "standardize": Flag(),
                "copy": Flag(),
            },
            {"n_features_in_": NewSize("p"), "lambdas_": VALUES},
            fixed={"standardize": False},
        ),
        StepParts(
            PCA,
            {
                "n_components": Scalar(),
                "copy": Flag(),
                "whiten": Flag(),
                "svd_solver": Scalar(),
                "tol": Number(0.0),
                "iterated_power": Scalar(),
                "n_oversamples": Count(1),
                "power_iteration_normalizer": Scalar(),
                "random_state": Seed(),
            },
            {
                "n_features_in_": NewSize("p"),
                "mean_": VALUES,
                "components_": Array("q p", -1.0 - 1e-6, 1.0 + 1e-6),
                "n_components_": Size("q"),
                "explained_variance_": Array("q", 1 / LARGEST, LARGEST),
                "explained_variance_ratio_": Array("q", 0.0, 1.0 + 1e-6),
                "singular_values_": Array("q", 0.0, LARGEST),
                "noise_variance_": Number(0.0, LARGEST),
                "n_samples_": Count(1),
            },
        ),
        StepParts(
            SimpleImputer,
            {
                "missing_values": Scalar(),
                "strategy": Choice(("mean", "median", "most_frequent", "constant")),
                "fill_value": Scalar(),
                "copy": Flag(),
                "keep_empty_features": Flag(),
            },
            {"n_features_in_": NewSize("p"), "statistics_": Cells("p")},
        ),
        StepParts(
            OneHotEncoder,
            {
                "drop": Either((Nothing(), Choice(("first", "if_binary")), Cells())),
                "sparse_output": Flag(),
                "handle_unknown": Choice(("error", "ignore", "infrequent_if_exist", "warn")),
                "min_frequency": FREQUENCY,
                "max_categories": optional(Count(1)),
            },
            CATEGORIES,
        ),
        StepParts(
            OrdinalEncoder,
            {
                "handle_unknown": Choice(("error", "use_encoded_value")),
                "unknown_value": Scalar(),
                "encoded_missing_value": Scalar(),
                "min_frequency": FREQUENCY,
                "max_categories": optional(Count(1)),
            },
            CATEGORIES,
        ),
        StepParts(
            FunctionTransformer,
            {
                "validate": Flag(),
                "accept_sparse": Flag(),
                "check_inverse": Flag(),
                "feature_names_out": optional(Choice(("one-to-one",))),
            },
            {"n_features_in_": optional(Count(1))},
        ),
        StepParts(
            ColumnTransformer,
            {
                "sparse_threshold": Number(0.0, 1.0),
                "verbose_feature_names_out": Flag(),
                "n_jobs": optional(Count(-64)),
                "verbose": Flag(),
            },
            {"n_features_in_": NewSize("p"), "columns": ListOf(Columns())},
        ),
        StepParts(Pipeline, {"verbose": Flag()}),
        StepParts(
            TableEncoder,
            {
                "max_categories": Count(2),
                "min_frequency": Either((Choice(("auto",)), Count(1), Number(0.0, 1.0))),
                "missing": Choice(("keep", "median")),
            },
            {
                "n_features_in_": NewSize("p"),
                "fill_values_": optional(Array("f", -LARGEST, LARGEST)),
            },
        ),
    ]
}


def check_fields(what: str, values: dict[str, Any], fields: dict[str, Field]) -> None:
    """Raise InvalidContent unless every value is accepted by its field."""
    sizes: Sizes = {}
    for name, declared in fields.items():
        if name in values and not declared.accepts(values[name], sizes):
            raise InvalidContent(f"its {name} ({what}) must be {declared}")


def check_step(parts: StepParts, parameters: dict[str, Any], fitted: dict[str, Any]) -> None:
    """Raise InvalidContent unless parameters and attributes are those of the class."""
    name = parts.step.__name__
    if not set(parameters) <= set(parts.parameters):
        raise InvalidContent(f"it has parameters that {name} cannot have")
    needed = set(parts.attributes)
    if not needed <= set(fitted) <= needed | set(COMMON):
        raise InvalidContent(f"its attributes are not those of {name}")
    for key, value in parts.fixed.items():
        if parameters.get(key) != value:
            raise InvalidContent(f"its {key} ({name}) must be {value}")
    check_fields(name, parameters, parts.parameters)
    check_fields(name, fitted, parts.attributes | COMMON)
