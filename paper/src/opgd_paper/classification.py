"""The classification experiments of the paper: Vowel by speaker (4.1) and random splits (4.2-4.4).

Every method has one parameter, which is selected by the misclassification error on validation
samples; of ties the first value, that is the simplest model, is used. OPGD is
`OPGDClassifier(q, init="paper", ridge=0)` for every number of axes q.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from opgd import OPGDClassifier
from opgd.baselines import (
    CommonPrincipalComponents,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from opgd_paper.datasets import load_dataset

METHODS = ["OPGD", "LDA", "RDA", "SAVE", "CPCDA"]
SPLIT_DATA = ["satellite", "image_seg", "opt_digits"]
STARTS = ["paper", "lda", "random"]

Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


def make_model(method: str, value: float, **settings: Any) -> Any:
    """Return a method with a value of its parameter: a number of axes, or alpha of RDA."""
    if method == "RDA":
        return RegularizedDiscriminantAnalysis(alpha=value)
    if method == "OPGD":
        return OPGDClassifier(int(value), **{"init": "paper", "ridge": 0.0, **settings})
    kinds = {"LDA": ReducedRankLDA, "SAVE": SlicedAverageVariance}
    if method == "CPCDA":  # one start, with which the paper's results agree
        return CommonPrincipalComponents(int(value), n_init=1)
    return kinds[method](int(value))


def list_values(method: str, n_features: int, n_classes: int) -> Sequence[float]:
    """Return the values from which a method's parameter is selected, as in Section 4."""
    if method == "RDA":
        return [float(alpha) for alpha in np.linspace(0, 1, n_features)]
    return range(1, (n_classes if method == "LDA" else n_features + 1))


def select(method: str, X: Any, y: Any, splits: Sequence[Split]) -> tuple[float, Any]:
    """Return the value with the lowest validation error, and its model of the last split."""
    best: tuple[float, float, Any] = (np.inf, np.nan, None)
    for value in list_values(method, X.shape[1], len(np.unique(y))):
        errors = []
        for train, validation in splits:
            model = make_model(method, value).fit(X[train], y[train])
            errors.append(np.sum(model.predict(X[validation]) != y[validation]))
        if sum(errors) < best[0]:
            best = float(sum(errors)), value, model
    return best[1], best[2]


def run_vowel(name: str, replication: int, method: str) -> dict[str, Any]:  # noqa: ARG001
    """Evaluate a method on the other speakers, with its parameter by cross-validation by speaker.

    Each of the eight speakers of the training set is a fold. The model with the selected value is
    fitted anew to the training set.
    """
    data = load_dataset(name)
    train, test = data.split == "train", data.split == "test"
    X, y, speaker = data.data[train], data.target[train], data.speaker[train]
    splits = [(np.flatnonzero(speaker != s), np.flatnonzero(speaker == s)) for s in range(8)]
    value, _ = select(method, X, y, splits)
    model = make_model(method, value).fit(X, y)
    return evaluate(model, data.data[test], data.target[test]) | {"chosen": value}


def run_splits(name: str, replication: int, method: str) -> dict[str, Any]:
    """Evaluate a method on a random split: 50% training, 25% validation, 25% test.

    The model with the selected value is fitted to training and validation samples together, OPGD
    from the components that were best on the validation samples.
    """
    X, y = load_varying_columns(name)
    order = np.random.RandomState(replication).permutation(len(X))
    train, validation, test = np.split(order, [len(X) // 2, len(X) - len(X) // 4])
    value, best = select(method, X, y, [(train, validation)])
    settings = {"init": best.components_} if method == "OPGD" else {}
    both = np.concatenate([train, validation])
    model = make_model(method, value, **settings).fit(X[both], y[both])
    return evaluate(model, X[test], y[test]) | {"chosen": value}


def run_starts(name: str, replication: int, method: str) -> dict[str, Any]:
    """Fit OPGD from one initialization (Section 3.2) and return its objective and test error.

    `method` is passed as `init`; the replication is the seed of "random". Samples are split as in
    `run_splits` with seed 0, and Vowel into its training and test speakers.
    """
    if name == "vowel":
        data = load_dataset(name)
        X, y, train, n_axes = data.data, data.target, data.split == "train", 3
    else:
        X, y = load_varying_columns(name)
        order = np.random.RandomState(0).permutation(len(X))
        train = np.isin(np.arange(len(X)), order[: len(X) - len(X) // 4])
        n_axes = len(np.unique(y)) - 1
    model = make_model("OPGD", n_axes, init=method, random_state=replication)
    model.fit(X[train], y[train])
    return evaluate(model, X[~train], y[~train]) | {
        "n_components": n_axes,
        "n_evaluations": model.n_evaluations_,
    }


@cache
def load_varying_columns(name: str) -> tuple[Any, Any]:
    """Return the samples without constant features, and their classes."""
    data = load_dataset(name)
    return data.data[:, np.ptp(data.data, axis=0) > 0], data.target


def evaluate(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return the test error and log-loss, and the objective of OPGD."""
    of_label = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return {
        "error": float(np.mean(model.predict(X) != y)),
        "log_loss": float(-np.log(np.maximum(of_label, 1e-15)).mean()),
        "objective": getattr(model, "log_likelihood_", None),
    }
