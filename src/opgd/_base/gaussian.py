"""What the estimators share: using fitted Gaussians inside a projection."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import chdtrc
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from opgd._dask.lazy import here, rowwise
from opgd._utils.blas import one_blas_thread
from opgd._utils.validation import (
    check_priors,
    check_sample_weight,
    encode_labels,
    validate_rows,
)
from opgd.core.coordinates import Coordinates
from opgd.core.gaussians import FORMS, ProjectedGaussians
from opgd.core.scoring import log_joint, project_rows, squared_distances
from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_COVARIANCE_CELLS = 2**26


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


def log_normalised(log_joints: FloatArray) -> FloatArray:
    """Log joints (n, K) as log posteriors, in place."""
    # the peak goes first: far away, log joints are too large to carry the log of a sum
    log_joints -= log_joints.max(axis=1, keepdims=True)
    log_joints -= np.log(np.exp(log_joints).sum(axis=1, keepdims=True))
    return log_joints


class RowModel(BaseEstimator):
    """What is fitted to rows of some columns, and asked about others of the same."""

    def _column_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"column {j}" for j in range(self.n_features_in_)]
        return [repr(name) for name in names]

    def _check_rows(self, X: Any) -> AnyArray:
        check_is_fitted(self)
        rows: AnyArray = validate_rows(self, X, reset=False)
        return rows


class GaussianModel(RowModel):
    """Fitted Gaussians inside a projection (or of whole rows): covariances and distances."""

    _coordinates: Coordinates
    _covariances: FloatArray
    _gaussians: ProjectedGaussians
    _covariance_type: str
    components_: FloatArray

    @property
    def covariances_(self) -> FloatArray:
        """Covariances of the Gaussians in the space of the columns, (C, p, p).

        Made when asked for: with many columns they are far larger than the model. Directions in
        which the training rows do not differ at all have no variance here, ridge or not.
        """
        check_is_fitted(self)
        shape = (len(self._covariances), *[len(self._coordinates.center)] * 2)
        if np.prod(shape) > MAX_COVARIANCE_CELLS:
            raise AttributeError(f"covariances_ of shape {shape} would be too large to make.")
        raw = [self._coordinates.raw_covariance(own) for own in self._covariances]
        return np.stack([0.5 * (own + own.T) for own in raw])

    def _model(self) -> tuple[FloatArray, FloatArray, ProjectedGaussians, Any]:
        form = FORMS[self._covariance_type]
        return self._coordinates.center, self._components, self._gaussians, form

    @property
    def _components(self) -> FloatArray:
        """Of the space in which the Gaussians are: the axes, for models that have some."""
        own: FloatArray = self.__dict__.get("_whole_space", np.empty(0))
        return own if own.size else self.components_

    @rowwise
    def typicality(self, X: Any) -> FloatArray:
        """How usual rows are for the Gaussian nearest to them.

        The probability, under that Gaussian, of scores at least as far from its mean
        (Mahalanobis distance inside the projection). Of rows that come from the model, at most a
        share t has a typicality below t (fewer where Gaussians overlap); a row of 1e-6 is far from
        all training data, and its class probabilities are an extrapolation however confident they
        look. Only the components are looked at: what a row does across them is not seen.

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
        probability: FloatArray = chdtrc(len(self._components), nearest)
        return probability


class AxesMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Scores on the components of a model that has some."""

    components_: FloatArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @rowwise
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
        with one_blas_thread(), np.errstate(over="ignore"):  # a score may be beyond float32
            return project_rows(X, self.components_).astype(X.dtype, copy=False)


class PosteriorMixin(ClassifierMixin):
    """Predictions of classes from their log joints, of whatever densities."""

    classes_: AnyArray
    priors_: FloatArray

    def _class_log_joint(self, X: Any, priors: Any = None) -> FloatArray:
        """log(pi_k f_k) of rows and classes, (n, K)."""
        raise NotImplementedError

    def _check_labelled(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[AnyArray, AnyArray, IntArray, FloatArray | None]:
        """Rows of positive weight, classes, codes of the rows, and weights."""
        X, y = validate_rows(self, X, y, ensure_min_samples=2)
        weights = check_sample_weight(sample_weight, X)
        if weights is not None and not np.all(weights):
            present = weights > 0  # a row of weight zero is no row, and may be all of its class
            X, y, weights = X[present], y[present], weights[present]
        return X, *encode_labels(y), weights

    @rowwise
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

    @rowwise
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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose class is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        accuracy : float
        """
        predicted = here(self.predict(X))
        return float(accuracy_score(here(y), predicted, sample_weight=here(sample_weight)))

    @rowwise
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
        return log_normalised(self._class_log_joint(X, priors))

    @rowwise
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


class GaussianClassifier(PosteriorMixin, GaussianModel):
    """Fitted Gaussians that stand for classes."""

    _temperature = 1.0
    gaussian_classes_: IntArray

    def _class_log_joint(self, X: Any, priors: Any = None) -> FloatArray:
        """log(pi_k phi_k) by class, divided by the temperature, (n, K)."""
        X = self._check_rows(X)
        with one_blas_thread():
            by_class = log_joint(X, *self._model(), groups=self.gaussian_classes_)
        by_class /= self._temperature
        if priors is not None:
            new = check_priors(priors, self.classes_, self.priors_)
            by_class += np.log(new) - np.log(self.priors_)
        return by_class
