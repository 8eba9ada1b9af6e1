"""Receiver operating characteristics and precision-recall curves of given probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.core.types import FloatArray, IntArray
from opgd.inspection.curves import ClassCurve, trace_curves

MAX_CURVES = 8
MAX_POINTS = 150
"""Maximum number of points of a curve; the others are left out."""


@dataclass(frozen=True)
class Curves:
    """Curves of some classes against the others, the smallest classes first."""

    classes: list[int]
    roc: list[ClassCurve]
    precision: list[ClassCurve]


class _Predictions:
    """Probabilities that were computed before, with the methods of a fitted classifier."""

    def __init__(self, probabilities: FloatArray) -> None:
        self.classes_ = np.arange(probabilities.shape[1])
        self.probabilities = probabilities

    def predict_log_proba(self, X: Any) -> FloatArray:  # noqa: ARG002
        """Return the logarithms of the probabilities."""
        return np.log(np.maximum(self.probabilities, np.finfo(np.float64).tiny))


def trace_predicted_curves(probabilities: FloatArray, codes: IntArray) -> Curves | None:
    """Return the curves of the second of two classes, or of the smallest of several.

    None if there are rows of one class only.
    """
    sizes = np.bincount(codes[codes >= 0], minlength=probabilities.shape[1])
    present = np.flatnonzero(sizes)
    if len(present) < 2:
        return None
    smallest = present[np.argsort(sizes[present], kind="stable")][:MAX_CURVES]
    labels = [int(k) for k in smallest] if probabilities.shape[1] > 2 else [1]
    model = _Predictions(probabilities)
    return Curves(
        labels,
        *(
            [_thin(curve) for curve in trace_curves(kind, model, None, codes, labels=labels)]
            for kind in ("roc", "precision_recall")
        ),
    )


def _thin(curve: ClassCurve) -> ClassCurve:
    """Return the curve with at most MAX_POINTS points, evenly spaced along its length."""
    if len(curve.x) <= MAX_POINTS:
        return curve
    steps = np.abs(np.diff(curve.x)) + np.abs(np.diff(curve.y))
    length = np.concatenate([[0.0], np.cumsum(steps)])
    places = np.searchsorted(length, np.linspace(0, length[-1], MAX_POINTS))
    places = np.unique(np.append(places, [0, len(curve.x) - 1]))
    return ClassCurve(curve.label, curve.x[places], curve.y[places], curve.area, curve.share)
