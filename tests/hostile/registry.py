"""Every estimator, every input, and which of them belong together."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags

import opgd.baselines
from opgd import OPGDClassifier, OPGDClassifierCV, OPGDMixture, OPGDSemiSupervised

QUICK = {  # the pairs are many and tables small: what is asked for is manners, not results
    "AlternatingComponents": {"max_iter": 10},
    "GaussianMixturePursuit": {"n_components": 1, "n_subclasses": 1, "max_iter": 1},
    "KernelNaiveBayes": {"bandwidth": 0.5},
    "LikelihoodRatioPursuit": {"n_components": 1},
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
LONG: dict[str, BaseEstimator] = {
    "GaussianMixturePursuit": opgd.baselines.GaussianMixturePursuit(1, max_iter=1),
    "KernelNaiveBayes": opgd.baselines.KernelNaiveBayes(),
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


def classifies(model) -> bool:
    return is_classifier(model)


def without_ridge(model):
    """The estimator with ridge 0 if it estimates one: rows about covariances that stay singular."""
    return model.set_params(ridge=0.0) if model.get_params().get("ridge") == "auto" else model


def all_labeled(model) -> bool:
    """Whether a missing label is an error."""
    return classifies(model) and not isinstance(model, OPGDSemiSupervised)


def partly_labeled(model) -> bool:
    return isinstance(model, OPGDSemiSupervised)


def clusters(model) -> bool:
    return isinstance(model, OPGDMixture)


def allows_missing(model) -> bool:
    return get_tags(model).input_tags.allow_nan


def takes_weights(model) -> bool:
    return "sample_weight" in inspect.signature(model.fit).parameters


def takes_priors(model) -> bool:
    return "priors" in model.get_params()


def takes_max_iter(model) -> bool:
    return "max_iter" in model.get_params()


def calls_back(model) -> bool:
    return hasattr(model, "set_callbacks")
