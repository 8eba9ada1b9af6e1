"""What the estimators share: using fitted Gaussians inside a projection."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.special import chdtrc, logsumexp
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from opgd._callbacks import CallbackSupportMixin
from opgd._validation import check_priors
from opgd.core.coordinates import Coordinates
from opgd.core.gaussians import FORMS, ProjectedGaussians
from opgd.core.scoring import log_joint, project_rows, squared_distances, sum_by_class
from opgd.core.types import AnyArray, FloatArray, IntArray

FLOAT_DTYPES = [np.float64, np.float32]
MAX_COVARIANCE_CELLS = 2**26


@functools.cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread: its threads fight over blocks this small, ours share the rows."""
    with _blas().limit(limits=1, user_api="blas"):
        yield


def restore_on_failure(method: Callable[..., Any]) -> Callable[..., Any]:
    """A fit that fails or is interrupted leaves the estimator as it was before."""

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.__dict__.copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return guarded


class GaussianProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Fitted Gaussians inside a projection: transform and distances."""

    _coordinates: Coordinates
    _covariances: FloatArray
    _gaussians: ProjectedGaussians
    _covariance_type: str
    components_: FloatArray

    @property
    def covariances_(self) -> FloatArray:
        """Covariances of the Gaussians in the space of the columns, (C, p, p).

        Made when asked for: with many columns they are far larger than the model.
        """
        check_is_fitted(self)
        shape = (len(self._covariances), *[len(self._coordinates.center)] * 2)
        if np.prod(shape) > MAX_COVARIANCE_CELLS:
            raise AttributeError(f"covariances_ of shape {shape} would be too large to make.")
        return np.stack([self._coordinates.raw_covariance(own) for own in self._covariances])

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _check_rows(self, X: Any) -> AnyArray:
        check_is_fitted(self)
        rows: AnyArray = validate_data(self, X, reset=False, dtype=FLOAT_DTYPES)
        return rows

    def _log_joint(self, X: Any) -> FloatArray:
        """log(pi_c phi_c) of every row and Gaussian, (n, C)."""
        X = self._check_rows(X)
        with one_blas_thread():
            return log_joint(X, *self._model())

    def _model(self) -> tuple[FloatArray, FloatArray, ProjectedGaussians, Any]:
        form = FORMS[self._covariance_type]
        return self._coordinates.center, self.components_, self._gaussians, form

    def transform(self, X: Any) -> AnyArray:
        """Scores on the components, ``X @ components_.T``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
        """
        X = self._check_rows(X)
        with one_blas_thread():
            return project_rows(X, self.components_).astype(X.dtype, copy=False)

    def typicality(self, X: Any) -> FloatArray:
        """How usual rows are for the Gaussian nearest to them.

        The probability, under that Gaussian, of scores at least as far from its mean
        (Mahalanobis distance inside the projection). Rows that come from the model have
        typicalities spread evenly from 0 to 1; a row of 1e-6 is far from all training data, and
        its class probabilities are an extrapolation however confident they look. Only the
        components are looked at: what a row does across them is not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        typicality : ndarray of shape (n_samples,)
        """
        X = self._check_rows(X)
        with one_blas_thread():
            nearest = squared_distances(X, *self._model()).min(axis=1)
        probability: FloatArray = chdtrc(self._n_features_out, nearest)
        return probability


class GaussianClassifier(ClassifierMixin, CallbackSupportMixin, GaussianProjection):
    """Fitted Gaussians that stand for classes: predictions and probabilities."""

    _temperature = 1.0
    classes_: AnyArray
    priors_: FloatArray
    gaussian_classes_: IntArray

    def _class_log_joint(self, X: Any, priors: Any = None) -> FloatArray:
        """log(pi_k phi_k) by class, divided by the temperature, (n, K)."""
        log_joint = self._log_joint(X)
        by_class = sum_by_class(log_joint, self.gaussian_classes_, len(self.classes_))
        by_class /= self._temperature
        if priors is None:
            return by_class
        new = check_priors(priors, self.classes_, self.priors_)
        return by_class + np.log(new / self.priors_)

    def decision_function(self, X: Any, priors: Any = None) -> FloatArray:
        """Log joint densities of rows and classes; for two classes, their log odds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        priors : as in the constructor, default=None
            Other class probabilities than those of the fit.

        Returns
        -------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        by_class = self._class_log_joint(X, priors)
        if len(self.classes_) == 2:
            return by_class[:, 1] - by_class[:, 0]
        return by_class

    def predict(self, X: Any, priors: Any = None) -> AnyArray:
        """Most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        priors : as in the constructor, default=None
            Other class probabilities than those of the fit.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        strongest = np.argmax(self._class_log_joint(X, priors), axis=1)
        labels: AnyArray = self.classes_[strongest]
        return labels

    def predict_log_proba(self, X: Any, priors: Any = None) -> FloatArray:
        """Log posterior probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        priors : as in the constructor, default=None
            Other class probabilities than those of the fit.

        Returns
        -------
        log_posteriors : ndarray of shape (n_samples, n_classes)
        """
        by_class = self._class_log_joint(X, priors)
        log_posteriors: FloatArray = by_class - logsumexp(by_class, axis=1, keepdims=True)
        return log_posteriors

    def predict_proba(self, X: Any, priors: Any = None) -> FloatArray:
        """Posterior probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        priors : as in the constructor, default=None
            Other class probabilities than those of the fit.

        Returns
        -------
        posteriors : ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X, priors))
