"""Selection of parameters by the error on held-out samples, with sample weights and groups."""

import warnings
from contextlib import suppress
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import ParameterGrid, StratifiedGroupKFold, StratifiedKFold, check_cv

from opgd._dask.lazy import compute_eagerly, is_lazy
from opgd._model_selection.n_components import predict_by_first_components
from opgd._utils.warnings import DataWarning
from opgd.comparison.evaluation import compute_log_losses
from opgd.comparison.missing import accepts_missing
from opgd.comparison.splits import sort_splits
from opgd.comparison.weights import make_weight_params, take_weights
from opgd.core.types import AnyArray, FloatArray

N_CALIBRATION_FOLDS = 5
DECIMALS = 12
"""Mean errors that agree in these decimals are ties."""


class HeldOutSearch(ClassifierMixin, BaseEstimator):
    """Base of searches: the candidate with the lowest mean error on held-out samples is fitted.

    Ties are resolved by the log-loss if subclasses compute it, then in favor of the first
    candidate. Errors are weighted if `fit` gets sample weights. Subclasses define
    `_compute_losses` and `_get_params`.
    """

    estimator: Any
    cv: Any

    def fit(self, X: AnyArray, y: AnyArray, sample_weight: Any = None, groups: Any = None) -> Self:
        """Select the parameters, and fit the model to all samples."""
        self._splits = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        if is_lazy(X):
            self._splits = sort_splits(self._splits, len(y))
        losses = [
            self._compute_losses(X, y, sample_weight, train, test) for train, test in self._splits
        ]
        n_candidates = max(map(len, losses))
        # if the training samples of a split span fewer dimensions, its last errors are repeated
        padded = [
            np.pad(values, ((0, n_candidates - len(values)), (0, 0)), mode="edge")
            for values in losses
        ]
        errors, log_losses = np.mean(padded, axis=0).T
        self.cv_errors_ = errors
        # NaN, where fits failed, is sorted to the end
        best = int(np.lexsort((log_losses, np.round(errors, DECIMALS)))[0])
        self.best_params_ = self._get_params(best)
        model = clone(self.estimator).set_params(**self.best_params_)
        self.best_estimator_ = model.fit(X, y, **make_weight_params(model, sample_weight))
        self.classes_ = self.best_estimator_.classes_
        return self

    def predict(self, X: AnyArray) -> AnyArray:
        """Predict classes by the selected model."""
        labels: AnyArray = self.best_estimator_.predict(X)
        return labels

    def predict_proba(self, X: AnyArray) -> FloatArray:
        """Predict class probabilities by the selected model."""
        posteriors: FloatArray = self.best_estimator_.predict_proba(X)
        return posteriors

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = accepts_missing(self.estimator)
        return tags

    def _compute_losses(
        self, X: AnyArray, y: AnyArray, weights: Any, train: AnyArray, test: AnyArray
    ) -> FloatArray:
        """Return errors and log-losses of candidates on a split, (n_candidates, 2).

        Both are NaN where a fit fails. Log-losses are 0 if they do not matter.
        """
        raise NotImplementedError

    def _get_params(self, index: int) -> dict[str, Any]:
        """Return the parameters of a candidate."""
        raise NotImplementedError


class ParameterSearch(HeldOutSearch):
    """Select parameters from a grid.

    Parameters
    ----------
    estimator : classifier or Pipeline
        Classifier whose parameters are selected.
    param_grid : dict of sequences
        Values by parameter, the simplest models first.
    cv : int, splitter or iterable of splits, default=5
        Cross-validation scheme, as in `GridSearchCV`.
    ties : {"log_loss", "first"}, default="log_loss"
        How to select among candidates with the same error.
    """

    def __init__(
        self, estimator: Any, param_grid: dict[str, Any], cv: Any = 5, ties: str = "log_loss"
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.ties = ties

    def _compute_losses(
        self, X: AnyArray, y: AnyArray, weights: Any, train: AnyArray, test: AnyArray
    ) -> FloatArray:
        losses = np.full((len(ParameterGrid(self.param_grid)), 2), np.nan)
        for i, params in enumerate(ParameterGrid(self.param_grid)):
            model = clone(self.estimator).set_params(**params)
            fit_params = make_weight_params(model, take_weights(weights, train))
            # QDA without regularization may fail, for example; other candidates may succeed
            with suppress(Exception):
                model.fit(X[train], y[train], **fit_params)
                losses[i] = self._score(model, X[test], y[test], take_weights(weights, test))
        return losses

    def _score(self, model: Any, X: AnyArray, y: AnyArray, weights: Any) -> tuple[float, float]:
        error = float(np.average(compute_eagerly(model.predict(X)) != y, weights=weights))
        if self.ties == "first" or not hasattr(model, "predict_proba"):
            return error, 0.0
        posteriors = compute_eagerly(model.predict_proba(X))
        losses = compute_log_losses(posteriors, model.classes_, y)
        return error, float(np.average(losses, weights=weights))

    def _get_params(self, index: int) -> dict[str, Any]:
        return dict(ParameterGrid(self.param_grid)[index])


class CalibratedSearch(ParameterSearch):
    """ParameterSearch for classifiers without probabilities, which are added by Platt's sigmoids.

    The sigmoids are fitted to decision values of held-out samples, on the splits of the search if
    these are a partition of the samples. Predicted classes are those of the classifier.
    """

    def fit(self, X: AnyArray, y: AnyArray, sample_weight: Any = None, groups: Any = None) -> Self:
        """Select the parameters, fit the model to all samples, and calibrate it."""
        super().fit(X, y, sample_weight, groups)
        splits: Any = self._splits
        held_out = np.concatenate([np.arange(len(y))[test] for _, test in splits])
        if not np.array_equal(np.sort(held_out), np.arange(len(y))):
            kind = StratifiedKFold if groups is None else StratifiedGroupKFold
            splits = list(kind(N_CALIBRATION_FOLDS).split(X, y, groups))
        model = clone(self.best_estimator_)
        self.calibrator_ = CalibratedClassifierCV(model, cv=splits, ensemble=False).fit(
            X, y, sample_weight, **make_weight_params(model, sample_weight)
        )
        return self

    def predict_proba(self, X: AnyArray) -> FloatArray:
        """Predict class probabilities by the calibrated model."""
        posteriors: FloatArray = self.calibrator_.predict_proba(X)
        return posteriors


class ComponentSearch(HeldOutSearch):
    """Select the number of components of a model with ordered components.

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

    def _compute_losses(
        self, X: AnyArray, y: AnyArray, weights: Any, train: AnyArray, test: AnyArray
    ) -> FloatArray:
        model = clone(self.estimator).set_params(n_components=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            model.fit(X[train], y[train], sample_weight=take_weights(weights, train))
        test_weights = take_weights(weights, test)
        predicted = predict_by_first_components(model, X[test])
        wrong = [model.classes_[codes] != y[test] for codes in predicted]
        return np.array([[np.average(errors, weights=test_weights), 0.0] for errors in wrong])

    def _get_params(self, index: int) -> dict[str, Any]:
        return {"n_components": index + 1}
