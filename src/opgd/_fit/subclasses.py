"""Split classes into several Gaussians, by k-means in whitened coordinates.

The initial centers are deterministic: the class is cut into parts of equal weight along its first
principal axis. So a fit needs no seed, and a sample of weight two is equivalent to two samples.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd._utils.validation import check_choice, check_integer
from opgd.core.coordinates import Coordinates, Frame
from opgd.core.engines import Engine, RowBlock
from opgd.core.moments import multiply_rows_by, scale_to_counts
from opgd.core.regularization import CLASS_ROWS, VARIANCE_FLOOR
from opgd.core.types import AnyArray, FloatArray, IntArray

MOST_SUBCLASSES = 8
MAX_SAMPLE = 20_000
"""Maximum number of samples of a class from which centers are computed."""
MAX_KMEANS_ITERATIONS = 100
AUTO = 0
"""Code for a number of Gaussians that is selected by `penalized_likelihood`."""


def check_n_subclasses(n_subclasses: Any, classes: AnyArray) -> IntArray:
    """Return the number of Gaussians per class, from an int, a dict {label: number} or "auto"."""
    if isinstance(n_subclasses, str):
        check_choice("n_subclasses", n_subclasses, ["auto"])
        return np.full(len(classes), AUTO)
    if isinstance(n_subclasses, Mapping):
        labels = classes.tolist()
        unknown = [label for label in n_subclasses if label not in labels]
        if unknown:
            raise ValueError(
                f"n_subclasses has labels that are not in y: {unknown}. Labels in y are {labels}."
            )
        return np.array(
            [
                check_integer(f"n_subclasses[{label!r}]", n_subclasses.get(label, 1), 1)
                for label in labels
            ]
        )
    return np.full(len(classes), check_integer("n_subclasses", n_subclasses, 1))


@dataclass(frozen=True)
class NearestCenters:
    """Assignment of rows to the Gaussian of their class with the nearest center."""

    whitener: FloatArray  # (p of the engine, R)
    centers: list[FloatArray]  # by class, (m_k, R)

    def __call__(self, block: RowBlock) -> IntArray:
        """Return the Gaussian of each row of a block, (n_rows,); -1 for unlabeled rows."""
        rows = multiply_rows_by(self.whitener)(block)
        codes = np.full(block.n_rows, -1)
        first = 0
        for k, centers in enumerate(self.centers):
            members = block.labels == k
            if members.any():
                codes[members] = first + nearest_center(rows[members], centers)
            first += len(centers)
        return codes


def split_classes(
    frame: Frame, coordinates: Coordinates, numbers: IntArray
) -> tuple[NearestCenters, IntArray]:
    """Split classes into Gaussians; `numbers` are their numbers by class, or `AUTO`.

    Returns
    -------
    groups : function from a block to the Gaussian of each row
    gaussian_classes : ndarray of shape (C,), the class of each Gaussian
    """
    whitener = frame.engine_matrix(coordinates)
    centers = [
        _find_centers(frame.engine, whitener, k, int(number)) for k, number in enumerate(numbers)
    ]
    gaussian_classes = np.repeat(
        np.arange(len(numbers)), [len(class_centers) for class_centers in centers]
    )
    return NearestCenters(whitener, centers), gaussian_classes


def _find_centers(engine: Engine, whitener: FloatArray, k: int, number: int) -> FloatArray:
    """Return centers of at most `number` nonempty parts of class k, (m, R)."""
    if number == 1:
        return np.zeros((1, whitener.shape[1]))  # all samples are assigned to it, wherever it is
    # above MAX_SAMPLE rows, centers are computed from evenly spaced rows
    sample = engine.select_rows(engine.find_rows(lambda labels: labels == k, MAX_SAMPLE))
    whiten = multiply_rows_by(whitener)
    rows = sample.mapped(lambda block: whiten(block).T).X
    weights = scale_to_counts(np.ones(len(rows)) if sample.weights is None else sample.weights)
    if number == AUTO:
        most = min(MOST_SUBCLASSES, int(weights.sum() / (2 * (rows.shape[1] + 1))))
        candidates = [find_means(rows, weights, m) for m in range(1, max(most, 1) + 1)]
        return max(
            candidates,
            key=lambda centers: penalized_likelihood(rows, weights, nearest_center(rows, centers)),
        )
    return find_means(rows, weights, min(number, len(rows)))


def find_means(rows: FloatArray, weights: FloatArray, number: int) -> FloatArray:
    """Return the means of at most `number` nonempty groups of rows, by k-means, (m, R).

    A selection of models splits small classes thousands of times, so this is Lloyd's algorithm
    alone: the checks and the thread pool of scikit-learn's KMeans take ten times as long.
    """
    centers = make_initial_centers(rows, weights, number)
    labels = nearest_center(rows, centers)
    for _ in range(MAX_KMEANS_ITERATIONS):
        before = number_groups(labels)
        centers = average_groups(rows, weights, before)
        labels = nearest_center(rows, centers)
        if np.array_equal(labels, before):
            break
    return centers[np.bincount(labels, minlength=len(centers)) > 0]


def number_groups(labels: IntArray) -> IntArray:
    """Renumber the groups that occur in `labels` from 0 on, in ascending order, (n,)."""
    occurs = np.bincount(labels) > 0
    return (np.cumsum(occurs) - 1)[labels]


def average_groups(rows: FloatArray, weights: FloatArray, groups: IntArray) -> FloatArray:
    """Return the means of groups that are numbered from 0 on, (m, R)."""
    member = np.zeros((int(groups.max()) + 1, len(rows)))
    member[groups, np.arange(len(rows))] = weights
    means: FloatArray = member @ rows / member.sum(axis=1, keepdims=True)
    return means


def nearest_center(rows: FloatArray, centers: FloatArray) -> IntArray:
    """Return the index of the center nearest to each row, (n,)."""
    # |row - center|^2 without the part that is equal for all centers
    distances = np.sum(centers * centers, axis=1) - 2.0 * (rows @ centers.T)
    return np.argmin(distances, axis=1)


def penalized_likelihood(rows: FloatArray, weights: FloatArray, labels: IntArray) -> float:
    """Compute the classification likelihood of a split into Gaussians, less half of BIC's penalty.

    Covariances are diagonal on the principal axes of the samples and shrunk toward the pooled ones
    (by `CLASS_ROWS` samples per dimension), so that small parts do not get small variances.
    In the classification likelihood a sample counts for its part only: splitting one Gaussian in
    two loses more by the weights of the parts than it gains by smaller variances.
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
    shrunk = (sizes[:, None] * variances + extra * pooled) / (sizes[:, None] + extra)
    shrunk = np.maximum(shrunk, VARIANCE_FLOOR)
    log_likelihood = sizes @ (np.log(sizes / sizes.sum()) - 0.5 * np.log(shrunk).sum(axis=1))
    log_likelihood -= 0.5 * np.sum(sizes[:, None] * variances / shrunk)
    n_parameters = len(sizes) * (2 * rows.shape[1] + 1)
    return float(log_likelihood - 0.5 * n_parameters * np.log(weights.sum()))


def make_initial_centers(rows: FloatArray, weights: FloatArray, number: int) -> FloatArray:
    """Return means of parts of equal weight along the first principal axis, (number, R)."""
    shares = weights / weights.sum()
    centered = rows - shares @ rows
    longest = np.linalg.svd(np.sqrt(shares)[:, None] * centered, full_matrices=False)[2][0]
    positions = centered @ longest
    order = np.argsort(positions, kind="stable")
    # cut between positions, so that equal rows are in the same part whatever their weights
    cumulative = np.cumsum(shares[order])
    quantiles = np.arange(1, number) / number
    cuts = positions[order][np.searchsorted(cumulative, quantiles - 1e-12)]
    parts = np.searchsorted(cuts, positions, side="left")
    return average_groups(rows, weights, number_groups(parts))
