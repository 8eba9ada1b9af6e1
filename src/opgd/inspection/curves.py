"""Receiver operating characteristics and precision-recall curves, one class against the others."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from opgd.core.types import FloatArray, IntArray

MAX_CURVES = 8
MAX_POINTS = 150
"""Maximum number of points of a curve; the others are left out."""


@dataclass(frozen=True, eq=False)
class ClassCurves:
    """The two curves of one class, whose rows are positive."""

    code: int
    share: float  # of the class among the rows
    roc: FloatArray  # (n_points, 2), false and true positive rates
    roc_area: float
    precision: FloatArray  # (n_points, 2), recalls and precisions
    average_precision: float


def trace_curves(probabilities: FloatArray, codes: IntArray) -> list[ClassCurves] | None:
    """Return the curves of the second of two classes, or of the smallest of several.

    None if there are rows of one class only; code -1 is a label of no class.
    """
    n_classes = probabilities.shape[1]
    sizes = np.bincount(codes[codes >= 0], minlength=n_classes)
    present = np.flatnonzero(sizes)
    if len(present) < 2:
        return None
    smallest = present[np.argsort(sizes[present], kind="stable")][:MAX_CURVES]
    return [_trace(probabilities, codes, int(k)) for k in ([1] if n_classes == 2 else smallest)]


def _trace(probabilities: FloatArray, codes: IntArray, k: int) -> ClassCurves:
    positive, scores = codes == k, probabilities[:, k]
    false, true, _ = roc_curve(positive, scores)
    precision, recall, _ = precision_recall_curve(positive, scores)
    return ClassCurves(
        code=k,
        share=float(positive.mean()),
        roc=_thin(np.column_stack([false, true])),
        roc_area=float(auc(false, true)),
        precision=_thin(np.column_stack([recall, precision])),
        average_precision=float(average_precision_score(positive, scores)),
    )


def _thin(points: FloatArray) -> FloatArray:
    """Return at most MAX_POINTS points of a curve, evenly spaced along its length."""
    if len(points) <= MAX_POINTS:
        return points
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(points, axis=0)).sum(axis=1))])
    places = np.searchsorted(length, np.linspace(0, length[-1], MAX_POINTS))
    return points[np.unique(np.append(places, [0, len(points) - 1]))]
