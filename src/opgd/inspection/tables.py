"""Tables of possible label errors, outliers, and clusters of a mixture."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from opgd.core.types import FloatArray, IntArray
from opgd.inspection.estimators import get_initial_labels

MAX_LISTED = 20
DOUBTFUL = 0.5
"""Labels with a lower probability are listed as possible errors."""


@dataclass(frozen=True)
class ListedRow:
    """A row with a possible label error, or an outlier."""

    row: int
    name: str | None
    label: int  # class index, -1 if unlabeled
    predicted: int
    label_probability: float | None
    predicted_probability: float
    typicality: float


@dataclass(frozen=True)
class Clusters:
    """Clusters of a mixture, compared with the initial clusters and with known classes."""

    sizes: list[int]
    weights: list[float]
    uncertainties: list[float | None]  # mean over the rows of each cluster
    from_start: IntArray | None  # (K, K), initial clusters by final clusters
    n_moved: int | None
    selection: list[dict[str, float]]  # one entry for each number of clusters
    chosen: int
    known: IntArray | None  # (known classes, K)
    rand_index: float | None  # adjusted Rand index of known classes and clusters


@dataclass(frozen=True)
class PredictedRows:
    """Labels, probabilities, typicality and names of all rows."""

    labels: IntArray
    probabilities: FloatArray  # (n, K)
    typicality: FloatArray
    names: list[str] | None

    def describe(self, row: int) -> ListedRow:
        """Return the entry of one row."""
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


def list_doubtful_labels(
    predicted: PredictedRows, omitted: Sequence[int] = ()
) -> tuple[list[ListedRow], int]:
    """Return rows with improbable labels, the least probable first, and their total number.

    Rows of the classes in `omitted` are neither listed nor counted.
    """
    labels, probabilities = predicted.labels, predicted.probabilities
    listable = (labels >= 0) & ~np.isin(labels, omitted)
    labeled = np.flatnonzero(listable & ~np.isnan(probabilities[:, 0]))
    of_label = probabilities[labeled, labels[labeled]]
    doubtful = labeled[of_label < DOUBTFUL]
    order = np.argsort(of_label[of_label < DOUBTFUL], kind="stable")[:MAX_LISTED]
    return [predicted.describe(int(row)) for row in doubtful[order]], len(doubtful)


def list_far_rows(predicted: PredictedRows) -> list[ListedRow]:
    """Return outliers: rows so atypical that less than one is expected by chance."""
    typicality = predicted.typicality
    order = np.argsort(typicality, kind="stable")[:MAX_LISTED]
    chance = typicality[order] * len(typicality)
    return [predicted.describe(int(row)) for row in order[chance < 1]]


def summarize_clusters(
    mixture: Any, codes: IntArray, known: IntArray | None, n_known: int
) -> Clusters:
    """Summarize the clusters of a mixture; `codes` are predicted clusters, -1 for noise."""
    n_clusters = mixture.n_clusters_
    clustered = codes >= 0
    sizes = np.bincount(codes[clustered], minlength=n_clusters)
    from_start = None
    uncertainties: list[float | None] = [None] * n_clusters
    initial = get_initial_labels(mixture, len(codes))
    if initial is not None and np.array_equal(mixture.labels_, codes):
        both = clustered & (initial >= 0)
        from_start = cross_tabulate(initial[both], codes[both], n_clusters, n_clusters)
        sums = np.bincount(codes[clustered], mixture.uncertainty_[clustered], n_clusters)
        uncertainties = [float(s / n) if n else None for s, n in zip(sums, sizes, strict=True)]
    table = mixture.selection_
    keys = ["n_clusters", "n_components", "bic", "icl", "smallest", "selected_by"]
    return Clusters(
        sizes=sizes.tolist(),
        weights=mixture.weights_.tolist(),
        uncertainties=uncertainties,
        from_start=from_start,
        n_moved=None if from_start is None else int(from_start.sum() - np.trace(from_start)),
        selection=[{key: float(table[key][i]) for key in keys} for i in range(len(table["bic"]))],
        chosen=int(np.flatnonzero(table["n_clusters"] == len(mixture.projected_means_))[0]),
        known=None if known is None else _cross_known(known, codes, n_known, n_clusters),
        rand_index=None if known is None else _compute_rand_index(known, codes),
    )


def cross_tabulate(first: IntArray, second: IntArray, n_first: int, n_second: int) -> IntArray:
    """Return a contingency table of two codings, (n_first, n_second)."""
    cells = np.bincount(first * n_second + second, minlength=n_first * n_second)
    return cells.reshape(n_first, n_second)


def _cross_known(known: IntArray, codes: IntArray, n_known: int, n_clusters: int) -> IntArray:
    labeled = (known >= 0) & (codes >= 0)
    return cross_tabulate(known[labeled], codes[labeled], n_known, n_clusters)


def _compute_rand_index(known: IntArray, codes: IntArray) -> float:
    labeled = known >= 0
    return float(adjusted_rand_score(known[labeled], codes[labeled]))
