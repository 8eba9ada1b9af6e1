"""Classification performance: errors, log-loss and calibration of predicted probabilities."""

from dataclasses import dataclass

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray

N_BINS = 10
SMALLEST = float(np.finfo(np.float64).eps)
"""Probabilities are clipped to at least this, as in scikit-learn's log-loss."""


@dataclass(frozen=True)
class Evaluation:
    """Performance of predictions for labeled rows."""

    source: str  # "test", "cv" or "training"
    n_rows: int
    note: str  # in words, where the predictions come from
    error: float
    error_deviation: float  # standard error, as of independent rows
    largest_class_error: float  # of always predicting the class with most rows
    log_loss: float
    calibration_error: float
    confusion: IntArray  # (K, K), rows are labels, columns predictions
    n_unknown: int  # rows with a label that the model does not have; they count as wrong
    calibration: dict[str, list[float]]  # by bin: low, high, n_rows, confidence, accuracy, ...

    @property
    def recalls(self) -> FloatArray:
        """Share of each class's rows that are given to it, nan without rows, (K,)."""
        return _divide(np.diag(self.confusion), self.confusion.sum(axis=1))

    @property
    def precisions(self) -> FloatArray:
        """Share of the rows given to each class that belong to it, nan without rows, (K,)."""
        return _divide(np.diag(self.confusion), self.confusion.sum(axis=0))

    def confused_pairs(self, most: int = 10) -> list[tuple[int, int, int]]:
        """Label, prediction and number of rows of the most frequent mistakes."""
        wrong = self.confusion - np.diag(np.diag(self.confusion))
        order = np.argsort(-wrong, axis=None, kind="stable")[:most]
        pairs = [divmod(int(cell), len(wrong)) for cell in order]
        return [(i, j, int(wrong[i, j])) for i, j in pairs if wrong[i, j]]


def _divide(part: IntArray, whole: IntArray) -> FloatArray:
    shares: FloatArray = np.full(len(whole), np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def evaluate(probabilities: FloatArray, codes: IntArray, source: str, note: str) -> Evaluation:
    """Evaluate class probabilities (n, K) of labeled rows; the code -1 is an unknown class."""
    n_rows, n_classes = probabilities.shape
    known = codes >= 0
    predicted = np.argmax(probabilities, axis=1)
    right = predicted == codes
    cells = codes[known] * n_classes + predicted[known]
    confusion = np.bincount(cells, minlength=n_classes**2).reshape(n_classes, n_classes)
    label_probabilities = np.where(known, probabilities[np.arange(n_rows), codes], 0.0)
    error = float(np.mean(~right))
    table = compute_calibration(probabilities.max(axis=1), right)
    shares = np.array(table["n_rows"]) / n_rows
    gaps = np.abs(np.array(table["accuracy"]) - np.array(table["confidence"]))
    return Evaluation(
        source=source,
        n_rows=n_rows,
        note=note,
        error=error,
        error_deviation=float(np.sqrt(error * (1 - error) / n_rows)),
        largest_class_error=1.0 - confusion.sum(axis=1).max() / n_rows,
        log_loss=float(-np.mean(np.log(np.clip(label_probabilities, SMALLEST, 1.0)))),
        calibration_error=float(shares @ gaps),
        confusion=confusion,
        n_unknown=int(np.sum(~known)),
        calibration=table,
    )


def compute_calibration(confidence: FloatArray, right: AnyArray) -> dict[str, list[float]]:
    """Bin rows by the probability of their predicted class, in tenths; skip bins without rows.

    Each bin has Wilson's interval (95 %) for the share of right predictions.
    """
    bins = np.clip(np.ceil(confidence * N_BINS).astype(int) - 1, 0, N_BINS - 1)
    counts = np.bincount(bins, minlength=N_BINS)
    filled = np.flatnonzero(counts)
    n = counts[filled].astype(float)
    mean = np.bincount(bins, confidence, N_BINS)[filled] / n
    accuracy = np.bincount(bins, right, N_BINS)[filled] / n
    z = 1.959964
    middle = (accuracy + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(accuracy * (1 - accuracy) / n + z**2 / (4 * n**2))
    return {
        "low": (filled / N_BINS).tolist(),
        "high": ((filled + 1) / N_BINS).tolist(),
        "n_rows": counts[filled].tolist(),
        "confidence": mean.tolist(),
        "accuracy": accuracy.tolist(),
        "accuracy_low": np.clip(middle - half, 0, 1).tolist(),
        "accuracy_high": np.clip(middle + half, 0, 1).tolist(),
    }
