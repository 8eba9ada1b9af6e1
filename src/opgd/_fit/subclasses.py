"""Splitting a class into several Gaussians, by scikit-learn's k-means in whitened space.

The first centers are made, not drawn: the class is cut into parts of equal weight along its
longest axis. So a fit needs no seed, and a row of weight two still equals the row twice.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from opgd._utils.validation import check_choice, check_integer
from opgd.core.coordinates import Coordinates, Frame
from opgd.core.engines import Engine, RowBlock
from opgd.core.moments import multiplied_by, row_counts
from opgd.core.regularization import CLASS_ROWS, VARIANCE_FLOOR
from opgd.core.types import AnyArray, FloatArray, IntArray

MOST_SUBCLASSES = 8
MAX_SAMPLE = 20_000
"""Rows of a class from which its centers are found; all rows are then assigned to them."""


AUTO = 0
"""Stands for a number of Gaussians that is chosen from the rows."""


def check_n_subclasses(n_subclasses: Any, classes: AnyArray) -> IntArray:
    """Number of Gaussians for each class, from an integer, a dict by label, or "auto"."""
    if isinstance(n_subclasses, str):
        check_choice("n_subclasses", n_subclasses, ["auto"])
        return np.full(len(classes), AUTO)
    if isinstance(n_subclasses, Mapping):
        labels = classes.tolist()
        unknown = [label for label in n_subclasses if label not in labels]
        if unknown:
            raise ValueError(f"n_subclasses names labels that are not in y: {unknown}.")
        return np.array(
            [
                check_integer(f"n_subclasses[{label!r}]", n_subclasses.get(label, 1), 1)
                for label in labels
            ]
        )
    return np.full(len(classes), check_integer("n_subclasses", n_subclasses, 1))


@dataclass(frozen=True)
class NearestCenters:
    """The Gaussian of every row of a block: of its class's, the one with the nearest center."""

    whitener: FloatArray  # (p of the engine, R)
    centers: list[FloatArray]  # by class, (m_k, R)

    def __call__(self, block: RowBlock) -> IntArray:
        """Codes of Gaussians, (n_rows,)."""
        rows = multiplied_by(self.whitener)(block)
        codes = np.full(block.n_rows, -1)
        first = 0
        for k, centers in enumerate(self.centers):
            own = block.labels == k
            if own.any():
                codes[own] = first + pairwise_distances_argmin(rows[own], centers)
            first += len(centers)
        return codes


def split_classes(
    frame: Frame, coordinates: Coordinates, numbers: IntArray
) -> tuple[NearestCenters, IntArray]:
    """Give every row a Gaussian of its class.

    Returns
    -------
    groups : from a block to the Gaussian of each row
    gaussian_classes : ndarray of shape (C,), the class of each Gaussian
    """
    whitener = frame.engine_matrix(coordinates)
    centers = [_centers(frame.engine, whitener, k, int(number)) for k, number in enumerate(numbers)]
    gaussian_classes = np.repeat(np.arange(len(numbers)), [len(own) for own in centers])
    return NearestCenters(whitener, centers), gaussian_classes


def _centers(engine: Engine, whitener: FloatArray, k: int, number: int) -> FloatArray:
    """Centers of at most so many parts of class k, none of them empty, (m, R)."""
    if number == 1:
        return np.zeros((1, whitener.shape[1]))  # the nearest, wherever it is
    # above MAX_SAMPLE rows, centers are found on evenly spaced ones
    seen = engine.chosen(engine.positions(lambda labels: labels == k, MAX_SAMPLE))
    whiten = multiplied_by(whitener)
    rows = seen.mapped(lambda block: whiten(block).T).X
    weights = row_counts(np.ones(len(rows)) if seen.weights is None else seen.weights)
    if number == AUTO:
        most = min(MOST_SUBCLASSES, int(weights.sum() / (2 * (rows.shape[1] + 1))))
        kmeans = max(
            [_kmeans(rows, weights, m) for m in range(1, max(most, 1) + 1)],
            key=lambda own: penalized_likelihood(rows, weights, own.labels_),
        )
    else:
        kmeans = _kmeans(rows, weights, min(number, len(rows)))
    centers: FloatArray = kmeans.cluster_centers_
    return centers[np.unique(pairwise_distances_argmin(rows, centers))]


def _kmeans(rows: FloatArray, weights: FloatArray, number: int) -> KMeans:
    centers = first_centers(rows, weights, number)
    with warnings.catch_warnings():
        # fewer distinct rows than centers: the empty ones are dropped by the caller
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(len(centers), init=centers, n_init=1).fit(rows, sample_weight=weights)


def penalized_likelihood(rows: FloatArray, weights: FloatArray, labels: IntArray) -> float:
    """Classification likelihood of a split into Gaussians, less half of BIC's penalty.

    Covariances are diagonal on the principal axes of the rows and drawn towards the pooled ones
    (by `CLASS_ROWS` rows per dimension), so that a part of few rows is not taken for a sharp one.
    A row counts for its own part only: cutting one Gaussian in two loses more by the choice of the
    part than it gains in variance.
    """
    shares = weights / weights.sum()
    centered = rows - shares @ rows
    axes = np.linalg.svd(np.sqrt(shares)[:, None] * centered, full_matrices=False)[2]
    scores = centered @ axes.T
    member = labels == np.unique(labels)[:, None]  # (m, n)
    sizes = member @ weights
    means = (member * weights) @ scores / sizes[:, None]
    squares = (member * weights) @ scores**2 / sizes[:, None]
    variances = squares - means**2
    pooled = sizes @ variances / sizes.sum()
    extra = CLASS_ROWS * rows.shape[1]
    drawn = (sizes[:, None] * variances + extra * pooled) / (sizes[:, None] + extra)
    drawn = np.maximum(drawn, VARIANCE_FLOOR)
    log_likelihood = sizes @ (np.log(sizes / sizes.sum()) - 0.5 * np.log(drawn).sum(axis=1))
    log_likelihood -= 0.5 * np.sum(sizes[:, None] * variances / drawn)
    n_parameters = len(sizes) * (2 * rows.shape[1] + 1)
    return float(log_likelihood - 0.5 * n_parameters * np.log(weights.sum()))


def first_centers(rows: FloatArray, weights: FloatArray, number: int) -> FloatArray:
    """Means of parts of equal weight along the longest axis of the rows, (number, R)."""
    shares = weights / weights.sum()
    centered = rows - shares @ rows
    longest = np.linalg.svd(np.sqrt(shares)[:, None] * centered, full_matrices=False)[2][0]
    positions = centered @ longest
    order = np.argsort(positions, kind="stable")
    # cut at positions, not at rows: equal rows stay together, however they are counted
    reached = np.cumsum(shares[order])
    wanted = np.arange(1, number) / number
    cuts = positions[order][np.searchsorted(reached, wanted - 1e-12)]
    parts = np.searchsorted(cuts, positions, side="left")
    present = np.unique(parts)
    return np.stack(
        [
            np.average(rows[parts == part], axis=0, weights=weights[parts == part])
            for part in present
        ]
    )
