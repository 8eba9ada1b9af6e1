"""Classifiers that are fitted in memory to a part of Dask input."""

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.metaestimators import available_if

from opgd._dask.lazy import apply_lazily
from opgd._utils.text import list_names
from opgd._utils.warnings import warn_caller
from opgd.comparison.evaluation import make_fit_params
from opgd.comparison.missing import make_imputer
from opgd.comparison.searches import CalibratedSearch, HeldOutSearch
from opgd.comparison.weights import take_weights
from opgd.core.engines import spread_positions
from opgd.core.types import AnyArray

MAX_LOADED = 20_000
"""Number of training samples to which classifiers are fitted in memory."""


def subsample_others(candidates: dict[str, Any], filled: set[str]) -> dict[str, Any]:
    """Return classifiers for Dask input, and warn of those that are fitted to a part of it.

    `filled` are the names of classifiers for which missing values are replaced.
    """
    loaded = {
        name: SubsampledClassifier(model, fill=name in filled)
        for name, model in candidates.items()
        if name in filled or not fits_on_cluster(model)
    }
    if loaded:
        warn_caller(
            f"Fitted in memory to at most {MAX_LOADED} training samples of the Dask input: "
            f"{list_names(list(loaded))}.",
            UserWarning,
        )
    return candidates | loaded


def fits_on_cluster(estimator: Any) -> bool:
    """Return whether a classifier is fitted to Dask input without loading it."""
    if isinstance(estimator, HeldOutSearch):
        return not isinstance(estimator, CalibratedSearch) and fits_on_cluster(estimator.estimator)
    return bool(getattr(estimator, "_fits_on_cluster", False))


def _has_probabilities(model: Any) -> bool:
    return hasattr(model.model_, "predict_proba")


class SubsampledClassifier(ClassifierMixin, BaseEstimator):
    """Fit a classifier to samples spread over Dask input, and predict on its workers.

    Parameters
    ----------
    estimator : classifier
    fill : bool
        Whether medians of these samples replace missing values.
    """

    def __init__(self, estimator: Any, *, fill: bool = False) -> None:
        self.estimator = estimator
        self.fill = fill

    def fit(self, X: Any, y: AnyArray, sample_weight: Any = None, groups: Any = None) -> Self:
        """Load at most `MAX_LOADED` samples, and fit the classifier to them."""
        kept = spread_positions(len(y), MAX_LOADED)
        loaded = X[kept].compute()
        weights = take_weights(sample_weight, kept)
        params = make_fit_params(self.estimator, weights, None if groups is None else groups[kept])
        if self.fill:
            imputer = make_imputer().fit(loaded)
            loaded = imputer.transform(loaded)
        self.fitted_ = clone(self.estimator).fit(loaded, y[kept], **params)
        self.model_ = make_pipeline(imputer, self.fitted_) if self.fill else self.fitted_
        self.best_params_ = dict(getattr(self.fitted_, "best_params_", {}))
        self.classes_, self.n_fitted_ = self.fitted_.classes_, len(kept)
        return self

    def predict(self, X: Any) -> Any:
        """Predict classes, lazily."""
        return apply_lazily(self.model_.predict, X)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities, lazily."""
        return apply_lazily(self.model_.predict_proba, X)
