"""First mixtures for clustering: scikit-learn's k-means, Ward linkage and full-covariance EM.

Everything happens on sphered rows, drawn evenly by weight and sorted: a start does not depend on
the order of the rows, on units or origins, and a row of weight two is the row twice. k-means and
linkage see half-sphered rows (principal components of standardized columns, with the square roots
of their standard deviations): between the columns as they are, where collinear ones outvote the
others, and sphered ones, where noise has as much to say as structure.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestCentroid
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from opgd.core.coordinates import Frame, sphered_coordinates
from opgd.core.engines import RowBlock, RowEngine
from opgd.core.moments import Moments, group_moments, one_group
from opgd.core.regularization import whiten_classes
from opgd.core.types import FloatArray, IntArray

STARTS = ["auto", "kmeans", "ward"]
KINDS = f"one of {STARTS}, a Gaussian mixture, labels, or responsibilities (n_samples, n_clusters)"
MAX_ROWS = 20_000
"""Rows that the first mixture is fitted to; more are drawn evenly from all."""
MAX_GATHERED = 10 * MAX_ROWS
"""Rows that are first fetched at random from a cluster."""
MAX_LINKAGE_ROWS = 2_000
"""Rows that Ward linkage sees; its memory grows with their square."""
REGULARizATION = 1e-3
"""Added to variances of sphered rows by the EM: the share of a direction's total variance."""
COLLAPSED = 0.2
"""Share of an average cluster below which one is suspected of having collapsed on a few rows."""


@dataclass(frozen=True)
class FirstMixture:
    """Weights, means and covariances of clusters, in coordinates of sphered rows."""

    moments: Moments
    log_likelihood: float  # mean over the rows it was fitted to

    @property
    def n_collapsed(self) -> int:
        """Clusters of so few rows that some axis tells them from the others, whoever they are."""
        weights, n_features = self.moments.weights, self.moments.means.shape[1]
        enough = min(n_features + 1, COLLAPSED * weights.mean())
        return int(np.sum(weights < enough))


def first_mixture(
    frame: Frame, init: Any, n_clusters: int, n_init: int, rng: np.random.RandomState
) -> Moments:
    """The mixture that `init` stands for, as moments of sphered rows."""
    if hasattr(init, "fit"):
        return _given_mixture(frame, init, n_clusters)
    rows = drawn_rows(frame)
    if not isinstance(init, str):
        return _fitted(frame, rows, _given_groups(frame, init, n_clusters)).moments
    n_different = 1 + int(np.any(np.diff(_rounded(rows), axis=0), axis=1).sum())
    if n_different < n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {n_different} different rows of X."
        )
    if n_clusters == 1:
        return frame.moments(1, one_group)
    standardized, half_sphered = rows / frame.spread, rows / np.sqrt(frame.spread)
    makers: dict[str, list[Callable[[], IntArray]]] = {
        "kmeans": [lambda: _kmeans(half_sphered, n_clusters, rng)] * n_init,
        "ward": [lambda: _ward(half_sphered, n_clusters)],
    }
    makers["auto"] = [
        *3 * makers["kmeans"],
        *makers["ward"],
        lambda: _ward(standardized, n_clusters),
    ]
    candidates = [_from_labels(frame, rows, make(), n_clusters) for make in makers[init]]
    return max(candidates, key=lambda own: (-own.n_collapsed, own.log_likelihood)).moments


def drawn_rows(frame: Frame) -> FloatArray:
    """Sphered rows, (m, R): all, each as often as its weight says, or evenly drawn ones; sorted."""
    engine = frame.engine
    if not isinstance(engine, RowEngine):  # rows on a cluster
        engine = engine.sample(min(engine.n_samples, MAX_GATHERED))
    sphering = frame.engine_matrix(sphered_coordinates(frame))
    keys = engine.mapped(lambda block: sphering.T[:3] @ block.centered().T).X
    order = np.lexsort(keys.T[::-1])
    weights = np.ones(engine.n_samples) if engine.weights is None else engine.weights[order]
    reached = np.cumsum(weights)
    n_drawn = min(MAX_ROWS, max(1, round(engine.count)))
    places = (np.arange(n_drawn) + 0.5) / n_drawn * reached[-1]
    drawn = order[np.minimum(np.searchsorted(reached, places), engine.n_samples - 1)]
    rows = (np.asarray(engine.X[drawn], dtype=np.float64) - engine.center) @ sphering
    return rows[np.lexsort(_rounded(rows).T[::-1])]  # rows that share their keys too


def _rounded(rows: FloatArray) -> FloatArray:
    """Sphered rows without what rounding may have added."""
    return np.round(rows, 9)


def _kmeans(rows: FloatArray, n_clusters: int, rng: np.random.RandomState) -> IntArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer rows than clusters: see below
        labels: IntArray = KMeans(n_clusters, n_init=1, random_state=rng).fit(rows).labels_
    return labels


def _ward(rows: FloatArray, n_clusters: int) -> IntArray:
    seen = rows[:: -(-len(rows) // MAX_LINKAGE_ROWS)]
    if len(seen) < n_clusters:
        seen = rows
    labels: IntArray = AgglomerativeClustering(n_clusters, linkage="ward").fit(seen).labels_
    if len(seen) < len(rows):
        labels = NearestCentroid().fit(seen, labels).predict(rows)
    return labels


def _from_labels(frame: Frame, rows: FloatArray, labels: IntArray, n_clusters: int) -> FirstMixture:
    engine = RowEngine(rows, labels.astype(np.intp))
    return _fitted(frame, rows, group_moments(engine, n_clusters, RowBlock.centered))


def _fitted(frame: Frame, rows: FloatArray, groups: Moments) -> FirstMixture:
    """EM from the moments of groups of sphered rows."""
    whitening = whiten_classes(frame, groups)
    regular, _ = whitening.regularize(groups)
    covariances = regular.mapped(whitening.coordinates.unwhitener * frame.spread).covariances
    covariances += REGULARizATION * np.eye(len(covariances[0]))
    precisions = np.linalg.inv(covariances)
    mixture = GaussianMixture(
        groups.n_groups,
        reg_covar=REGULARizATION,
        max_iter=200,
        weights_init=groups.priors,
        means_init=groups.means,
        precisions_init=0.5 * (precisions + precisions.transpose(0, 2, 1)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is a start
        mixture.fit(rows)
    moments = _moments(frame, mixture.weights_, mixture.means_, mixture.covariances_)
    return FirstMixture(moments, float(mixture.lower_bound_))


def _moments(
    frame: Frame, shares: FloatArray, means: FloatArray, covariances: FloatArray
) -> Moments:
    weights = frame.engine.count * np.maximum(shares, 1e-100)
    return Moments(weights, weights, means, covariances)


def _given_mixture(frame: Frame, mixture: Any, n_clusters: int) -> Moments:
    """A fitted mixture of scikit-learn's (or ours), mapped to sphered rows."""
    check_is_fitted(mixture)
    if not all(hasattr(mixture, name) for name in ("weights_", "means_", "covariances_")):
        raise ValueError(f"init must be {KINDS}; {type(mixture).__name__} is none of these.")
    means = np.asarray(mixture.means_, dtype=np.float64)
    n_features = len(frame.center)
    if means.shape != (n_clusters, n_features):
        raise ValueError(
            f"init is a mixture with means of shape {means.shape}, but n_clusters and columns of X "
            f"ask for ({n_clusters}, {n_features})."
        )
    covariances = _full_covariances(mixture, n_clusters, n_features)
    sphering = frame.sphering
    mapped = sphering.T @ covariances @ sphering
    return _moments(frame, mixture.weights_, (means - frame.center) @ sphering, mapped)


def _full_covariances(mixture: Any, n_clusters: int, n_features: int) -> FloatArray:
    """Covariances of any of scikit-learn's types as matrices, (K, p, p)."""
    own = np.asarray(mixture.covariances_, dtype=np.float64)
    shape = (n_clusters, n_features, n_features)
    if own.ndim == 3:
        return own
    if mixture.covariance_type == "tied":
        return np.broadcast_to(own, shape)
    variances = own if own.ndim == 2 else np.repeat(own[:, None], n_features, axis=1)
    return variances[:, :, None] * np.eye(n_features)


def _given_groups(frame: Frame, init: Any, n_clusters: int) -> Moments:
    """Labels or responsibilities for all rows, as moments of groups of sphered rows."""
    n_samples = frame.engine.n_samples
    try:
        given = np.asarray(init)
    except ValueError:
        given = np.empty(0)
    if given.ndim not in (1, 2) or len(given) != n_samples:
        described = f"an array of shape {given.shape}" if given.ndim else repr(init)
        raise ValueError(f"init must be {KINDS}, for {n_samples} rows; got {described}.")
    if given.ndim == 1:
        try:
            found, labels = np.unique(given, return_inverse=True)
        except TypeError:
            raise ValueError("init has labels that are missing or of several types.") from None
        if len(found) != n_clusters:
            raise ValueError(
                f"init has {len(found)} different labels, but n_clusters={n_clusters}."
            )
        codes = labels.astype(np.intp)
        return frame.moments(n_clusters, lambda block: codes[block.rows])
    shares: FloatArray = check_array(given, dtype=np.float64, input_name="init")
    if shares.shape[1] != n_clusters:
        raise ValueError(
            f"init has responsibilities for {shares.shape[1]} clusters, but "
            f"n_clusters={n_clusters}."
        )
    if shares.min() < 0 or np.any(np.abs(shares.sum(axis=1) - 1) > 1e-6):
        raise ValueError("init has responsibilities that are negative or do not sum to 1.")
    if np.any(shares.sum(axis=0) == 0):
        raise ValueError("init has a cluster to which no row belongs.")
    return frame.soft_moments(lambda block: shares[block.rows].T)
