"""First mixtures for clustering: scikit-learn's k-means, Ward linkage and full-covariance EM.

Everything happens on sphered rows, drawn evenly by weight and sorted: a start does not depend on
the order of the rows, on units or origins, and a row of weight two is the row twice. k-means and
linkage see half-sphered rows (principal components of standardised columns, with the square roots
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

from opgd.core.coordinates import Frame
from opgd.core.engines import RowEngine
from opgd.core.moments import Moments, group_moments
from opgd.core.regularisation import regularise, unit_variance, whitened_coordinates
from opgd.core.types import FloatArray, IntArray

STARTS = ["auto", "kmeans", "ward"]
MAX_ROWS = 20_000
"""Rows that the first mixture is fitted to; more are drawn evenly from all."""
MAX_LINKAGE_ROWS = 2_000
"""Rows that Ward linkage sees; its memory grows with their square."""
REGULARISATION = 1e-3
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


def is_mixture(init: Any) -> bool:
    """Whether a start is an estimator like scikit-learn's mixtures."""
    return hasattr(init, "fit") and hasattr(init, "covariance_type")


def first_mixture(
    frame: Frame, init: Any, n_clusters: int, n_init: int, rng: np.random.RandomState
) -> Moments:
    """The mixture that `init` stands for, as moments of sphered rows."""
    if is_mixture(init):
        return _given_mixture(frame, init, n_clusters)
    rows = drawn_rows(frame)
    if not isinstance(init, str):
        return _fitted(frame, rows, _given_groups(frame, init, n_clusters)).moments
    if n_clusters == 1:
        return frame.moments(np.zeros(frame.engine.n_samples, dtype=np.intp), 1)
    standardised, half_sphered = rows / frame.spread, rows / np.sqrt(frame.spread)
    makers: dict[str, list[Callable[[], IntArray]]] = {
        "kmeans": [lambda: _kmeans(half_sphered, n_clusters, rng)] * n_init,
        "ward": [lambda: _ward(half_sphered, n_clusters)],
    }
    makers["auto"] = [
        *makers["kmeans"],
        *makers["ward"],
        lambda: _ward(standardised, n_clusters),
    ]
    candidates = [_from_labels(frame, rows, make(), n_clusters) for make in makers[init]]
    return max(candidates, key=lambda own: (-own.n_collapsed, own.log_likelihood)).moments


def drawn_rows(frame: Frame) -> FloatArray:
    """Sphered rows, (m, R): all, each as often as its weight says, or evenly drawn ones; sorted."""
    engine = frame.engine
    weights = np.ones(engine.n_samples) if engine.weights is None else engine.weights
    reached = np.cumsum(weights)
    # weights may have any sum; as counts they are worth Kish's effective number at least
    count = max(reached[-1], reached[-1] ** 2 / (weights @ weights))
    n_drawn = min(MAX_ROWS, max(1, round(count)))
    places = (np.arange(n_drawn) + 0.5) / n_drawn * reached[-1]
    drawn = np.minimum(np.searchsorted(reached, places), engine.n_samples - 1)
    rows = np.asarray(engine.X[drawn], dtype=np.float64) - engine.center
    if not frame.sphered:
        rows = rows @ frame.sphering
    order = np.lexsort(rows.T[: min(3, rows.shape[1])][::-1])
    sorted_rows: FloatArray = np.ascontiguousarray(rows[order])
    return sorted_rows


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
    n_found = len(np.unique(labels))
    if n_found < n_clusters:
        raise ValueError(
            f"X has too few different rows for n_clusters={n_clusters}: {n_found} clusters "
            "are all that can be told apart."
        )
    engine = RowEngine(rows, labels.astype(np.intp))
    return _fitted(frame, rows, group_moments(engine, n_clusters, lambda own: own))


def _fitted(frame: Frame, rows: FloatArray, groups: Moments) -> FirstMixture:
    """EM from the moments of groups of sphered rows."""
    coordinates, _ = whitened_coordinates(frame, groups)
    regular, _ = regularise(frame, coordinates, groups, level=unit_variance(frame, groups))
    covariances = regular.mapped(coordinates.unwhitener * frame.spread).covariances
    covariances += REGULARISATION * np.eye(len(covariances[0]))
    precisions = np.linalg.inv(covariances)
    mixture = GaussianMixture(
        groups.n_groups,
        reg_covar=REGULARISATION,
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
    engine = frame.engine
    count = float(engine.n_samples)
    if engine.weights is not None:
        total = engine.total_weight
        count = max(total, total**2 / float(engine.weights @ engine.weights))
    weights = count * np.maximum(shares, 1e-100)
    return Moments(weights, weights, means, covariances)


def _given_mixture(frame: Frame, mixture: Any, n_clusters: int) -> Moments:
    """A fitted mixture of scikit-learn's, mapped to sphered rows."""
    check_is_fitted(mixture)
    means = np.asarray(getattr(mixture, "means_", np.empty((0, 0))), dtype=np.float64)
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
    kind = mixture.covariance_type
    if kind == "full":
        return own
    if kind == "tied":
        return np.broadcast_to(own, shape)
    variances = own if kind == "diag" else np.repeat(own[:, None], n_features, axis=1)
    return variances[:, :, None] * np.eye(n_features)


def _given_groups(frame: Frame, init: Any, n_clusters: int) -> Moments:
    """Labels or responsibilities for all rows, as moments of groups of sphered rows."""
    given = np.asarray(init)
    n_samples = frame.engine.n_samples
    if given.ndim not in (1, 2) or len(given) != n_samples:
        raise ValueError(
            f"init must be one of {STARTS}, a fitted mixture, {n_samples} labels, or "
            f"responsibilities of shape ({n_samples}, n_clusters); got {_described(init)}."
        )
    if given.ndim == 1:
        found, labels = np.unique(given, return_inverse=True)
        if len(found) != n_clusters:
            raise ValueError(
                f"init has {len(found)} different labels, but n_clusters={n_clusters}."
            )
        return frame.moments(labels.astype(np.intp), n_clusters)
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


def _described(value: Any) -> str:
    shape = np.shape(value)
    return f"an array of shape {shape}" if shape else repr(value)
