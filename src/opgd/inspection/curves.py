"""Receiver operating characteristics and precision-recall curves, one class against the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve
from sklearn.utils import check_consistent_length

from opgd._utils.labels import encode_true_labels
from opgd._utils.validation import check_sample_weight
from opgd.core.types import AnyArray, FloatArray


@dataclass(frozen=True, eq=False)
class ClassCurve:
    """A curve of one class against the others.

    Attributes
    ----------
    label : object
        The class.
    x, y : ndarray of shape (n_points,)
        False and true positive rates, or recalls and precisions.
    area : float
        Area under the curve; for precision and recall, the average precision.
    share : float
        Share of the class among the samples.
    """

    label: Any
    x: FloatArray
    y: FloatArray
    area: float
    share: float


def trace_curves(
    kind: str,
    estimator: Any,
    X: Any,
    y: Any,
    *,
    labels: Sequence[Any] | None = None,
    sample_weight: Any = None,
) -> list[ClassCurve]:
    """Compute the curves of some classes, those that occur in y by default.

    `kind` is "roc" or "precision_recall". Of two classes, the second is the default.
    """
    if not hasattr(estimator, "predict_log_proba"):
        raise TypeError(
            f"Expected a fitted classifier with predict_log_proba, got {type(estimator).__name__}."
        )
    scores = np.asarray(estimator.predict_log_proba(X))
    classes = np.asarray(estimator.classes_)
    return trace_probability_curves(
        kind, scores, y, classes, labels=labels, sample_weight=sample_weight
    )


def trace_probability_curves(
    kind: str,
    scores: FloatArray,
    y: Any,
    classes: AnyArray,
    *,
    labels: Sequence[Any] | None = None,
    sample_weight: Any = None,
) -> list[ClassCurve]:
    """Compute the curves of some classes from log probabilities `scores`, (n, K)."""
    if scores.ndim != 2 or scores.shape[1] != len(classes):
        raise ValueError(
            f"Probabilities must have shape (n_samples, {len(classes)}), got {scores.shape}."
        )
    codes = encode_true_labels(y, classes)
    check_consistent_length(scores, codes)
    weights = check_sample_weight(sample_weight, scores)
    chosen = _choose_classes(classes, codes, labels)
    trace = {"roc": _trace_roc, "precision_recall": _trace_precision}[kind]
    return [trace(classes[k], codes == k, _log_odds(scores, k), weights) for k in chosen]


def _choose_classes(classes: AnyArray, codes: AnyArray, labels: Sequence[Any] | None) -> list[int]:
    if labels is None:
        present = [int(k) for k in np.unique(codes) if k >= 0]
        if len(present) < 2:
            raise ValueError("Curves need samples of at least two classes of the estimator in y.")
        return [1] if len(classes) == 2 else present
    known = classes.tolist()
    unknown = [label for label in labels if label not in known]
    if unknown:
        raise ValueError(f"labels must be classes of the estimator; unknown: {unknown}.")
    chosen = [known.index(label) for label in labels]
    for k in chosen:
        if not 0 < np.mean(codes == k) < 1:
            raise ValueError(f"y must have samples of class {known[k]!r} and of other classes.")
    return chosen


def _log_odds(log_posteriors: FloatArray, k: int) -> FloatArray:
    """Return log p_k - log(1 - p_k), accurate also near p_k = 1, (n,)."""
    others = np.delete(log_posteriors, k, axis=1)
    with np.errstate(divide="ignore"):
        return log_posteriors[:, k] - np.logaddexp.reduce(others, axis=1)


def _trace_roc(
    label: Any, positive: AnyArray, scores: FloatArray, weights: FloatArray | None
) -> ClassCurve:
    x, y, _ = roc_curve(positive, scores, sample_weight=weights)
    return ClassCurve(label, x, y, float(auc(x, y)), _share(positive, weights))


def _trace_precision(
    label: Any, positive: AnyArray, scores: FloatArray, weights: FloatArray | None
) -> ClassCurve:
    precision, recall, _ = precision_recall_curve(positive, scores, sample_weight=weights)
    area = float(average_precision_score(positive, scores, sample_weight=weights))
    return ClassCurve(label, recall, precision, area, _share(positive, weights))


def _share(positive: AnyArray, weights: FloatArray | None) -> float:
    return float(np.average(positive, weights=weights))
