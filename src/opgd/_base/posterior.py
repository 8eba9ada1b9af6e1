"""From log joints of classes to labels and probabilities."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from opgd._dask.lazy import here, rowwise
from opgd._utils.validation import check_sample_weight, encode_labels, validate_rows
from opgd.core.types import AnyArray, FloatArray, IntArray


def log_normalized(log_joints: FloatArray) -> FloatArray:
    """Log joints (n, K) as log posteriors, in place."""
    # the peak goes first: far away, log joints are too large to carry the log of a sum
    log_joints -= log_joints.max(axis=1, keepdims=True)
    log_joints -= np.log(np.exp(log_joints).sum(axis=1, keepdims=True))
    return log_joints


class PosteriorMixin(ClassifierMixin):
    """Predictions of classes from their log joints, of whatever densities."""

    classes_: AnyArray
    priors_: FloatArray

    def _class_log_joint(self, X: Any, priors: Any = None) -> FloatArray:
        """log(pi_k f_k) of rows and classes, (n, K)."""
        raise NotImplementedError

    def _check_labeled(
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
        return log_normalized(self._class_log_joint(X, priors))

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
