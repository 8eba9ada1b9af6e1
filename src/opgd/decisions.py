"""Decisions with costs, and measures of decisions: mean cost, coverage of prediction sets."""

from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from opgd._base.shift import Drift, PriorEstimate
from opgd._utils.costs import (
    check_costs,
    check_reject_label,
    has_class_weight,
    make_rule,
    warn_about_class_weight,
)
from opgd._utils.labels import encode_labels, encode_true_labels, to_label_array
from opgd._utils.validation import check_positive, check_sample_weight
from opgd.core.types import AnyArray, FloatArray

__all__ = [
    "CostSensitiveClassifier",
    "Drift",
    "PriorEstimate",
    "label_sets",
    "mean_cost",
    "set_coverage",
]


def mean_cost(
    y_true: Any,
    y_pred: Any,
    *,
    costs: Any = None,
    labels: Any = None,
    sample_weight: Any = None,
    reject_cost: float | None = None,
    reject_label: Any = None,
) -> float:
    """Compute the mean cost of predictions.

    Use ``sklearn.metrics.make_scorer(mean_cost, greater_is_better=False, costs=...)`` as a scorer.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels.
    costs : array-like of shape (n_classes, n_classes), dict or data frame, default=None
        Costs of true classes (rows) and predicted classes (columns); a dict has pairs of labels
        (true, predicted) as keys, see `OPGDClassifier.predict`. None means 1 for each error, so
        that the result is the error rate.
    labels : array-like of shape (n_classes,), default=None
        Classes in the order of the rows of a matrix of costs. None means the sorted labels that
        occur in `y_true` or `y_pred`. Pass them for a scorer: a fold may lack a class.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples; equal weights by default.
    reject_cost : float, default=None
        Cost of each sample whose prediction is `reject_label`.
    reject_label : object, default=None
        Label of rejected samples.

    Returns
    -------
    cost : float

    Examples
    --------
    >>> from opgd.decisions import mean_cost
    >>> mean_cost(["ill", "ill", "well"], ["ill", "well", "ill"], costs={("ill", "well"): 10})
    3.6666666666666665
    """
    true = to_label_array(y_true)
    predicted = np.asarray(y_pred)
    check_consistent_length(true, predicted)
    rejected = np.zeros(len(true), dtype=bool)
    if reject_label is not None:
        rejected = np.array([label == reject_label for label in predicted.tolist()], dtype=bool)
    if rejected.any() and reject_cost is None:
        raise ValueError("y_pred has rejected samples; pass reject_cost, the cost of each.")
    decided = to_label_array(predicted[~rejected].tolist()) if rejected.any() else predicted
    classes = _find_classes(true, decided) if labels is None else np.asarray(labels)
    if reject_label is not None:
        check_reject_label(reject_label, classes)
    cells = np.zeros(len(true))
    if rejected.any():
        cells[rejected] = check_positive("reject_cost", reject_cost, or_zero=True)
    rows = _encode("y_true", true[~rejected], classes)
    cells[~rejected] = check_costs(costs, classes)[rows, _encode("y_pred", decided, classes)]
    return float(np.average(cells, weights=check_sample_weight(sample_weight, true)))


def _find_classes(true: AnyArray, predicted: AnyArray) -> AnyArray:
    return encode_labels(to_label_array([*true.tolist(), *predicted.tolist()]))[0]


def _encode(name: str, labels: AnyArray, classes: AnyArray) -> AnyArray:
    order = np.argsort(classes, kind="stable")
    if len(labels) == 0:
        return np.zeros(0, dtype=np.intp)
    codes = encode_true_labels(labels, classes[order])
    if np.any(codes < 0):
        unknown = labels[codes < 0].tolist()[0]
        raise ValueError(f"{name} has the label {unknown!r}, which is not among the classes.")
    return order[codes]


def label_sets(sets: Any, classes: Any) -> list[AnyArray]:
    """Convert prediction sets to arrays of labels.

    Parameters
    ----------
    sets : array-like of shape (n_samples, n_classes), of bool
        Result of `predict_set`.
    classes : array-like of shape (n_classes,)
        Class labels, ``model.classes_``.

    Returns
    -------
    labels : list of n_samples ndarrays
        The labels in each set; an empty array for an empty set.

    Examples
    --------
    >>> from opgd.decisions import label_sets
    >>> [labels.tolist() for labels in label_sets([[True, False], [True, True]], ["a", "b"])]
    [['a'], ['a', 'b']]
    """
    sets, classes = _check_sets(sets, classes)
    return [classes[row] for row in sets]


def set_coverage(
    y_true: Any, sets: Any, classes: Any, *, average: str | None = "micro"
) -> float | FloatArray:
    """Compute the share of samples whose prediction set contains the true label.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    sets : array-like of shape (n_samples, n_classes), of bool
        Result of `predict_set`.
    classes : array-like of shape (n_classes,)
        Class labels, ``model.classes_``.
    average : {"micro", None}, default="micro"
        "micro" averages over all samples. None returns the coverage of each class, NaN for classes
        that do not occur.

    Returns
    -------
    coverage : float, or ndarray of shape (n_classes,)
    """
    if average not in ("micro", None):
        raise ValueError(f"average must be 'micro' or None, got {average!r}.")
    sets, classes = _check_sets(sets, classes)
    true = to_label_array(y_true)
    check_consistent_length(true, sets)
    codes = _encode("y_true", true, classes)
    covered = sets[np.arange(len(codes)), codes]
    if average is not None:
        return float(covered.mean())
    counts = np.bincount(codes, minlength=len(classes))
    with np.errstate(invalid="ignore"):
        shares: FloatArray = np.bincount(codes, covered, len(classes)) / counts
    return shares


def _check_sets(sets: Any, classes: Any) -> tuple[AnyArray, AnyArray]:
    sets, classes = np.asarray(sets), np.asarray(classes)
    if sets.ndim != 2 or sets.dtype != bool or sets.shape[1] != len(classes):
        raise ValueError(
            f"sets must be an array of bool of shape (n_samples, {len(classes)}), got "
            f"{sets.dtype} of shape {sets.shape}."
        )
    return sets, classes


class CostSensitiveClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""Classifier that predicts the class of least expected cost.

    The probabilities are those of the wrapped estimator, which can be any classifier with
    `predict_proba` or a Pipeline that ends in one. `score` is minus the mean cost, so that
    `cross_val_score` and `GridSearchCV` minimize it. Classifiers of opgd accept costs in `predict`
    without this wrapper.

    Parameters
    ----------
    estimator : object
        Classifier with `predict_proba`. Its probabilities should be calibrated, as those of
        `OPGDClassifierCV` are, and refer to the class shares of new samples: do not combine costs
        with `class_weight`.
    costs : array-like of shape (n_classes, n_classes), dict or data frame, default=None
        Costs of true classes (rows) and predicted classes (columns), in the order of `classes_`.
        A dict has pairs of labels (true, predicted) as keys; correct predictions that are not in it
        cost 0, and errors that are not in it cost 1. None means that every error costs 1.
    reject_cost : float, default=None
        Cost of rejecting a sample. Samples for which every prediction has a larger expected cost
        are rejected.
    reject_below : float, default=None
        Samples whose predicted class has a probability below this are rejected.
    reject_label : object, default=None
        Label of rejected samples; it must not be a class. Required to reject.

    Attributes
    ----------
    estimator_ : object
        The fitted estimator.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features, if the estimator has this attribute.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the estimator has this attribute.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from opgd import CostSensitiveClassifier, OPGDClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> costs = {(0, 1): 10}  # predicting 1 where 0 is true costs ten times as much as the reverse
    >>> model = CostSensitiveClassifier(OPGDClassifier(), costs)
    >>> bool(cross_val_score(model, X, y).mean() > -0.5)
    True
    """

    def __init__(
        self,
        estimator: Any,
        costs: Any = None,
        *,
        reject_cost: float | None = None,
        reject_below: float | None = None,
        reject_label: Any = None,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.reject_cost = reject_cost
        self.reject_below = reject_below
        self.reject_label = reject_label

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights, passed to the estimator.
        **fit_params : dict
            Further arguments of the estimator's `fit`.

        Returns
        -------
        self : CostSensitiveClassifier
            Fitted estimator.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"estimator must be a classifier with predict_proba, got {self.estimator!r}."
            )
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        if get_config()["enable_metadata_routing"]:
            fit_params = dict(process_routing(self, "fit", **fit_params).estimator.fit)
        if self.costs is not None and has_class_weight(self.estimator):
            warn_about_class_weight()
        estimator = clone(self.estimator).fit(X, y, **fit_params)
        make_rule(estimator.classes_, *self._arguments())
        self.estimator_ = estimator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    @property
    def classes_(self) -> AnyArray:
        """Class labels."""
        classes: AnyArray = self.estimator_.classes_
        return classes

    def predict(self, X: Any) -> AnyArray:
        """Predict the class of least expected cost of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels, from `classes_`, or `reject_label`.
        """
        check_is_fitted(self)
        rule = make_rule(self.classes_, *self._arguments())
        return rule.decide(np.asarray(self.estimator_.predict_proba(X)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Compute the probabilities of the classes by the wrapped estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        posteriors : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        posteriors: FloatArray = self.estimator_.predict_proba(X)
        return posteriors

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute minus the mean cost of the predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; equal weights by default.

        Returns
        -------
        score : float
        """
        return -mean_cost(
            y,
            self.predict(X),
            costs=self.costs,
            labels=self.classes_,
            sample_weight=sample_weight,
            reject_cost=self.reject_cost,
            reject_label=self.reject_label,
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing of the wrapped estimator.

        Returns
        -------
        routing : MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags = inner.classifier_tags
        return tags

    def _arguments(self) -> tuple[Any, Any, Any, Any]:
        return self.costs, self.reject_cost, self.reject_below, self.reject_label
