"""Classification performance: errors, log-loss and calibration of predicted probabilities."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import confusion_matrix

from opgd.core.types import AnyArray, FloatArray, IntArray

N_BINS = 10
MIN_PROBABILITY = float(np.finfo(np.float64).eps)
"""Lower bound to which probabilities are clipped, as in `sklearn.metrics.log_loss`."""

LOW_RECALL = 0.5
"""Classes with a lower recall are missed."""
MIN_EXCESS = 2.0
"""Ratio of errors to expected errors from which probabilities are too extreme."""


@dataclass(frozen=True)
class Evaluation:
    """Performance of predictions for labeled rows."""

    source: str  # "test", "cv" or "training"
    n_rows: int
    note: str  # describes how the predictions were computed
    error: float
    error_deviation: float  # standard error, assuming independent rows
    largest_class_error: float  # when always predicting the class with most rows
    log_loss: float
    calibration_error: float
    confusion: IntArray  # (K, K), rows are labels, columns predictions
    n_unknown: int  # rows whose label is not a class of the model; they count as errors
    calibration: dict[str, list[float]]  # by bin: low, high, n_rows, confidence, accuracy, ...

    @property
    def recalls(self) -> FloatArray:
        """Recall of each class, nan without rows, (K,)."""
        return _divide(np.diag(self.confusion), self.confusion.sum(axis=1))

    @property
    def precisions(self) -> FloatArray:
        """Precision of each class, nan without predictions, (K,)."""
        return _divide(np.diag(self.confusion), self.confusion.sum(axis=0))

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the recalls of the classes that have rows."""
        recalls = self.recalls[~np.isnan(self.recalls)]
        return float(recalls.mean()) if len(recalls) else float("nan")

    @property
    def missed_classes(self) -> list[int]:
        """Classes of which fewer than half of the rows are found, the lowest recall first."""
        order = np.argsort(self.recalls, kind="stable")  # nan is last
        return [int(k) for k in order if self.recalls[k] < LOW_RECALL]

    @property
    def n_missed(self) -> int:
        """Number of misclassified rows of the missed classes."""
        wrong = self.confusion.sum(axis=1) - np.diag(self.confusion)
        return int(wrong[self.missed_classes].sum())

    def confused_pairs(self, max_pairs: int = 10) -> list[tuple[int, int, int]]:
        """Return label, prediction and number of rows of the most frequent errors."""
        wrong = self.confusion - np.diag(np.diag(self.confusion))
        order = np.argsort(-wrong, axis=None, kind="stable")[:max_pairs]
        pairs = [divmod(int(cell), len(wrong)) for cell in order]
        return [(i, j, int(wrong[i, j])) for i, j in pairs if wrong[i, j]]

    @property
    def overconfidence(self) -> "Overconfidence | None":
        """Rows with high probabilities, if many more of them are wrong than the model expects."""
        table = self.calibration
        if table["low"][-1] < 1 - 1.5 / N_BINS:
            return None
        n_rows, confidence, accuracy = (
            table[key][-1] for key in ("n_rows", "confidence", "accuracy")
        )
        certain = table["accuracy_high"][-1] < confidence
        if not certain or 1 - accuracy < MIN_EXCESS * (1 - confidence):
            return None
        return Overconfidence(int(n_rows), confidence, accuracy, table["low"][-1])


@dataclass(frozen=True)
class Overconfidence:
    """Rows with high probabilities that are wrong more often than expected."""

    n_rows: int
    confidence: float  # mean probability of the predicted class
    accuracy: float
    above: float  # the least probability


def _divide(part: IntArray, whole: IntArray) -> FloatArray:
    shares: FloatArray = np.full(len(whole), np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def evaluate(probabilities: FloatArray, codes: IntArray, source: str, note: str) -> Evaluation:
    """Evaluate class probabilities (n, K) of labeled rows; code -1 is a label of no class."""
    n_rows, n_classes = probabilities.shape
    known = codes >= 0
    predicted = np.argmax(probabilities, axis=1)
    is_correct = predicted == codes
    classes = np.arange(n_classes)
    confusion = confusion_matrix(codes[known], predicted[known], labels=classes)
    label_probabilities = np.where(known, probabilities[np.arange(n_rows), codes], 0.0)
    error = float(np.mean(~is_correct))
    table = compute_calibration(probabilities.max(axis=1), is_correct)
    shares = np.array(table["n_rows"]) / n_rows
    gaps = np.abs(np.array(table["accuracy"]) - np.array(table["confidence"]))
    return Evaluation(
        source=source,
        n_rows=n_rows,
        note=note,
        error=error,
        error_deviation=float(np.sqrt(error * (1 - error) / n_rows)),
        largest_class_error=1.0 - confusion.sum(axis=1).max() / n_rows,
        log_loss=float(-np.mean(np.log(np.clip(label_probabilities, MIN_PROBABILITY, 1.0)))),
        calibration_error=float(shares @ gaps),
        confusion=confusion,
        n_unknown=int(np.sum(~known)),
        calibration=table,
    )


def compute_calibration(confidence: FloatArray, is_correct: AnyArray) -> dict[str, list[float]]:
    """Compute a calibration curve: bins of width 0.1 by predicted probability, without empty ones.

    Each bin has the accuracy with its 95% Wilson interval.
    """
    bins = np.clip(np.ceil(confidence * N_BINS).astype(int) - 1, 0, N_BINS - 1)
    counts = np.bincount(bins, minlength=N_BINS)
    filled = np.flatnonzero(counts)
    n = counts[filled].astype(float)
    mean = np.bincount(bins, confidence, N_BINS)[filled] / n
    accuracy = np.bincount(bins, is_correct, N_BINS)[filled] / n
    low, high = compute_wilson_interval(accuracy, n)
    return {
        "low": (filled / N_BINS).tolist(),
        "high": ((filled + 1) / N_BINS).tolist(),
        "n_rows": counts[filled].tolist(),
        "confidence": mean.tolist(),
        "accuracy": accuracy.tolist(),
        "accuracy_low": low.tolist(),
        "accuracy_high": high.tolist(),
    }


def compute_wilson_interval(shares: FloatArray, n: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Compute the ends of 95% Wilson intervals of shares among n rows each."""
    z = 1.959964
    middle = (shares + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(shares * (1 - shares) / n + z**2 / (4 * n**2))
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)
