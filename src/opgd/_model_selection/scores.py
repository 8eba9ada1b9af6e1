"""Scores of held-out samples from their log joints (n, K), codes (n,) and weights (n,)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from opgd.core.held_out import compute_log_odds
from opgd.core.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class Metric:
    """A score in two steps, so that samples may be summarized in parts.

    Parameters
    ----------
    summarize : maps log joints, codes and weights of some samples to a summary; summaries of
        several parts are added
    finish : maps the summary of all samples to the score
    """

    summarize: Callable[[FloatArray, IntArray, FloatArray], Any]
    finish: Callable[[Any], float]

    def __call__(self, log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> float:
        """Return the score of samples."""
        return self.finish(self.summarize(log_joint, codes, weights))


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


def score_accuracy(counts: FloatArray) -> float:
    """Return the share of samples whose class is predicted correctly."""
    hits, true, _ = counts.sum(axis=1)
    return float(hits / true)


def score_balanced_accuracy(counts: FloatArray) -> float:
    """Return the mean over classes of the share that is predicted correctly.

    Classes without held-out samples are left out.
    """
    hits, true, _ = counts
    present = true > 0
    return float(np.mean(hits[present] / true[present]))


def score_f1(counts: FloatArray) -> float:
    """Return the harmonic mean of precision and recall of the second class, or 0 without any."""
    return float(np.nan_to_num(_compute_f1(counts)[1]))


def score_f1_macro(counts: FloatArray) -> float:
    """Return the mean over classes of the harmonic means of precision and recall.

    Classes that neither occur nor are predicted are left out.
    """
    return float(np.nanmean(_compute_f1(counts)))


def _compute_f1(counts: FloatArray) -> FloatArray:
    hits, true, predicted = counts
    with np.errstate(invalid="ignore"):
        values: FloatArray = 2.0 * hits / (true + predicted)
    return values


RankedSamples = list[tuple[FloatArray, IntArray, FloatArray]]
"""Log odds (n, K), codes (n,) and weights (n,) of the samples of each part."""


def rank_samples(log_joint: FloatArray, codes: IntArray, weights: FloatArray) -> RankedSamples:
    """Return the log odds of samples, with their codes and weights."""
    return [(compute_log_odds(np.maximum(log_joint, -1e300)), codes, weights)]


def score_average_precision(parts: RankedSamples) -> float:
    """Return the average precision of the second class of two, or its mean over classes."""
    odds, codes, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    classes = [1] if odds.shape[1] == 2 else np.unique(codes).tolist()
    areas = [
        average_precision_score(codes == k, odds[:, k], sample_weight=weights)
        for k in classes
        if np.any(codes == k)
    ]
    return float(np.mean(areas)) if areas else float("nan")


METRICS: dict[str, Metric] = {
    "accuracy": Metric(count_by_class, score_accuracy),
    "balanced_accuracy": Metric(count_by_class, score_balanced_accuracy),
    "f1": Metric(count_by_class, score_f1),
    "f1_macro": Metric(count_by_class, score_f1_macro),
    "average_precision": Metric(rank_samples, score_average_precision),
}
"""Scores by the names of scikit-learn's scorers."""
FACTORED = ("accuracy", "balanced_accuracy")
"""Scores of samples that are weighted by class; the others depend on the shares of the classes."""


def is_quick(scoring: Any) -> bool:
    """Return whether a score follows from log joint densities, without a scorer."""
    return scoring is None or (isinstance(scoring, str) and scoring in (*METRICS, "neg_log_loss"))
