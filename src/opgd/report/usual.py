"""Compare a model with usual classifiers on the rows that were held out to evaluate it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd.comparison import (
    MethodSummary,
    evaluate_methods,
    score_predictions,
    summarize_methods,
)
from opgd.core.types import FloatArray, IntArray
from opgd.inspection.cross_validation import MAX_ROWS, MAX_VALUES, Split

OURS = "this model"
N_TREES = 30
"""Iterations of gradient boosting, with one tree for each of more than two classes."""
MAX_SECONDS = 20.0
"""Methods whose fits are expected to take longer are omitted."""


@dataclass(frozen=True)
class Contest:
    """Predictions of a model for held-out rows, and the data that other methods are fitted to."""

    X: Any  # rows of all splits: features, or a table if there are steps
    n_features: int
    codes: IntArray  # (n,), class indices, -1 without a class
    splits: list[Split]
    probabilities: FloatArray  # (n, K) of the model, nan for rows that are never held out
    steps: Any = None  # of a pipeline, fitted again for each split

    @property
    def is_too_large(self) -> bool:
        """Whether fits of other methods would take too long."""
        n_rows = len(self.codes)
        return n_rows > MAX_ROWS or n_rows * self.n_features > MAX_VALUES

    def estimate_seconds(self) -> dict[str, float]:
        """Return roughly how long all fits of each method take on one core.

        The estimates depend on the data alone, so that reports do not depend on the machine.
        """
        n_classes, n_features = self.probabilities.shape[1], self.n_features
        n_rows = sum(len(train) for train, _ in self.splits)  # of all fits
        n_trees = N_TREES * (n_classes if n_classes > 2 else 1)
        return {
            "LDA": 1e-9 * n_rows * n_features**2,
            "logistic regression": 1e-7 * n_rows * n_features * n_classes,
            "gradient boosting": n_trees * n_features * (3e-5 * len(self.splits) + 8e-9 * n_rows),
        }


def make_usual_methods(steps: Any) -> dict[str, Any]:
    """Return LDA, logistic regression and gradient boosting with fixed settings.

    Missing values are replaced by means, except by gradient boosting, which takes them as they are.
    """
    boosting = HistGradientBoostingClassifier(
        max_iter=N_TREES, learning_rate=0.25, max_leaf_nodes=8, random_state=0
    )
    prepared = SimpleImputer(), StandardScaler()
    methods = {
        "LDA": make_pipeline(*prepared, LinearDiscriminantAnalysis()),
        "logistic regression": make_pipeline(*prepared, LogisticRegression(max_iter=500)),
        "gradient boosting": boosting,
    }
    if steps is None:
        return methods
    return {
        name: Pipeline([("encoding", clone(steps)), ("method", method)])
        for name, method in methods.items()
    }


def compare_with_usual(contest: Contest) -> tuple[list[MethodSummary], list[str]]:
    """Return the results of the model, named `OURS`, and of usual methods, the best first.

    Differences are those from the model. The second result has the names of methods that are
    omitted because they take long.
    """
    labeled = [(train[contest.codes[train] >= 0], test) for train, test in contest.splits]
    seconds = contest.estimate_seconds()
    methods = make_usual_methods(contest.steps)
    candidates = {name: methods[name] for name in methods if seconds[name] <= MAX_SECONDS}
    results = list(evaluate_methods(candidates, contest.X, contest.codes, labeled, {}))
    for number, (train, test) in enumerate(labeled):
        probabilities, codes = contest.probabilities[test], contest.codes[test]
        predicted = np.argmax(probabilities, axis=1)
        classes = np.arange(probabilities.shape[1])
        scores = score_predictions(codes, predicted, probabilities, classes)
        sizes = {"n_train": len(train), "n_test": len(test)}
        results.append({"method": OURS, "split": number, **scores, **sizes})
    keys = ["method", "split", "error", "log_loss", "balanced_accuracy", "n_train", "n_test"]
    # without times, so that reports are reproducible
    table = {key: [result[key] for result in results] for key in keys}
    omitted = [name for name in methods if name not in candidates]
    return summarize_methods(table, reference=OURS), omitted
