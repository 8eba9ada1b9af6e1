"""Mean costs of decisions against the share of rejected samples and the decision threshold."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd._utils.costs import check_costs
from opgd._utils.labels import encode_true_labels
from opgd.core.types import AnyArray, FloatArray, IntArray

THRESHOLDS = np.linspace(0, 1, 201)
MIN_DECIDED, MIN_SHARE = 20, 0.05
"""Means over fewer samples, or a smaller share of them, are too noisy to show."""


@dataclass(frozen=True, eq=False)
class CostCurve:
    """Mean costs of a rule.

    Attributes
    ----------
    name : str
        The rule.
    x : ndarray of shape (n_points,)
        Shares of rejected samples, or thresholds.
    costs : ndarray of shape (n_points,)
        Mean costs of the samples that are not rejected.
    """

    name: str
    x: FloatArray
    costs: FloatArray


@dataclass(frozen=True, eq=False)
class CostCurves:
    """Mean costs of decisions with known true classes.

    Attributes
    ----------
    by_rejection : list of CostCurve
        For the rules "most probable class" and "least expected cost", mean costs of the decided
        samples if those with the largest expected costs are rejected.
    by_threshold : CostCurve or None
        With two classes, mean costs if the second is predicted from a probability on.
    threshold : float or None
        The threshold of least expected cost according to the costs.
    """

    by_rejection: list[CostCurve]
    by_threshold: CostCurve | None
    threshold: float | None


def trace_costs(posteriors: Any, y: Any, classes: AnyArray, costs: Any) -> CostCurves:
    """Compute mean costs of decisions from probabilities, (n, K), and true labels."""
    posteriors = np.asarray(posteriors, dtype=np.float64)
    classes = np.asarray(classes)
    if posteriors.ndim != 2 or posteriors.shape[1] != len(classes):
        raise ValueError(
            f"Probabilities must have shape (n_samples, {len(classes)}), got {posteriors.shape}."
        )
    codes = encode_true_labels(y, classes)
    if len(codes) != len(posteriors):
        raise ValueError(f"y_true has {len(codes)} labels for {len(posteriors)} samples.")
    if np.any(codes < 0) or len(codes) == 0:
        raise ValueError("y_true must have one or more labels, all of them among the classes.")
    matrix = check_costs(costs, classes)
    expected = posteriors @ matrix
    decisions = {"least expected cost": np.argmin(expected, axis=1)}
    if costs is not None:
        decisions = {"most probable class": np.argmax(posteriors, axis=1)} | decisions
    curves = [
        _reject(name, expected, predicted, matrix[codes, predicted])
        for name, predicted in decisions.items()
    ]
    if len(classes) != 2:
        return CostCurves(curves, None, None)
    return CostCurves(curves, *_vary_threshold(posteriors[:, 1], codes, matrix))


def _reject(
    name: str, expected: FloatArray, predicted: IntArray, incurred: FloatArray
) -> CostCurve:
    n = len(predicted)
    order = np.argsort(expected[np.arange(n), predicted], kind="stable")
    n_decided = np.arange(1, n + 1)
    means = np.cumsum(incurred[order]) / n_decided
    kept = n_decided >= max(min(MIN_DECIDED, n), MIN_SHARE * n)
    return CostCurve(name, (1 - n_decided / n)[kept][::-1], means[kept][::-1])


def _vary_threshold(
    probabilities: FloatArray, codes: IntArray, matrix: FloatArray
) -> tuple[CostCurve, float | None]:
    predicted = (probabilities[:, None] >= THRESHOLDS).astype(np.intp)
    means = matrix[codes[:, None], predicted].mean(axis=0)
    missed, alarm = matrix[1, 0] - matrix[1, 1], matrix[0, 1] - matrix[0, 0]
    best = float(alarm / (alarm + missed)) if missed > 0 and alarm > 0 else None
    return CostCurve("threshold", THRESHOLDS, means), best
