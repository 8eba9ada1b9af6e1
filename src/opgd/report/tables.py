"""Tables of a report: loadings, rows to look at, clusters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.plotting._fitted import correlations, standardised_coefficients

MOST_AXES = 6
MOST_COLUMNS = 12
MOST_LISTED = 20
DOUBTFUL = 0.5


@dataclass(frozen=True)
class Loadings:
    """Columns with the largest coefficients on one axis."""

    axis: int
    columns: list[int]
    coefficients: list[float]  # times standard deviations of the training columns
    correlations: list[float | None]  # of column and score; None for constant columns
    largest: float


@dataclass(frozen=True)
class ListedRow:
    """A row that somebody should look at."""

    row: int
    name: str | None
    label: int  # code, -1 for none
    predicted: int
    own_probability: float | None
    predicted_probability: float
    typicality: float


@dataclass(frozen=True)
class Clusters:
    """What a mixture found."""

    sizes: list[int]
    weights: list[float]
    uncertainties: list[float | None]  # mean over the rows of each
    from_start: IntArray | None  # (K, K), rows are clusters of the start, columns the final ones
    n_moved: int | None
    selection: list[dict[str, float]]  # one entry for each number of clusters
    chosen: int
    known: IntArray | None  # (known classes, K)
    rand_index: float | None  # adjusted, of known classes and clusters


def loadings(estimator: Any, rows: AnyArray) -> list[Loadings]:
    """The largest coefficients of each of the first axes."""
    coefficients = standardised_coefficients(estimator)[:MOST_AXES]
    structure = correlations(rows, estimator.components_[:MOST_AXES])
    found = []
    for axis, own in enumerate(coefficients):
        order = np.argsort(-np.abs(own), kind="stable")[:MOST_COLUMNS]
        found.append(
            Loadings(
                axis=axis,
                columns=order.tolist(),
                coefficients=own[order].tolist(),
                correlations=[None if np.isnan(r) else float(r) for r in structure[axis, order]],
                largest=float(np.abs(own).max()),
            )
        )
    return found


def column_order(estimator: Any) -> IntArray:
    """Columns by their largest share of an axis, the most important first."""
    sizes = np.abs(standardised_coefficients(estimator))
    return np.argsort(-(sizes / sizes.max(axis=1, keepdims=True)).max(axis=0), kind="stable")


@dataclass(frozen=True)
class Judged:
    """What is known of each row: codes, probabilities and typicality."""

    labels: IntArray
    probabilities: FloatArray  # (n, K)
    typicality: FloatArray
    names: list[str] | None

    def listed(self, row: int) -> ListedRow:
        """One of them, as plain numbers."""
        own, label = self.probabilities[row], int(self.labels[row])
        return ListedRow(
            row=row,
            name=None if self.names is None else self.names[row],
            label=label,
            predicted=int(np.argmax(own)),
            own_probability=float(own[label]) if label >= 0 else None,
            predicted_probability=float(own.max()),
            typicality=float(self.typicality[row]),
        )


def doubtful_labels(judged: Judged) -> tuple[list[ListedRow], int]:
    """Rows whose own class is improbable, the least probable first, and how many there are."""
    labelled = np.flatnonzero((judged.labels >= 0) & ~np.isnan(judged.probabilities[:, 0]))
    own = judged.probabilities[labelled, judged.labels[labelled]]
    doubtful = labelled[own < DOUBTFUL]
    order = np.argsort(own[own < DOUBTFUL], kind="stable")[:MOST_LISTED]
    return [judged.listed(int(row)) for row in doubtful[order]], len(doubtful)


def far_rows(judged: Judged) -> list[ListedRow]:
    """Rows of the least typicality that are farther than chance makes one of so many rows."""
    order = np.argsort(judged.typicality, kind="stable")[:MOST_LISTED]
    chance = judged.typicality[order] * len(judged.typicality)
    return [judged.listed(int(row)) for row in order[chance < 1]]


def clusters(mixture: Any, codes: IntArray, known: IntArray | None, n_known: int) -> Clusters:
    """Sizes, doubts, and what changed since the start; codes are clusters of the rows of X."""
    n_clusters = mixture.n_clusters_
    sizes = np.bincount(codes, minlength=n_clusters)
    from_start = None
    doubts: list[float | None] = [None] * n_clusters
    if len(mixture.labels_) == len(codes) and np.array_equal(mixture.labels_, codes):
        from_start = crossed(mixture.initial_labels_, codes, n_clusters, n_clusters)
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
        known=None if known is None else _known_table(known, codes, n_known, n_clusters),
        rand_index=None if known is None else _rand_index(known, codes),
    )


def crossed(first: IntArray, second: IntArray, n_first: int, n_second: int) -> IntArray:
    """How many rows have each pair of codes, (n_first, n_second)."""
    cells = np.bincount(first * n_second + second, minlength=n_first * n_second)
    return cells.reshape(n_first, n_second)


def _known_table(known: IntArray, codes: IntArray, n_known: int, n_clusters: int) -> IntArray:
    own = known >= 0
    return crossed(known[own], codes[own], n_known, n_clusters)


def _rand_index(known: IntArray, codes: IntArray) -> float:
    own = known >= 0
    return float(adjusted_rand_score(known[own], codes[own]))
