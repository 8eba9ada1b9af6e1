"""How well classes are told apart: predictions for rows, and the numbers made of them."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from opgd._utils.validation import check_integer
from opgd.core.types import AnyArray, FloatArray, IntArray

MOST_ROWS = 20_000
MOST_VALUES = 1_000_000
N_BINS = 10
CUT = float(np.finfo(np.float64).eps)
"""Probabilities are cut here, as in scikit-learn's log-loss."""


@dataclass(frozen=True)
class Evaluation:
    """Numbers of predictions for labelled rows."""

    source: str  # "test", "cv" or "training"
    n_rows: int
    note: str  # in words, where the predictions come from
    error: float
    error_deviation: float  # standard error, as of independent rows
    largest_class_error: float  # of always predicting the class with most rows
    log_loss: float
    calibration_error: float
    confusion: IntArray  # (K, K), rows are labels, columns predictions
    n_unknown: int  # rows whose label is no class of the model; they count as wrong
    calibration: dict[str, list[float]]  # by bin: low, high, n_rows, confidence, accuracy, ...

    @property
    def recalls(self) -> FloatArray:
        """Share of each class's rows that are given to it, nan without rows, (K,)."""
        return _shares(np.diag(self.confusion), self.confusion.sum(axis=1))

    @property
    def precisions(self) -> FloatArray:
        """Share of the rows given to each class that belong to it, nan without rows, (K,)."""
        return _shares(np.diag(self.confusion), self.confusion.sum(axis=0))

    def confused_pairs(self, most: int = 10) -> list[tuple[int, int, int]]:
        """Label, prediction and number of rows of the most frequent mistakes."""
        wrong = self.confusion - np.diag(np.diag(self.confusion))
        order = np.argsort(-wrong, axis=None, kind="stable")[:most]
        pairs = [divmod(int(cell), len(wrong)) for cell in order]
        return [(i, j, int(wrong[i, j])) for i, j in pairs if wrong[i, j]]


def _shares(part: IntArray, whole: IntArray) -> FloatArray:
    shares: FloatArray = np.full(len(whole), np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def evaluate(probabilities: FloatArray, codes: IntArray, source: str, note: str) -> Evaluation:
    """Numbers of class probabilities (n, K) for rows of known classes; a code of -1 is no class."""
    n_rows, n_classes = probabilities.shape
    known = codes >= 0
    predicted = np.argmax(probabilities, axis=1)
    right = predicted == codes
    cells = codes[known] * n_classes + predicted[known]
    confusion = np.bincount(cells, minlength=n_classes**2).reshape(n_classes, n_classes)
    own = np.where(known, probabilities[np.arange(n_rows), codes], 0.0)
    error = float(np.mean(~right))
    table = calibration_table(probabilities.max(axis=1), right)
    shares = np.array(table["n_rows"]) / n_rows
    gaps = np.abs(np.array(table["accuracy"]) - np.array(table["confidence"]))
    return Evaluation(
        source=source,
        n_rows=n_rows,
        note=note,
        error=error,
        error_deviation=float(np.sqrt(error * (1 - error) / n_rows)),
        largest_class_error=1.0 - confusion.sum(axis=1).max() / n_rows,
        log_loss=float(-np.mean(np.log(np.clip(own, CUT, 1.0)))),
        calibration_error=float(shares @ gaps),
        confusion=confusion,
        n_unknown=int(np.sum(~known)),
        calibration=table,
    )


def calibration_table(confidence: FloatArray, right: AnyArray) -> dict[str, list[float]]:
    """Rows by the probability of their predicted class, in tenths; bins without rows left out.

    With Wilson's interval (95 %) for the share of right predictions.
    """
    bins = np.clip(np.ceil(confidence * N_BINS).astype(int) - 1, 0, N_BINS - 1)
    counts = np.bincount(bins, minlength=N_BINS)
    own = np.flatnonzero(counts)
    n = counts[own].astype(float)
    mean = np.bincount(bins, confidence, N_BINS)[own] / n
    accuracy = np.bincount(bins, right, N_BINS)[own] / n
    z = 1.959964
    middle = (accuracy + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(accuracy * (1 - accuracy) / n + z**2 / (4 * n**2))
    return {
        "low": (own / N_BINS).tolist(),
        "high": ((own + 1) / N_BINS).tolist(),
        "n_rows": counts[own].tolist(),
        "confidence": mean.tolist(),
        "accuracy": accuracy.tolist(),
        "accuracy_low": np.clip(middle - half, 0, 1).tolist(),
        "accuracy_high": np.clip(middle + half, 0, 1).tolist(),
    }


def left_out_probabilities(
    estimator: Any,
    X: AnyArray,
    y: AnyArray,
    codes: IntArray,
    cv: int,
    groups: AnyArray | None = None,
) -> tuple[FloatArray | None, str]:
    """Probabilities for labelled rows by copies that have not seen them, (n, K), and how.

    Rows without a label stay in every training part, and get nan. With groups (n,), a copy has
    seen no row of the groups that it predicts, labelled or not. None, and the reason, where there
    is no cross-validation.
    """
    check_integer("cv", cv)
    labelled = np.flatnonzero(codes >= 0)
    smallest = int(np.bincount(codes[labelled], minlength=len(estimator.classes_)).min())
    folds = min(cv, smallest)
    if groups is not None:
        folds = min(folds, len(np.unique(groups[labelled])))
    if cv < 2:
        return None, "cross-validation was not asked for"
    if len(X) > MOST_ROWS or X.size > MOST_VALUES:
        return None, "there are too many rows to fit copies without some of them"
    if smallest < 2:
        return None, "a class has fewer than two labelled rows"
    if folds < 2:
        return None, "all labelled rows are of one group"
    model = getattr(estimator, "best_estimator_", estimator)
    probabilities = np.full((len(X), len(estimator.classes_)), np.nan)
    splits = _splits(labelled, codes, folds, groups)
    if any(_lacks_a_class(codes[seen], len(estimator.classes_)) for seen, _ in splits):
        return None, "some class is only in groups that would be left out together"
    for seen, out in splits:
        copy = clone(model)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all rows has said what there is to say
                copy.fit(X[seen], y[seen])
        except ValueError as error:
            return None, f"a fit to part of the rows failed: {error}"
        copy._set_temperature(model._projection.temperature)
        probabilities[out] = copy.predict_proba(X[out])
    chosen = "with the chosen settings, " if model is not estimator else ""
    together = "" if groups is None else " of groups"
    return probabilities, (
        f"each of {len(splits)} folds{together} was predicted by a copy of the model, {chosen}"
        "fitted to the others"
    )


def _splits(
    labelled: IntArray, codes: IntArray, folds: int, groups: AnyArray | None
) -> list[tuple[IntArray, IntArray]]:
    """Rows to fit to and labelled rows to predict, fold by fold."""
    everything = np.arange(len(codes))
    if groups is None:
        alone = StratifiedKFold(folds, shuffle=True, random_state=0)
        parts = [labelled[part] for _, part in alone.split(labelled, codes[labelled])]
        return [(np.setdiff1d(everything, out), out) for out in parts]
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=0)
    own = splitter.split(labelled, codes[labelled], groups[labelled])
    parts = [labelled[part] for _, part in own if len(part)]  # few large groups can leave it empty
    return [(np.flatnonzero(~np.isin(groups, groups[out])), out) for out in parts]


def _lacks_a_class(codes: IntArray, n_classes: int) -> bool:
    return len(np.unique(codes[codes >= 0])) < n_classes
