"""Scores of held-out samples from their log joints (n, K), codes (n,) and weights (n,)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from opgd.core.held_out import compute_log_odds
from opgd.core.types import AnyArray, FloatArray, IntArray

Metric = Callable[[FloatArray, IntArray, FloatArray], float]
"""Map log joints, codes and weights of samples to a score."""


def count_by_class(log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """Return the weights of correct, true and predicted samples of each class, (3, K)."""
    predicted = np.argmax(log_joint, axis=1)

    def total(groups: AnyArray, amounts: FloatArray) -> FloatArray:
        return np.bincount(groups, amounts, log_joint.shape[1]).astype(np.float64)

    return np.stack(
        [
            total(codes, weights * (predicted == codes)),
            total(codes, weights),
            total(predicted, weights),
        ]
    )


def score_accuracy(log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """Return the share of samples whose class is predicted correctly."""
    hits, true, _ = count_by_class(log_joint, codes, weights).sum(axis=1)
    return float(hits / true)


def score_balanced_accuracy(log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """Return the mean over classes of the share that is predicted correctly.

    Classes without held-out samples are left out.
    """
    hits, true, _ = count_by_class(log_joint, codes, weights)
    present = true > 0
    return float(np.mean(hits[present] / true[present]))


def score_f1(log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """Return the harmonic mean of precision and recall of the second class, or 0 without any."""
    return float(np.nan_to_num(_compute_f1(log_joint, codes, weights)[1]))


def score_f1_macro(log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """Return the mean over classes of the harmonic means of precision and recall.

    Classes that neither occur nor are predicted are left out.
    """
    return float(np.nanmean(_compute_f1(log_joint, codes, weights)))


def _compute_f1(log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    hits, true, predicted = count_by_class(log_joint, codes, weights)
    with np.errstate(invalid="ignore"):
        values: FloatArray = 2.0 * hits / (true + predicted)
    return values


def score_average_precision(log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """Return the average precision of the second class of two, or its mean over classes."""
    odds = compute_log_odds(np.maximum(log_joint, -1e300))
    classes = [1] if odds.shape[1] == 2 else np.unique(codes).tolist()
    areas = [
        average_precision_score(codes == k, odds[:, k], sample_weight=weights)
        for k in classes
        if np.any(codes == k)
    ]
    return float(np.mean(areas)) if areas else float("nan")


METRICS: dict[str, Metric] = {
    "accuracy": score_accuracy,
    "balanced_accuracy": score_balanced_accuracy,
    "f1": score_f1,
    "f1_macro": score_f1_macro,
    "average_precision": score_average_precision,
}
"""Scores by the names of scikit-learn's scorers."""
FACTORED = ("accuracy", "balanced_accuracy")
"""Scores of samples that are weighted by class; the others depend on the shares of the classes."""


def is_quick(scoring: Any) -> bool:
    """Return whether a score follows from log joint densities, without a scorer."""
    return scoring is None or (isinstance(scoring, str) and scoring in (*METRICS, "neg_log_loss"))
