"""Initial mixtures for clustering, by k-means or Ward linkage and EM.

All methods use sphered samples, drawn evenly by weight and sorted. So an initialization does not
depend on the order of the samples, or on units or origins of the features, and a sample of weight
two is equivalent to two equal samples. k-means and Ward linkage use half-sphered samples: principal
components of standardized features, divided by the square roots of their standard deviations. This
is a compromise between standardized features, which groups of collinear features dominate, and
sphered ones, in which noise has the same variance as structure.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.cluster import hierarchy
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from opgd._fit.first_mixtures import (
    FirstMixture,
    fit_structures,
    fit_without_prior,
    make_moments,
    make_single_gaussian,
)
from opgd._fit.incomplete_mixtures import fit_incomplete
from opgd._fit.regularizer import Regularizer
from opgd._utils.labels import encode_groups
from opgd._utils.warnings import ignore_sklearn_warnings
from opgd.core.coordinates import Frame, sphered_coordinates
from opgd.core.engines import RowBlock, RowEngine
from opgd.core.moments import Moments, group_moments
from opgd.core.structures import STRUCTURES
from opgd.core.types import FloatArray, IntArray

AFFINE = [name for name, kind in STRUCTURES.items() if kind.affine]
"""Structures for given groups, so that linear maps of the features do not change the result."""
MIXTURE_INITS = ["auto", "kmeans", "ward"]
KINDS = (
    f"one of {MIXTURE_INITS}, a fitted Gaussian mixture, an array of labels, "
    "or an array of responsibilities of shape (n_samples, n_clusters)"
)
MAX_ROWS = 20_000
"""Maximum number of samples to which an initial mixture is fitted."""
MAX_GATHERED = 10 * MAX_ROWS
"""Maximum number of samples that are fetched from the workers of a Dask cluster."""
MAX_LINKAGE_ROWS = 2_000
"""Maximum number of samples for Ward linkage, whose memory grows with their square."""


@dataclass(frozen=True)
class Starts:
    """Samples from which initial mixtures are computed, for any number of clusters."""

    frame: Frame
    regularizer: Regularizer
    init: Any
    n_init: int
    seed: int

    @cached_property
    def rows(self) -> FloatArray:
        """Return sphered samples, (m, R)."""
        return draw_rows(self.frame)

    @cached_property
    def half_sphered(self) -> "LinkedRows":
        return LinkedRows(self.rows / np.sqrt(self.frame.spread))

    @cached_property
    def standardized(self) -> "LinkedRows":
        return LinkedRows(self.rows / self.frame.spread)

    def make_mixtures(self, n_clusters: int) -> list[FirstMixture]:
        """Compute the mixtures from which to search for a projection, as `init` specifies."""
        if hasattr(self.init, "fit"):
            return [FirstMixture("given", _convert_mixture(self.frame, self.init, n_clusters))]
        mixtures = self._fit_completed(n_clusters)
        if self.frame.engine.incomplete:
            mixtures = [fit_incomplete(self.frame, mixture) for mixture in mixtures]
        return mixtures

    def _fit_completed(self, n_clusters: int) -> list[FirstMixture]:
        """Compute mixtures of the samples, in which estimates replace missing entries."""
        frame, init = self.frame, self.init
        given = None if isinstance(init, str) else _convert_groups(frame, init, n_clusters)
        if n_clusters == 1:
            return [make_single_gaussian(frame)]
        if given is not None:
            return self._fit_groups([given], AFFINE)
        self._check_distinct(n_clusters)
        groups = [
            group_moments(RowEngine(self.rows, labels), n_clusters, RowBlock.centered)
            for labels in self._assign_rows(n_clusters)
        ]
        return self._fit_groups(groups, list(STRUCTURES))

    def _fit_groups(self, groups: list[Moments], structures: list[str]) -> list[FirstMixture]:
        """Run EM from groups of sphered samples; without a prior, as in the paper."""
        if self.regularizer.strength == 0:
            return fit_without_prior(self.frame, self.rows, groups)
        return fit_structures(self.frame, self.rows, groups, structures, self.regularizer)

    def _check_distinct(self, n_clusters: int) -> None:
        steps = np.diff(_round_rows(self.rows), axis=0)
        n_distinct = 1 + int(np.any(steps, axis=1).sum())
        if n_distinct < n_clusters:
            raise ValueError(
                f"n_clusters={n_clusters} is more than the {n_distinct} distinct samples of X; "
                "differences below 1e-9 standard deviations and negligible weights do not count."
            )

    def _assign_rows(self, n_clusters: int) -> list[IntArray]:
        """Return the groups (m,) of each start."""
        if self.init == "ward":
            return [self.half_sphered.cut(n_clusters)]
        # the same seed for each number: the model must not depend on which others are tried
        rng = np.random.RandomState(self.seed)
        n_runs = self.n_init if self.init == "kmeans" else 3 * self.n_init
        labels = [_kmeans(self.half_sphered.rows, n_clusters, rng) for _ in range(n_runs)]
        if self.init == "auto":
            labels += [rows.cut(n_clusters) for rows in (self.half_sphered, self.standardized)]
        return labels


@dataclass(frozen=True)
class LinkedRows:
    """Samples with the tree of Ward linkage, on evenly spaced ones if there are many."""

    rows: FloatArray  # (m, R)

    @cached_property
    def sample(self) -> FloatArray:
        return self.rows[:: -(-len(self.rows) // MAX_LINKAGE_ROWS)]

    @cached_property
    def tree(self) -> FloatArray:
        return np.asarray(hierarchy.ward(self.sample))

    def cut(self, n_clusters: int) -> IntArray:
        """Return the groups (m,) of a number of clusters."""
        if len(self.sample) < n_clusters:
            return LinkedRows(self.rows[:n_clusters]).assign(self.rows, n_clusters)
        return self.assign(self.rows, n_clusters)

    def assign(self, rows: FloatArray, n_clusters: int) -> IntArray:
        labels = cut_tree(self.tree, n_clusters)
        if len(labels) < len(rows):
            centers = [self.sample[labels == k].mean(axis=0) for k in range(n_clusters)]
            labels = pairwise_distances_argmin(rows, np.array(centers)).astype(np.intp)
        return labels


def cut_tree(tree: FloatArray, n_clusters: int) -> IntArray:
    """Return the labels of the rows (m,) before the last ``n_clusters - 1`` merges of a linkage.

    Clusters are numbered by their first rows, as by `scipy.cluster.hierarchy.cut_tree`, which
    copies all labels for each merge and takes time quadratic in the number of rows.
    """
    n_rows = len(tree) + 1
    pairs = tree[: n_rows - n_clusters, :2].astype(np.intp)
    groups = np.arange(2 * n_rows - 1)  # of the rows, then of the results of the merges
    for merge in reversed(range(len(pairs))):
        groups[pairs[merge]] = groups[n_rows + merge]
    _, first, labels = np.unique(groups[:n_rows], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[labels].astype(np.intp)


def draw_rows(frame: Frame) -> FloatArray:
    """Draw sphered samples evenly by weight, at most `MAX_ROWS`, sorted, (m, R)."""
    engine = frame.engine
    if not isinstance(engine, RowEngine):  # the samples are on a Dask cluster
        engine = engine.sample(min(engine.n_samples, MAX_GATHERED))
    sphering = frame.engine_matrix(sphered_coordinates(frame))
    keys = engine.mapped(lambda block: sphering.T[:3] @ block.centered().T).X
    order = np.lexsort(keys.T[::-1])
    weights = np.ones(engine.n_samples) if engine.weights is None else engine.weights[order]
    cumulative = np.cumsum(weights)
    n_drawn = min(MAX_ROWS, max(1, round(engine.count)))
    places = (np.arange(n_drawn) + 0.5) / n_drawn * cumulative[-1]
    indices = order[np.minimum(np.searchsorted(cumulative, places), engine.n_samples - 1)]
    drawn = engine.select_rows(indices).X
    rows = (np.asarray(drawn, dtype=np.float64) - engine.center) @ sphering
    return rows[np.lexsort(_round_rows(rows).T[::-1])]  # sort rows with equal keys as well


def _round_rows(rows: FloatArray) -> FloatArray:
    """Round sphered samples, so that rounding errors do not change their order."""
    return np.round(rows, 9)


def _kmeans(rows: FloatArray, n_clusters: int, rng: np.random.RandomState) -> IntArray:
    with ignore_sklearn_warnings():  # fewer distinct rows than clusters
        labels = KMeans(n_clusters, n_init=1, random_state=rng).fit(rows).labels_
    return labels.astype(np.intp)


def _convert_mixture(frame: Frame, mixture: Any, n_clusters: int) -> Moments:
    """Convert a fitted mixture of scikit-learn or opgd to moments of sphered samples."""
    check_is_fitted(mixture)
    if not all(hasattr(mixture, name) for name in ("weights_", "means_", "covariances_")):
        raise ValueError(f"init must be {KINDS}; got {type(mixture).__name__}.")
    means = np.asarray(mixture.means_, dtype=np.float64)
    n_features = len(frame.center)
    if means.shape != (n_clusters, n_features):
        raise ValueError(
            f"init is a mixture with means of shape {means.shape}; expected "
            f"(n_clusters, n_features) = ({n_clusters}, {n_features})."
        )
    covariances = _full_covariances(mixture, n_clusters, n_features)
    sphering = frame.sphering
    mapped = sphering.T @ covariances @ sphering
    return make_moments(frame, mixture.weights_, (means - frame.center) @ sphering, mapped)


def _full_covariances(mixture: Any, n_clusters: int, n_features: int) -> FloatArray:
    """Convert covariances of any scikit-learn covariance_type to matrices, (K, p, p)."""
    covariances = np.asarray(mixture.covariances_, dtype=np.float64)
    if covariances.ndim == 3:
        return covariances
    if mixture.covariance_type == "tied":
        return np.broadcast_to(covariances, (n_clusters, n_features, n_features))
    variances = covariances
    if covariances.ndim == 1:
        variances = np.repeat(covariances[:, None], n_features, axis=1)
    return variances[:, :, None] * np.eye(n_features)


def _convert_groups(frame: Frame, init: Any, n_clusters: int) -> Moments:
    """Convert labels or responsibilities to moments of groups of sphered samples."""
    n_samples = frame.engine.n_samples
    try:
        array = np.asarray(init)
    except ValueError:
        array = np.empty(0)
    if array.ndim not in (1, 2) or len(array) != n_samples:
        described = f"an array of shape {array.shape}" if array.ndim else repr(init)
        raise ValueError(f"init must be {KINDS}, for {n_samples} samples; got {described}.")
    if array.ndim == 1:
        distinct, codes = encode_groups(init, "init")
        if len(distinct) != n_clusters:
            raise ValueError(
                f"init has {len(distinct)} distinct labels, but n_clusters={n_clusters}."
            )
        return frame.moments(n_clusters, lambda block: codes[block.rows])
    shares: FloatArray = check_array(array, dtype=np.float64, input_name="init")
    if shares.shape[1] != n_clusters:
        raise ValueError(
            f"init has responsibilities for {shares.shape[1]} clusters, but "
            f"n_clusters={n_clusters}."
        )
    if shares.min() < 0 or np.any(np.abs(shares.sum(axis=1) - 1) > 1e-6):
        raise ValueError("init has responsibilities that are negative or do not sum to 1.")
    if np.any(shares.sum(axis=0) == 0):
        raise ValueError("init has a cluster whose responsibilities are all 0.")
    return frame.soft_moments(lambda block: shares[block.rows].T)
