"""How often features are selected in random halves of the samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from opgd._fit.problem import Prepared, prepare
from opgd.core.engines import RowEngine
from opgd.core.types import AnyArray, FloatArray, IntArray

SAME_GROUP = 0.8
"""Absolute correlation inside classes above which two features belong to one group."""
BLOCK_CELLS = 2**22
"""Number of correlations that are computed together."""


@dataclass(frozen=True)
class SelectionFrequencies:
    """How often features are selected in random halves of the samples.

    Attributes
    ----------
    names : list of str
        Names of the features.
    frequencies : ndarray of shape (n_features,)
        Share of the halves in which each feature is selected.
    groups : ndarray of shape (n_features,)
        Index of the group of correlated features to which each feature belongs.
    group_frequencies : ndarray of shape (n_groups,)
        Share of the halves in which at least one feature of a group is selected.
    n_selected : int
        Number of features that are selected in each half.
    n_resamples : int
        Number of halves.
    """

    names: list[str]
    frequencies: FloatArray
    groups: IntArray
    group_frequencies: FloatArray
    n_selected: int
    n_resamples: int

    @property
    def table(self) -> dict[str, Any]:
        """Columns "feature", "frequency", "group_frequency" and "group", most frequent first.

        "group" has the names of all features of a group. It can be passed to `pandas.DataFrame`.
        """
        of_groups = self.group_frequencies[self.groups]
        order = np.lexsort((-self.frequencies, -of_groups))
        return {
            "feature": [self.names[j] for j in order],
            "frequency": self.frequencies[order],
            "group_frequency": of_groups[order],
            "group": [", ".join(self.names[i] for i in self.members(j)) for j in order],
        }

    def members(self, feature: int) -> IntArray:
        """Return the indices of the features in the group of a feature, itself included."""
        return np.flatnonzero(self.groups == self.groups[feature])


def count_selections(
    X: AnyArray,
    codes: IntArray,
    weights: FloatArray | None,
    n_selected: int,
    n_resamples: int,
    rng: np.random.RandomState,
    names: list[str],
) -> SelectionFrequencies:
    """Select features in random halves of the samples, and count how often each is selected."""
    n_classes = int(codes.max()) + 1
    engine = RowEngine(X, codes, weights)
    groups = group_features(prepare(engine, n_classes))
    selected = np.zeros((n_resamples, X.shape[1]), dtype=bool)
    for row in selected:
        prepared = prepare(engine.select_rows(draw_half(codes, rng)), n_classes)
        row[prepared.feature_order[:n_selected]] = True
    by_member = np.argsort(groups, kind="stable")
    begins = np.searchsorted(groups[by_member], np.arange(groups.max() + 1))
    by_group = np.logical_or.reduceat(selected[:, by_member], begins, axis=1)
    return SelectionFrequencies(
        names, selected.mean(axis=0), groups, by_group.mean(axis=0), n_selected, n_resamples
    )


def draw_half(codes: IntArray, rng: np.random.RandomState) -> IntArray:
    """Return the indices of half of the samples of each class, at least one, ascending."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    ranks = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[2 * ranks < np.repeat(sizes, sizes)])


def group_features(prepared: Prepared) -> IntArray:
    """Return the group of each feature, (p,): connected components of strong correlations.

    Correlations are computed in blocks, since there may be many features.
    """
    eigenvalues, eigenvectors = linalg.eigh(prepared.classes.within)
    factors = prepared.frame.roots @ (eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0)))
    lengths = np.sqrt(np.sum(factors**2, axis=1))
    factors /= np.where(lengths > 0, lengths, 1.0)[:, None]
    n_features = len(factors)
    groups = np.arange(n_features)
    step = max(1, BLOCK_CELLS // n_features)
    for first in range(0, n_features, step):
        rows, columns = np.nonzero(np.abs(factors[first : first + step] @ factors.T) > SAME_GROUP)
        groups = _join_groups(groups, rows + first, columns)
    return groups


def _join_groups(groups: IntArray, first: IntArray, second: IntArray) -> IntArray:
    """Return groups (p,) in which the pairs of features `first` and `second` are together."""
    members = np.unique(groups, return_index=True)[1]  # one of each group
    # SciPy 1.11 needs small integers
    rows = np.concatenate([np.arange(len(groups)), first]).astype(np.int32)
    columns = np.concatenate([members[groups], second]).astype(np.int32)
    links = coo_array((np.ones(len(rows), dtype=bool), (rows, columns)), (len(groups),) * 2)
    return connected_components(links, directed=False)[1].astype(np.intp)
