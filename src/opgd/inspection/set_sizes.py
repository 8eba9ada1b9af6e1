"""Coverage and sizes of prediction sets by class."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd._utils.labels import encode_true_labels
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.evaluation import compute_wilson_interval


@dataclass(frozen=True, eq=False)
class SetSummary:
    """Coverage and sizes of prediction sets of the samples of each class.

    Attributes
    ----------
    labels : list
        Classes that have samples.
    counts : ndarray of shape (n_labels,)
        Number of samples of each class.
    coverages, low, high : ndarrays of shape (n_labels,)
        Shares of sets that contain the true class, with 95% Wilson intervals.
    sizes : ndarray of shape (n_labels, n_classes + 1)
        Shares of sets with 0, 1, 2, ... classes.
    """

    labels: list[Any]
    counts: IntArray
    coverages: FloatArray
    low: FloatArray
    high: FloatArray
    sizes: FloatArray

    @property
    def coverage(self) -> float:
        """Share of all sets that contain the true class."""
        return float(np.average(self.coverages, weights=self.counts))

    @property
    def mean_sizes(self) -> FloatArray:
        """Mean number of classes in the sets of each class, (n_labels,)."""
        return self.sizes @ np.arange(self.sizes.shape[1])


def summarize_sets(y: Any, sets: AnyArray, classes: AnyArray) -> SetSummary:
    """Summarize sets (n, K) of samples with true labels by class."""
    sets, classes = np.asarray(sets), np.asarray(classes)
    if sets.ndim != 2 or sets.dtype != bool or sets.shape[1] != len(classes):
        raise ValueError(
            f"sets must be an array of bool of shape (n_samples, {len(classes)}), got "
            f"{sets.dtype} of shape {sets.shape}."
        )
    codes = encode_true_labels(y, classes)
    if len(codes) != len(sets):
        raise ValueError(f"y_true has {len(codes)} labels for {len(sets)} sets.")
    known = codes >= 0
    if not known.any():
        raise ValueError("None of the labels in y_true is one of the classes.")
    sets, codes = sets[known], codes[known]
    present = np.unique(codes)
    counts = np.bincount(codes, minlength=len(classes))[present]
    covered = sets[np.arange(len(codes)), codes]
    coverages = np.bincount(codes, covered, len(classes))[present] / counts
    n_labels = sets.sum(axis=1)
    sizes = [np.bincount(n_labels[codes == k], minlength=len(classes) + 1) for k in present]
    low, high = compute_wilson_interval(coverages, counts)
    return SetSummary(
        classes[present].tolist(), counts, coverages, low, high, np.array(sizes) / counts[:, None]
    )
