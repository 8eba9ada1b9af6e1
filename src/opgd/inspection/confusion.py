"""Counts of true and predicted classes, and an order in which confused classes are neighbors."""

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from opgd.core.types import FloatArray, IntArray


def count_confusion(codes: IntArray, predicted: IntArray, n_classes: int) -> IntArray:
    """Count pairs of true (rows) and predicted classes (columns); negative codes are ignored."""
    known = (codes >= 0) & (predicted >= 0)
    cells = codes[known] * n_classes + predicted[known]
    return np.bincount(cells, minlength=n_classes**2).reshape(n_classes, n_classes)


def compute_shares(confusion: IntArray) -> FloatArray:
    """Compute shares of predictions for each true class, (K, K); 0 for classes without rows."""
    sizes = confusion.sum(axis=1, keepdims=True)
    shares: FloatArray = confusion / np.maximum(sizes, 1)
    return shares


def order_by_confusion(confusion: IntArray) -> IntArray:
    """Return an order of the classes in which classes that are confused are neighbors.

    Classes are clustered by the larger of the two shares of errors between them (average linkage),
    and the leaves of the tree are ordered optimally. The order starts at the end that has the
    smaller class index. Without errors it is the order of the classes.
    """
    shares = compute_shares(confusion)
    np.fill_diagonal(shares, 0.0)
    similarity = np.maximum(shares, shares.T)
    if len(confusion) < 3 or not similarity.any():
        return np.arange(len(confusion))
    distances = squareform(1.0 - similarity / similarity.max(), checks=False)
    tree = optimal_leaf_ordering(linkage(distances, method="average"), distances)
    order: IntArray = np.asarray(leaves_list(tree), dtype=np.intp)
    return order if order[0] < order[-1] else order[::-1]
