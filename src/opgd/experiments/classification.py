"""Experiments of Section 4: Vowel by speaker, and random splits of three data sets."""

from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import LeaveOneGroupOut, PredefinedSplit

from opgd.classifier import OPGDClassifier
from opgd.classifier_cv import OPGDClassifierCV
from opgd.core.types import AnyArray, FloatArray
from opgd.datasets import load_dataset
from opgd.experiments.estimators import paper_estimators

METHODS = ["OPGD", "LDA", "RDA", "SAVE", "CPCDA"]
OWN_METHODS = ["OPGD, all settings", "OPGD, subclasses"]
SPLIT_DATA = ["satellite", "image_seg", "opt_digits"]


@cache
def load_varying_columns(name: str) -> tuple[FloatArray, AnyArray]:
    """Return the samples without constant features, and their classes."""
    data = load_dataset(name)
    return data.data[:, np.ptp(data.data, axis=0) > 0], data.target


def estimator(method: str, n_features: int, inner_cv: Any) -> Any:
    """Return an estimator for a method of the paper, or OPGD with more settings to select from."""
    if method == "OPGD, subclasses":
        return OPGDClassifierCV(
            shrinkage=(0.0, 0.1, 0.5),
            ridge=(0.0, 0.05, 0.3),
            n_subclasses=(1, 2, 4),
            covariance_type="diag",
            sparsity=0,
            cv=inner_cv,
        )
    return paper_estimators(n_features, inner_cv)[method]


def run_vowel(name: str, replication: int, method: str) -> dict[str, Any]:  # noqa: ARG001
    """Evaluate a method on the split of ESL, with settings by leave-one-speaker-out."""
    data = load_dataset(name)
    train, test = data.split == "train", data.split == "test"
    model = clone(estimator(method, data.data.shape[1], LeaveOneGroupOut()))
    model.fit(data.data[train], data.target[train], groups=data.speaker[train])
    return evaluate_on_test(model, data.data[test], data.target[test])


def run_splits(name: str, replication: int, method: str) -> dict[str, Any]:
    """Evaluate a method on a random split: 50% training, 25% validation, 25% test.

    The selected settings are fitted to training and validation samples together. OPGD is then
    initialized at the solution that was best on the validation samples, as in the paper.
    """
    X, y = load_varying_columns(name)
    order = np.random.RandomState(replication).permutation(len(X))
    n_train, n_test = len(X) // 2, len(X) // 4
    train, test = order[: len(X) - n_test], order[len(X) - n_test :]
    fold = np.where(np.arange(len(train)) < n_train, -1, 0)  # 0: validation
    model = clone(estimator(method, X.shape[1], PredefinedSplit(fold)))
    model.fit(X[train], y[train])
    return evaluate_on_test(model, X[test], y[test])


def evaluate_on_test(model: Any, X: FloatArray, y: AnyArray) -> dict[str, Any]:
    """Return the test error and log-loss, the objective, and the selected settings."""
    posteriors = model.predict_proba(X)
    label_posteriors = posteriors[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return {
        "error": float(np.mean(model.predict(X) != y)),
        "log_loss": float(-np.log(np.maximum(label_posteriors, 1e-15)).mean()),
        "objective": getattr(model, "log_likelihood_", None),
        "chosen": dict(model.best_params_),
    }


def run_starts(name: str, replication: int, method: str) -> dict[str, Any]:
    """Fit OPGD from one initialization (Section 3.2) and return its objective and test error.

    `method` is passed as `init`; the replication is the seed of "random". Samples are split as in
    `run_splits` with seed 0, and Vowel into its training and test speakers.
    """
    if name == "vowel":
        data = load_dataset(name)
        X, y, train = data.data, data.target, data.split == "train"
    else:
        X, y = load_varying_columns(name)
        order = np.random.RandomState(0).permutation(len(X))
        train = np.isin(np.arange(len(X)), order[: len(X) - len(X) // 4])
    n_axes = 3 if name == "vowel" else len(np.unique(y)) - 1
    init = ("lda", "pca") if method == "auto" else method
    model = OPGDClassifier(n_axes, ridge=0.0, init=init, random_state=replication)
    model.fit(X[train], y[train])
    return {
        "error": float(np.mean(model.predict(X[~train]) != y[~train])),
        "objective": model.log_likelihood_,
        "n_components": n_axes,
        "n_evaluations": model.n_evaluations_,
        "converged": model.converged_,
    }
