"""Selection of the number of components of models whose components are nested."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import check_cv

from opgd._utils.warnings import DataWarning
from opgd.core.types import AnyArray, FloatArray, IntArray


def predict_by_first_components(model: Any, X: AnyArray) -> list[IntArray]:
    """Predict class codes (n,) with the first 1, 2, ... components of a fitted model."""
    projection = model._projection
    nested = [projection.first(q) for q in range(1, projection.n_components + 1)]
    return [np.argmax(smaller.class_log_joint(X), axis=1) for smaller in nested]


class ComponentSearch(ClassifierMixin, BaseEstimator):
    """Select the number of components with the lowest error on held-out samples.

    Each split needs only one fit, because a model with fewer components consists of the first
    components of a model with more.

    Parameters
    ----------
    estimator : object
        Baseline with ordered components.
    cv : int, splitter or iterable of splits, default=5
        Cross-validation scheme, as in `GridSearchCV`.
    """

    def __init__(self, estimator: Any, cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    def fit(self, X: AnyArray, y: AnyArray, groups: Any = None) -> Self:
        """Select the number of components, and fit the model to all samples."""
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        errors = [self._errors(X, y, train, test) for train, test in splits]
        n_counts = max(map(len, errors))
        # if the training samples of a split span fewer dimensions, its last error is repeated
        padded = [np.pad(values, (0, n_counts - len(values)), mode="edge") for values in errors]
        self.cv_errors_ = np.mean(padded, axis=0)
        self.best_params_ = {"n_components": int(np.argmin(self.cv_errors_)) + 1}
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_).fit(X, y)
        self.classes_ = self.best_estimator_.classes_
        return self

    def _errors(self, X: AnyArray, y: AnyArray, train: AnyArray, test: AnyArray) -> FloatArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            model = clone(self.estimator).set_params(n_components=None).fit(X[train], y[train])
        predicted = predict_by_first_components(model, X[test])
        return np.array([np.mean(model.classes_[codes] != y[test]) for codes in predicted])

    def predict(self, X: AnyArray) -> AnyArray:
        """Predict classes by the selected model."""
        labels: AnyArray = self.best_estimator_.predict(X)
        return labels

    def predict_proba(self, X: AnyArray) -> FloatArray:
        """Predict class probabilities by the selected model."""
        posteriors: FloatArray = self.best_estimator_.predict_proba(X)
        return posteriors
