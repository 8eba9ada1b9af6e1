"""Rows that deserve a look, and clusters of a mixture, as tables of plain numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from opgd.core.types import FloatArray, IntArray

MOST_LISTED = 20
DOUBTFUL = 0.5


@dataclass(frozen=True)
class ListedRow:
    """A row that deserves a look: its label is improbable, or it is far from every Gaussian."""

    row: int
    name: str | None
    label: int  # code, -1 for none
    predicted: int
    label_probability: float | None
    predicted_probability: float
    typicality: float


@dataclass(frozen=True)
class Clusters:
    """Clusters of a mixture, how they arose, and how they compare with known classes."""

    sizes: list[int]
    weights: list[float]
    uncertainties: list[float | None]  # mean over the rows of each
    from_start: IntArray | None  # (K, K), rows are clusters of the start, columns the final ones
    n_moved: int | None
    selection: list[dict[str, float]]  # one entry for each number of clusters
    chosen: int
    known: IntArray | None  # (known classes, K)
    rand_index: float | None  # adjusted, of known classes and clusters


@dataclass(frozen=True)
class PredictedRows:
    """Labels, probabilities, typicality and names of all rows."""

    labels: IntArray
    probabilities: FloatArray  # (n, K)
    typicality: FloatArray
    names: list[str] | None

    def describe(self, row: int) -> ListedRow:
        """Return one row as plain numbers."""
        probabilities, label = self.probabilities[row], int(self.labels[row])
        return ListedRow(
            row=row,
            name=None if self.names is None else self.names[row],
            label=label,
            predicted=int(np.argmax(probabilities)),
            label_probability=float(probabilities[label]) if label >= 0 else None,
            predicted_probability=float(probabilities.max()),
            typicality=float(self.typicality[row]),
        )


def list_doubtful_labels(predicted: PredictedRows) -> tuple[list[ListedRow], int]:
    """List rows whose label is improbable, the least probable first, and count them all."""
    labels, probabilities = predicted.labels, predicted.probabilities
    labeled = np.flatnonzero((labels >= 0) & ~np.isnan(probabilities[:, 0]))
    of_label = probabilities[labeled, labels[labeled]]
    doubtful = labeled[of_label < DOUBTFUL]
    order = np.argsort(of_label[of_label < DOUBTFUL], kind="stable")[:MOST_LISTED]
    return [predicted.describe(int(row)) for row in doubtful[order]], len(doubtful)


def list_far_rows(predicted: PredictedRows) -> list[ListedRow]:
    """List the least typical rows, of those with less than one expected by chance among all."""
    typicality = predicted.typicality
    order = np.argsort(typicality, kind="stable")[:MOST_LISTED]
    chance = typicality[order] * len(typicality)
    return [predicted.describe(int(row)) for row in order[chance < 1]]


def summarize_clusters(
    mixture: Any, codes: IntArray, known: IntArray | None, n_known: int
) -> Clusters:
    """Summarize the clusters of a mixture; codes are the clusters of the rows of X."""
    n_clusters = mixture.n_clusters_
    sizes = np.bincount(codes, minlength=n_clusters)
    from_start = None
    doubts: list[float | None] = [None] * n_clusters
    if len(mixture.labels_) == len(codes) and np.array_equal(mixture.labels_, codes):
        from_start = cross_tabulate(mixture.initial_labels_, codes, n_clusters, n_clusters)
        sums = np.bincount(codes, mixture.uncertainty_, n_clusters)
        doubts = [float(s / n) if n else None for s, n in zip(sums, sizes, strict=True)]
    table = mixture.selection_
    keys = ["n_clusters", "n_components", "n_parameters", "log_likelihood", "bic", "icl", "aic"]
    return Clusters(
        sizes=sizes.tolist(),
        weights=mixture.weights_.tolist(),
        uncertainties=doubts,
        from_start=from_start,
        n_moved=None if from_start is None else int(len(codes) - np.trace(from_start)),
        selection=[{key: float(table[key][i]) for key in keys} for i in range(len(table["bic"]))],
        chosen=int(np.argmin(table[mixture.criterion])),
        known=None if known is None else _cross_known(known, codes, n_known, n_clusters),
        rand_index=None if known is None else _compute_rand_index(known, codes),
    )


def cross_tabulate(first: IntArray, second: IntArray, n_first: int, n_second: int) -> IntArray:
    """Count the rows with each pair of codes, (n_first, n_second)."""
    cells = np.bincount(first * n_second + second, minlength=n_first * n_second)
    return cells.reshape(n_first, n_second)


def _cross_known(known: IntArray, codes: IntArray, n_known: int, n_clusters: int) -> IntArray:
    labeled = known >= 0
    return cross_tabulate(known[labeled], codes[labeled], n_known, n_clusters)


def _compute_rand_index(known: IntArray, codes: IntArray) -> float:
    labeled = known >= 0
    return float(adjusted_rand_score(known[labeled], codes[labeled]))
