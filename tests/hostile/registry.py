"""Every estimator, every input, and which of them belong together."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass

from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags

import opgd.baselines
from opgd import (
    CostSensitiveClassifier,
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    OPGDSemiSupervised,
)

QUICK = {  # the pairs are many and tables small: what is asked for is manners, not results
    "MixtureDiscriminantAnalysis": {"n_subclasses": 2},
}
OURS = [
    OPGDClassifier(),
    OPGDClassifierCV(
        (1, 2), shrinkage=0.1, ridge=0.0, n_subclasses=1, covariance_type="diag", cv=2
    ),
    OPGDMixture(3, random_state=0),
    OPGDSemiSupervised(calibrate=False),
]
ESTIMATORS: dict[str, BaseEstimator] = {type(own).__name__: own for own in OURS} | {
    name: getattr(opgd.baselines, name)(**QUICK.get(name, {})) for name in opgd.baselines.__all__
}
VARIANTS = [
    OPGDClassifier(covariance_type="full"),
    OPGDClassifier(n_subclasses=2),
    OPGDClassifier(class_weight="balanced"),
    OPGDMixture(3, covariance_type="full", random_state=0),
    OPGDMixture(3, metric="identity", random_state=0),
    OPGDMixture(3, noise=True, random_state=0),
    OPGDMixture((3, 4), random_state=0, merge=2),
    OPGDSemiSupervised(covariance_type="full", calibrate=False),
    CostSensitiveClassifier(OPGDClassifier()),
]
"""Other parameters, and estimators with the same interface; they are called by their code."""
ESTIMATORS |= {re.sub(r"\s+", " ", repr(own)): own for own in VARIANTS}
LONG: dict[str, BaseEstimator] = {
    "OPGDSemiSupervised": OPGDSemiSupervised(),
}
"""Estimators that take too long for the ordinary suite."""


@dataclass(frozen=True)
class Hostile:
    """An input: the two cells of its row in the guide, and the check of a fresh estimator."""

    section: str
    given: str
    outcome: str
    check: Callable[[BaseEstimator], None]
    applies: Callable[[BaseEstimator], bool]

    @property
    def name(self) -> str:
        return self.check.__name__


INPUTS: list[Hostile] = []


def pairs() -> list[tuple[Hostile, str]]:
    return [
        (own, name)
        for own in INPUTS
        for name, estimator in ESTIMATORS.items()
        if own.applies(estimator)
    ]


def hostile(given, outcome, *, to=lambda estimator: True):
    """Register a check under the section that its module is called by."""

    def register(check):
        section = inspect.getmodule(check).SECTION
        INPUTS.append(Hostile(section, given, outcome, check, to))
        return check

    return register


def listed(names) -> str:
    """Names of estimators in a cell of the guide."""
    return ", ".join(f"`{name}`" for name in sorted(names))


def name_of(model) -> str:
    return type(model).__name__


def entry_of(model) -> str:
    """The name in ESTIMATORS of the estimator that shares most parameters with this one."""
    parameters = {name: repr(value) for name, value in model.get_params(deep=False).items()}

    def n_equal(entry):
        own = ESTIMATORS[entry].get_params(deep=False)
        return sum(repr(value) == parameters[name] for name, value in own.items())

    return max((e for e in ESTIMATORS if name_of(ESTIMATORS[e]) == name_of(model)), key=n_equal)


def classifies(model) -> bool:
    return is_classifier(model)


def without_ridge(model):
    """The estimator with ridge 0 if it estimates one: rows about covariances that stay singular."""
    ridges = [name for name, value in model.get_params().items() if name.endswith("ridge")]
    automatic = {name: 0.0 for name in ridges if model.get_params()[name] == "auto"}
    return model.set_params(**automatic)


def all_labeled(model) -> bool:
    """Whether a missing label is an error."""
    return classifies(model) and not isinstance(model, OPGDSemiSupervised)


def partly_labeled(model) -> bool:
    return isinstance(model, OPGDSemiSupervised)


def clusters(model) -> bool:
    return isinstance(model, OPGDMixture)


def allows_missing(model) -> bool:
    return get_tags(model).input_tags.allow_nan


def unit_bound(model) -> bool:
    """Whether the model depends on the units of the features."""
    by_name = name_of(model) == "CommonPrincipalComponents"
    return by_name or getattr(model, "metric", None) == "identity"


def has_noise(model) -> bool:
    """Whether some samples get no cluster, and missing values are refused."""
    return getattr(model, "noise", False) is not False


def wraps(model) -> bool:
    return hasattr(model, "estimator")


def takes_weights(model) -> bool:
    return "sample_weight" in inspect.signature(model.fit).parameters


def takes_priors(model) -> bool:
    return "priors" in model.get_params()


def takes_max_iter(model) -> bool:
    return "max_iter" in model.get_params()


def calls_back(model) -> bool:
    return hasattr(model, "set_callbacks")
