"""Base classes of the methods: validation, priors and posteriors, on scikit-learn's."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
AnyArray = npt.NDArray[Any]


class DensityClassifier(ClassifierMixin, BaseEstimator):
    """Classifier by Bayes' rule from class densities.

    A subclass implements `_fit_densities` and `_log_densities`.
    """

    priors: Any
    classes_: AnyArray
    priors_: FloatArray

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the class densities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        codes = self._encode(y)
        labeled = codes[codes >= 0]
        self.priors_ = check_priors(self.priors, np.bincount(labeled) / len(labeled))
        self._fit_densities(X, codes)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Compute log prior plus log density of the classes; for two classes, the log odds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        joint = self._log_joint(X)
        return joint[:, 1] - joint[:, 0] if len(self.classes_) == 2 else joint

    def predict(self, X: Any) -> AnyArray:
        """Predict the most probable class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        codes = np.argmax(self._log_joint(X), axis=1)
        labels: AnyArray = self.classes_[codes]
        return labels

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Compute the logarithms of the posterior probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_posteriors : ndarray of shape (n_samples, n_classes)
        """
        joint = self._log_joint(X)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> FloatArray:
        """Compute the posterior probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        posteriors : ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    def _log_joint(self, X: Any) -> FloatArray:
        """Return log(prior * density) of each sample and class, (n, K)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._log_densities(X) + np.log(self.priors_)

    def _encode(self, y: AnyArray) -> IntArray:
        """Set `classes_` and return the index of the class of each sample."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def _fit_densities(self, X: FloatArray, codes: IntArray) -> None:
        """Fit the densities to samples (n, p) of classes 0 to K - 1."""
        raise NotImplementedError

    def _log_densities(self, X: FloatArray) -> FloatArray:
        """Return the log density of each sample in each class, (n, K), up to a constant."""
        raise NotImplementedError


class ComponentsMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin for estimators with components, whose `transform` returns scores."""

    components_: FloatArray

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> FloatArray:
        """Compute the scores of samples on the components, ``X @ components_.T``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ self.components_.T)


def check_priors(priors: Any, frequencies: FloatArray) -> FloatArray:
    """Return the class priors: frequencies (None), equal ones ("uniform"), or those given."""
    if priors is None:
        return frequencies
    n_classes = len(frequencies)
    if isinstance(priors, str) and priors == "uniform":
        return np.full(n_classes, 1.0 / n_classes)
    values = np.asarray(priors, dtype=np.float64)
    if values.shape != (n_classes,) or np.any(values <= 0) or abs(values.sum() - 1) > 1e-6:
        raise ValueError(
            f"priors must be {n_classes} positive numbers that sum to 1, got {priors!r}."
        )
    return np.asarray(values / values.sum())
