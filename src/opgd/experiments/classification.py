"""Section 4: Vowel by speaker, and random 50/25/25 splits of three data sets."""

from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import LeaveOneGroupOut, PredefinedSplit

from opgd.classifier import OPGDClassifier
from opgd.classifier_cv import OPGDClassifierCV
from opgd.comparison import default_estimators
from opgd.core.types import AnyArray, FloatArray
from opgd.datasets import load_dataset

METHODS = ["OPGD", "LDA", "RDA", "SAVE", "CPCDA"]
OWN_METHODS = ["OPGD, all settings", "OPGD, subclasses"]
SPLIT_DATA = ["satellite", "image_seg", "opt_digits"]


@cache
def columns(name: str) -> tuple[FloatArray, AnyArray]:
    """Rows without constant columns, and their classes."""
    data = load_dataset(name)
    return data.data[:, np.ptp(data.data, axis=0) > 0], data.target


def estimator(method: str, n_features: int, inner_cv: Any) -> Any:
    """A method of the paper, or ours with more settings to choose from."""
    if method == "OPGD, subclasses":
        return OPGDClassifierCV(n_subclasses=(1, 2, 4), cv=inner_cv)
    return default_estimators(n_features, inner_cv)[method]


def vowel(name: str, replication: int, method: str) -> dict[str, Any]:  # noqa: ARG001
    """ESL's split; settings by leaving out one speaker of the training part at a time."""
    data = load_dataset(name)
    train, test = data.split == "train", data.split == "test"
    model = clone(estimator(method, data.data.shape[1], LeaveOneGroupOut()))
    model.fit(data.data[train], data.target[train], groups=data.speaker[train])
    return judged(model, data.data[test], data.target[test])


def splits(name: str, replication: int, method: str) -> dict[str, Any]:
    """Half of the rows to train, a quarter to choose settings, then both to fit; a quarter tests.

    The final OPGD begins at the solution that did best on the validation rows, as in the paper.
    """
    X, y = columns(name)
    order = np.random.RandomState(replication).permutation(len(X))
    n_train, n_test = len(X) // 2, len(X) // 4
    train, test = order[: len(X) - n_test], order[len(X) - n_test :]
    fold = np.where(np.arange(len(train)) < n_train, -1, 0)  # 0: left out to choose settings
    model = clone(estimator(method, X.shape[1], PredefinedSplit(fold)))
    model.fit(X[train], y[train])
    return judged(model, X[test], y[test])


def judged(model: Any, X: FloatArray, y: AnyArray) -> dict[str, Any]:
    """Error on test rows, and what was chosen."""
    posteriors = model.predict_proba(X)
    own = posteriors[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return {
        "error": float(np.mean(model.predict(X) != y)),
        "log_loss": float(-np.log(np.maximum(own, 1e-15)).mean()),
        "objective": getattr(model, "log_likelihood_", None),
        "chosen": dict(model.best_params_),
    }


def starts(name: str, replication: int, method: str) -> dict[str, Any]:
    """Section 3.2: the objective and the error reached from one start.

    Methods "auto", "lda" and "paper" are starts by name; "random" begins at random, with the
    replication as its seed. Rows are split as in `splits` with seed 0; Vowel has its own split.
    """
    if name == "vowel":
        data = load_dataset(name)
        X, y, train = data.data, data.target, data.split == "train"
    else:
        X, y = columns(name)
        order = np.random.RandomState(0).permutation(len(X))
        train = np.isin(np.arange(len(X)), order[: len(X) - len(X) // 4])
    n_axes = 3 if name == "vowel" else len(np.unique(y)) - 1
    model = OPGDClassifier(n_axes, init=method, random_state=replication).fit(X[train], y[train])
    return {
        "error": float(np.mean(model.predict(X[~train]) != y[~train])),
        "objective": model.log_likelihood_,
        "n_components": n_axes,
        "n_evaluations": model.n_evaluations_,
        "converged": model.converged_,
    }
