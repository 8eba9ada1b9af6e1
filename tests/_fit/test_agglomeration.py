"""Model-based agglomeration."""

from itertools import combinations

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from opgd._fit.agglomeration import PRIOR_COUNT, PRIOR_VARIANCE, agglomerate


def compute_cost(rows):
    """Return -2 times the contribution of one group, from its samples."""
    total, q = len(rows) + PRIOR_COUNT, rows.shape[1]
    scatter = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
    scatter += PRIOR_COUNT * PRIOR_VARIANCE * np.eye(q)
    return total * np.linalg.slogdet(scatter / total)[1]


def test_merges_are_those_with_the_smallest_loss(rng):
    rows = rng.normal(size=(24, 2))
    merges = agglomerate(rows, np.repeat(np.arange(8), 3))
    labels = merges.cut(8)
    for number in range(7, 0, -1):
        groups = {k: rows[labels == k] for k in np.unique(labels)}
        losses = {
            (i, j): compute_cost(np.vstack([groups[i], groups[j]]))
            - compute_cost(groups[i])
            - compute_cost(groups[j])
            for i, j in combinations(groups, 2)
        }
        first, second = min(losses, key=losses.get)
        expected = np.where(labels == second, first, labels)
        labels = merges.cut(number)
        assert adjusted_rand_score(expected, labels) == 1
        assert len(np.unique(labels)) == number


def test_elongated_clusters_are_found(rng):
    """Ward linkage cuts them across."""
    bars = [rng.normal(size=(150, 2)) * [1.0, 0.05] + [0.0, height] for height in (0.0, 0.6, 1.2)]
    rows, expected = np.vstack(bars), np.repeat([0, 1, 2], 150)
    groups = AgglomerativeClustering(60).fit_predict(rows)
    labels = agglomerate(rows, groups).cut(3)
    assert adjusted_rand_score(expected, labels) > 0.85
    assert adjusted_rand_score(expected, AgglomerativeClustering(3).fit_predict(rows)) < 0.5
