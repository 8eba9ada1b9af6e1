"""Initial mixtures for clustering, by k-means or Ward linkage and EM with full covariances.

All methods use sphered samples, drawn evenly by weight and sorted. So an initialization does not
depend on the order of the samples, or on units or origins of the features, and a sample of weight
two is equivalent to two equal samples. k-means and Ward linkage use half-sphered samples: principal
components of standardized features, divided by the square roots of their standard deviations. This
is a compromise between standardized features, which groups of collinear features dominate, and
sphered ones, in which noise has the same variance as structure.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestCentroid
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from opgd._utils.labels import encode_groups
from opgd.core.coordinates import Frame, sphered_coordinates
from opgd.core.engines import RowBlock, RowEngine
from opgd.core.moments import Moments, group_moments, one_group
from opgd.core.regularization import whiten_classes
from opgd.core.types import FloatArray, IntArray

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
REGULARIZATION = 1e-3
"""Added to the variances of sphered samples in EM, as `reg_covar`."""
INCOMPLETE_ITERATIONS = 30
"""Maximum number of iterations of EM with missing entries, which follows that without."""
COLLAPSED = 0.2
"""Fraction of the average cluster weight below which a cluster may have collapsed."""


@dataclass(frozen=True)
class InitialMixture:
    """Moments of the clusters in coordinates of sphered samples, and the log-likelihood."""

    moments: Moments
    log_likelihood: float  # mean over the samples it was fitted to

    @property
    def n_collapsed(self) -> int:
        """Return the number of clusters so small that any samples could be separated like them."""
        weights, n_features = self.moments.weights, self.moments.means.shape[1]
        enough = min(n_features + 1, COLLAPSED * weights.mean())
        return int(np.sum(weights < enough))


def make_initial_mixture(
    frame: Frame, init: Any, n_clusters: int, n_init: int, rng: np.random.RandomState
) -> Moments:
    """Compute the mixture that `init` specifies, as moments of sphered samples.

    If samples have missing entries, EM that takes them into account follows.
    """
    moments = _make_mixture(frame, init, n_clusters, n_init, rng)
    if not frame.engine.incomplete or hasattr(init, "fit"):
        return moments
    return fit_incomplete(frame, moments)


def _make_mixture(
    frame: Frame, init: Any, n_clusters: int, n_init: int, rng: np.random.RandomState
) -> Moments:
    if hasattr(init, "fit"):
        return _convert_mixture(frame, init, n_clusters)
    rows = draw_rows(frame)
    if not isinstance(init, str):
        return _fit_em(frame, rows, _convert_groups(frame, init, n_clusters)).moments
    n_distinct = 1 + int(np.any(np.diff(_round_rows(rows), axis=0), axis=1).sum())
    if n_distinct < n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {n_distinct} distinct samples of X."
        )
    if n_clusters == 1:
        return frame.moments(1, one_group)
    standardized, half_sphered = rows / frame.spread, rows / np.sqrt(frame.spread)
    methods: dict[str, list[Callable[[], IntArray]]] = {
        "kmeans": [lambda: _kmeans(half_sphered, n_clusters, rng)] * n_init,
        "ward": [lambda: _ward(half_sphered, n_clusters)],
    }
    methods["auto"] = [
        *3 * methods["kmeans"],
        *methods["ward"],
        lambda: _ward(standardized, n_clusters),
    ]
    candidates = [_fit_from_labels(frame, rows, assign(), n_clusters) for assign in methods[init]]
    return max(
        candidates, key=lambda mixture: (-mixture.n_collapsed, mixture.log_likelihood)
    ).moments


def fit_incomplete(frame: Frame, moments: Moments) -> Moments:
    """Run EM for a mixture of samples with missing entries, on a sample of them if they are many.

    A cluster that would get less than one sample ends it, with the moments before.
    """
    engine = frame.engine
    if engine.n_samples > MAX_ROWS:
        engine = engine.sample(MAX_ROWS)
    fitted = replace(frame, engine=engine).fit_mixture(moments, INCOMPLETE_ITERATIONS)
    if not np.all(fitted.weights > 1.0):
        return moments
    return _make_moments(frame, fitted.priors, fitted.means, fitted.covariances)


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        labels: IntArray = KMeans(n_clusters, n_init=1, random_state=rng).fit(rows).labels_
    return labels


def _ward(rows: FloatArray, n_clusters: int) -> IntArray:
    sample = rows[:: -(-len(rows) // MAX_LINKAGE_ROWS)]
    if len(sample) < n_clusters:
        sample = rows
    labels: IntArray = AgglomerativeClustering(n_clusters, linkage="ward").fit(sample).labels_
    if len(sample) < len(rows):
        labels = NearestCentroid().fit(sample, labels).predict(rows)
    return labels


def _fit_from_labels(
    frame: Frame, rows: FloatArray, labels: IntArray, n_clusters: int
) -> InitialMixture:
    engine = RowEngine(rows, labels.astype(np.intp))
    return _fit_em(frame, rows, group_moments(engine, n_clusters, RowBlock.centered))


def _fit_em(frame: Frame, rows: FloatArray, groups: Moments) -> InitialMixture:
    """Run EM from the moments of groups of sphered samples."""
    whitening = whiten_classes(frame, groups)
    regular, _ = whitening.regularize(groups)
    covariances = regular.mapped(whitening.coordinates.unwhitener * frame.spread).covariances
    covariances += REGULARIZATION * np.eye(len(covariances[0]))
    precisions = np.linalg.inv(covariances)
    mixture = GaussianMixture(
        groups.n_groups,
        reg_covar=REGULARIZATION,
        max_iter=200,
        weights_init=groups.priors,
        means_init=groups.means,
        precisions_init=0.5 * (precisions + precisions.transpose(0, 2, 1)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # an initialization need not converge
        mixture.fit(rows)
    moments = _make_moments(frame, mixture.weights_, mixture.means_, mixture.covariances_)
    return InitialMixture(moments, float(mixture.lower_bound_))


def _make_moments(
    frame: Frame, shares: FloatArray, means: FloatArray, covariances: FloatArray
) -> Moments:
    weights = frame.engine.count * np.maximum(shares, 1e-100)
    return Moments(weights, weights, means, covariances)


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
    return _make_moments(frame, mixture.weights_, (means - frame.center) @ sphering, mapped)


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
