"""Choosing a number of axes where a model with fewer is the first axes of one with more."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import check_cv

from opgd._utils.warnings import DataWarning
from opgd.core.types import AnyArray, FloatArray, IntArray


def predict_by_first_components(model: Any, X: AnyArray) -> list[IntArray]:
    """Predict codes of classes (n,) by the first 1, 2, ... components of a fitted model."""
    projection = model._projection
    cuts = [projection.first(q) for q in range(1, projection.n_components + 1)]
    return [np.argmax(cut.class_log_joint(X), axis=1) for cut in cuts]


class AxesSearch(ClassifierMixin, BaseEstimator):
    """The number of axes with the least error on rows left out; one fit for each split.

    Parameters
    ----------
    estimator : a baseline with ordered axes
    cv : as in scikit-learn's searches
    """

    def __init__(self, estimator: Any, cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    def fit(self, X: AnyArray, y: AnyArray, groups: Any = None) -> Self:
        """Choose, then fit to all rows."""
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        errors = [self._errors(X, y, train, test) for train, test in splits]
        most = max(map(len, errors))
        # a split whose rows differ in fewer dimensions counts with its last model
        padded = [np.pad(own, (0, most - len(own)), mode="edge") for own in errors]
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
        """Classes by the chosen model."""
        labels: AnyArray = self.best_estimator_.predict(X)
        return labels

    def predict_proba(self, X: AnyArray) -> FloatArray:
        """Probabilities by the chosen model."""
        posteriors: FloatArray = self.best_estimator_.predict_proba(X)
        return posteriors
