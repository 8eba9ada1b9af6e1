"""Fit a classifier to the training samples of a split, and evaluate it on the others."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.validation import has_fit_parameter

from opgd._dask.lazy import compute_eagerly
from opgd.comparison.missing import fill_medians
from opgd.comparison.splits import Split
from opgd.comparison.weights import SEARCHES, make_weight_params, take_weights
from opgd.core.types import AnyArray, FloatArray

SMALLEST_PROBABILITY = 1e-15
EMPTY: dict[str, Any] = {
    "error": np.nan,
    "log_loss": np.nan,
    "seconds": np.nan,
    "parameters": {},
    "balanced_accuracy": np.nan,
}


def evaluate(
    estimator: Any,
    X: Any,
    y: AnyArray,
    groups: AnyArray | None,
    weights: FloatArray | None,
    split: Split,
    *,
    fill: bool = False,
) -> dict[str, Any]:
    """Return results, `seconds`, `parameters`, and `failure`, the text of an error or "".

    With `fill`, medians of the training samples replace missing values.
    """
    train, test = split
    outcome = EMPTY | {"failure": ""}
    fit_params = make_fit_params(
        estimator, take_weights(weights, train), None if groups is None else groups[train]
    )
    start = time.perf_counter()
    # weights and groups are passed here, and not by the metadata routing of scikit-learn
    with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
        warnings.simplefilter("ignore")
        try:
            X_train, X_test = select_samples(X, train), select_samples(X, test)
            if fill:
                X_train, X_test = fill_medians(X_train, X_test)
            model = clone(estimator).fit(X_train, y[train], **fit_params)
            outcome["seconds"] = time.perf_counter() - start
            outcome["parameters"] = dict(getattr(model, "best_params_", {}))
            outcome["n_train"] = getattr(model, "n_fitted_", len(train))
            outcome |= _score(model, X_test, y[test], take_weights(weights, test))
        except Exception as error:  # the other methods are still compared
            outcome["failure"] = f"{type(error).__name__}: {error}"
            outcome |= {"seconds": time.perf_counter() - start, "parameters": {}}
    return outcome


def make_fit_params(
    estimator: Any, weights: FloatArray | None, groups: AnyArray | None
) -> dict[str, Any]:
    """Return the arguments of `fit` for the weights and groups of the training samples."""
    fit_params = make_weight_params(estimator, weights)
    # fit() of scikit-learn's searches has no parameter `groups`, but passes it to their splitter
    if groups is not None and (
        has_fit_parameter(estimator, "groups") or isinstance(estimator, SEARCHES)
    ):
        fit_params["groups"] = groups
    return fit_params


def select_samples(X: Any, indices: AnyArray) -> Any:
    """Return some samples of an array or a data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[indices]
    return X.take(indices) if hasattr(X, "column_names") else X[indices]  # a table of pyarrow


def _score(model: Any, X: Any, y: AnyArray, weights: FloatArray | None) -> dict[str, float]:
    predicted = compute_eagerly(model.predict(X))
    scores = {
        "error": float(np.average(predicted != y, weights=weights)),
        "balanced_accuracy": float(balanced_accuracy_score(y, predicted, sample_weight=weights)),
    }
    if hasattr(model, "predict_proba"):
        posteriors = compute_eagerly(model.predict_proba(X))
        losses = compute_log_losses(posteriors, model.classes_, y)
        scores["log_loss"] = float(np.average(losses, weights=weights))
    return scores


def compute_log_losses(posteriors: FloatArray, classes: AnyArray, y: AnyArray) -> FloatArray:
    """Return the log-loss of each sample, the largest for classes without training samples."""
    true_class = y[:, None] == classes
    probabilities = np.where(true_class, posteriors, 0.0).sum(axis=1)
    losses: FloatArray = -np.log(np.maximum(probabilities, SMALLEST_PROBABILITY))
    return losses
