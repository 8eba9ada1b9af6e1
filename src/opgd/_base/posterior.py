"""Predicted labels and probabilities from log joint densities of the classes."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length

from opgd._base.prediction_sets import PredictionSetMixin
from opgd._base.shift import PriorShiftMixin
from opgd._dask.lazy import compute_eagerly, match_input_type
from opgd._utils.costs import make_rule, warn_about_class_weight
from opgd._utils.features import validate_features
from opgd._utils.labels import (
    encode_classes,
    encode_known_labels,
    encode_labels,
    encode_true_labels,
    to_label_array,
)
from opgd._utils.validation import check_priors, check_sample_weight
from opgd.core.scoring import normalize_log_joints
from opgd.core.types import AnyArray, FloatArray, IntArray


class PosteriorMixin(PredictionSetMixin, PriorShiftMixin, ClassifierMixin):
    """Mixin for classifiers that predict from log joint densities of the classes."""

    classes_: AnyArray
    priors_: FloatArray

    def _class_log_joint(self, X: Any, priors: Any = None) -> FloatArray:
        """Return log(pi_k f_k) for samples and classes, (n, K)."""
        raise NotImplementedError

    def _density_log_joint(self, X: Any) -> FloatArray:
        """Return log(pi_k f_k) without what calibration mixes into the posteriors, (n, K)."""
        return self._class_log_joint(X)

    def _log_prior_ratios(self, priors: Any) -> FloatArray:
        """Return the logarithms of given priors divided by those of the fit, (K,)."""
        return np.log(check_priors(priors, self.classes_, self.priors_)) - np.log(self.priors_)

    def _check_labeled(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[AnyArray, AnyArray, IntArray, FloatArray | None]:
        """Validate; return samples of positive weight, classes, codes of labels, and weights."""
        X, labels = self._check_X_y(X, y)
        weights = check_sample_weight(sample_weight, X)
        if weights is None or np.all(weights):
            return X, *encode_classes(labels), weights
        present = weights > 0  # a class whose weights are all 0 is not a class
        return X[present], *encode_classes(labels, present), weights[present]

    def _check_dask_labeled(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Validate Dask input; return its samples of positive weight, a `LazyRows`."""
        from opgd._dask.inputs import validate_dask_input

        self._check_labels_given(y)
        return validate_dask_input(self, X, y, sample_weight, encode_labels, encode_known_labels)

    def _check_labels_given(self, y: Any) -> None:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )

    def _check_X_y(self, X: Any, y: Any) -> tuple[AnyArray, AnyArray]:  # noqa: N802
        """Validate X and convert y; missing labels and labels of several types are not refused."""
        self._check_labels_given(y)
        allow_nan: bool = getattr(self, "_allow_missing", False)
        X = validate_features(self, X, min_samples=2, allow_nan=allow_nan)
        labels = to_label_array(y)
        check_consistent_length(X, labels)
        return X, labels

    @match_input_type
    def decision_function(self, X: Any, priors: Any = None) -> FloatArray:
        r"""Compute the log joint density of each sample and class; for two classes, the log odds.

        With priors :math:`\pi_k` and densities :math:`f_k`, the log joint density of a sample
        :math:`x` and class :math:`k` is

        .. math::

            \log \pi_k + \log f_k(x)

        up to a constant that is equal for all classes of a sample. Calibrated classifiers return
        the logarithms of their calibrated probabilities. For two classes, the value of the first
        is subtracted from that of the second.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        priors : "uniform", array-like of shape (n_classes,) or dict {label: prior}, default=None
            Prior probabilities of the classes. Pass them if the class frequencies in X differ from
            those in the training data. None uses ``priors_``.

        Returns
        -------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        by_class = self._class_log_joint(X, priors)
        if len(self.classes_) == 2:
            return by_class[:, 1] - by_class[:, 0]
        return by_class

    @match_input_type
    def predict(
        self,
        X: Any,
        priors: Any = None,
        *,
        costs: Any = None,
        reject_cost: float | None = None,
        reject_below: float | None = None,
        reject_label: Any = None,
    ) -> AnyArray:
        r"""Predict the most probable class of each sample, or that of least expected cost.

        With costs :math:`c_{kl}` of predicting class :math:`l` where :math:`k` is true, the
        expected cost of predicting class :math:`l` for sample :math:`x_i` with posterior
        probabilities :math:`p_{ik}` is

        .. math::

            \sum_k p_{ik} c_{kl}.

        The class with the smallest expected cost is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        priors : "uniform", array-like of shape (n_classes,) or dict {label: prior}, default=None
            Prior probabilities of the classes. Pass them if the class frequencies in X differ from
            those in the training data. None uses ``priors_``.
        costs : array-like of shape (n_classes, n_classes), dict or data frame, default=None
            Costs of true classes (rows) and predicted classes (columns), in the order of
            ``classes_``. A dict has pairs of labels (true, predicted) as keys; correct predictions
            that are not in it cost 0, and errors that are not in it cost 1. A pandas data frame
            has true labels as its index and predicted labels as its columns. None means that every
            error costs 1, so that the most probable class is predicted.
        reject_cost : float, default=None
            Cost of rejecting a sample. Samples for which every prediction has a larger expected
            cost are rejected.
        reject_below : float, default=None
            Samples whose predicted class has a probability below this are rejected.
        reject_label : object, default=None
            Label of rejected samples; it must not be a class. Required to reject.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels, from ``classes_``, or `reject_label`.
        """
        if costs is None and reject_cost is None and reject_below is None and reject_label is None:
            log_joint = self._class_log_joint(X, priors)  # refuses estimators that are not fitted
            labels: AnyArray = self.classes_[log_joint.argmax(axis=1)]
            return labels
        log_posteriors = normalize_log_joints(self._class_log_joint(X, priors))
        rule = make_rule(self.classes_, costs, reject_cost, reject_below, reject_label)
        if costs is not None and priors is None and getattr(self, "class_weight", None) is not None:
            warn_about_class_weight()
        return rule.decide(np.exp(log_posteriors))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the accuracy: the share of samples whose class is predicted correctly.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; equal weights by default.

        Returns
        -------
        accuracy : float
        """
        predicted = compute_eagerly(self.predict(X))
        codes = encode_true_labels(compute_eagerly(y), self.classes_)
        check_consistent_length(predicted, codes)
        correct = codes == encode_known_labels(predicted, self.classes_)
        weights = check_sample_weight(compute_eagerly(sample_weight), predicted)
        return float(np.average(correct, weights=weights))

    @match_input_type
    def predict_log_proba(self, X: Any, priors: Any = None) -> FloatArray:
        """Compute the logarithms of the posterior probabilities of the classes.

        The result is accurate even where the probabilities themselves round to 0 or 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        priors : "uniform", array-like of shape (n_classes,) or dict {label: prior}, default=None
            Prior probabilities of the classes. Pass them if the class frequencies in X differ from
            those in the training data. None uses ``priors_``.

        Returns
        -------
        log_posteriors : ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        return normalize_log_joints(self._class_log_joint(X, priors))

    @match_input_type
    def predict_proba(self, X: Any, priors: Any = None) -> FloatArray:
        r"""Compute the posterior probabilities of the classes.

        .. math::

            p_{ik} = \frac{\pi_k f_k(x_i)}{\sum_l \pi_l f_l(x_i)}

        where :math:`\pi_k` is the prior probability and :math:`f_k` the density of class :math:`k`.
        The probabilities of `OPGDClassifierCV` are calibrated, see there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        priors : "uniform", array-like of shape (n_classes,) or dict {label: prior}, default=None
            Prior probabilities of the classes. Pass them if the class frequencies in X differ from
            those in the training data. None uses ``priors_``.

        Returns
        -------
        posteriors : ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X, priors))
