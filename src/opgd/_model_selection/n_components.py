"""Choosing a number of axes where a model with fewer is the first axes of one with more."""

import warnings
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import check_cv

from opgd._utils.warnings import DataWarning
from opgd.core.gaussians import ProjectedGaussians
from opgd.core.types import AnyArray, FloatArray


def first_axes(model: Any, n_components: int) -> Any:
    """A fitted model cut to its first axes."""
    cut = copy(model)
    gaussians, first = model._gaussians, slice(n_components)
    variances = gaussians.variances[:, first]
    variances = variances[:, :, first] if variances.ndim == 3 else variances
    cut._gaussians = ProjectedGaussians(gaussians.log_priors, gaussians.means[:, first], variances)
    cut.components_ = model.components_[first]
    cut.projected_means_, cut.projected_variances_ = model.projected_means_[:, first], variances
    cut.n_components_ = len(cut.components_)
    return cut


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
        cuts = [first_axes(model, q) for q in range(1, len(model.components_) + 1)]
        return np.array([np.mean(own.predict(X[test]) != y[test]) for own in cuts])

    def predict(self, X: AnyArray) -> AnyArray:
        """Classes by the chosen model."""
        labels: AnyArray = self.best_estimator_.predict(X)
        return labels

    def predict_proba(self, X: AnyArray) -> FloatArray:
        """Probabilities by the chosen model."""
        posteriors: FloatArray = self.best_estimator_.predict_proba(X)
        return posteriors
