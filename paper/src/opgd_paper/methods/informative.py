"""Informative components: the classification likelihood with isotropic Gaussians.

With a kernel on every sample (``centers="samples"``), scores s_i of the samples on orthonormal
directions, r_k the prior of class k over its frequency and v the variance of the kernels,

    value = mean_i log [ sum_{j != i, y_j = y_i} a_ij / sum_{j != i} a_ij ]
    a_ij  = r_{y_j} exp(-|s_i - s_j|^2 / 2 v)

Rows i are processed in blocks, so that memory is linear in the number of samples.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opgd_paper.methods._base import ComponentsMixin, DensityClassifier, FloatArray, IntArray
from opgd_paper.methods._support import (
    compute_log_ratio,
    count_components,
    lda_axes,
    log_sum_by_class,
    maximize,
    split_classes,
    warn_not_converged,
    whiten_classes,
)
from opgd_paper.methods.kernel import BLOCK_CELLS, reference_bandwidth

HELD_OUT_EVERY = 3
"""Every third sample of a class is held out for the selection of the variance."""
WIDTHS = (4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25)
"""Candidate widths, as multiples of the normal reference bandwidth, the widest first."""
REFERENCE = WIDTHS.index(1.0)
SELECTION_ITERATIONS = 30
"""Maximum number of iterations of each search in the selection of the variance."""


@dataclass(frozen=True)
class CenterLikelihood:
    """Mean log posterior under isotropic Gaussians, by orthonormal directions (q, R)."""

    Z: FloatArray  # (n, R)
    codes: IntArray  # (n,)
    means: FloatArray  # (C, R)
    log_weights: FloatArray  # (C,)
    classes: IntArray  # (C,)
    variance: float

    def value_and_gradient(self, directions: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its gradient."""
        scores, means = self.Z @ directions.T, self.means @ directions.T
        joint = log_kernels(scores, means, self.log_weights, self.variance)
        values, weights = compute_log_ratio(joint, self.codes[:, None] == self.classes)
        by_score = weights @ means - weights.sum(axis=1)[:, None] * scores
        by_mean = weights.T @ scores - weights.sum(axis=0)[:, None] * means
        gradient = (by_score.T @ self.Z + by_mean.T @ self.means) / (self.variance * len(scores))
        return float(values.mean()), np.asarray(gradient)


@dataclass(frozen=True)
class SpanLikelihood:
    """Likelihood of orthonormal components V, as a function of any vectors U = L V with their span.

    The isotropic model depends only on the span, so only the part of a step that leaves the span
    changes the value:

        gradient by U = L^-T (gradient by V) (I - V'V)
    """

    likelihood: "CenterLikelihood | KernelLikelihood"

    def __call__(self, at: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its gradient."""
        axes, factor = orthonormalize(at)
        value, gradient = self.likelihood.value_and_gradient(axes)
        leaving = gradient - gradient @ axes.T @ axes
        return value, np.asarray(np.linalg.solve(factor.T, leaving))


def orthonormalize(at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return orthonormal rows V and the factor L of at = L V."""
    basis, factor = np.linalg.qr(at.T)
    return basis.T, factor.T


@dataclass(frozen=True)
class KernelSamples:
    """Whitened samples with classes and prior ratios."""

    Z: FloatArray  # (n, R)
    codes: IntArray  # (n,), from 0 to K - 1
    log_ratios: FloatArray  # (K,), log of the priors over the class frequencies

    @property
    def log_weights(self) -> FloatArray:
        """Log weights of the kernels, (n,)."""
        return self.log_ratios[self.codes]

    def take(self, rows: IntArray) -> "KernelSamples":
        """Return some of the samples."""
        return replace(self, Z=self.Z[rows], codes=self.codes[rows])

    def split(self) -> tuple["KernelSamples", "KernelSamples"]:
        """Return training and held-out samples; the first two of each class are not held out."""
        held_out = rank_in_class(self.codes) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
        return self.take(np.flatnonzero(~held_out)), self.take(np.flatnonzero(held_out))

    def batch(self, size: int) -> IntArray:
        """Return the indices of at most `size` samples, evenly spaced in all classes."""
        order = np.lexsort((rank_in_class(self.codes), self.codes))
        return np.sort(order[:: -(-len(order) // size)])


def rank_in_class(codes: IntArray) -> IntArray:
    """Return the number of earlier samples of the same class, (n,)."""
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], codes[order])
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(codes)) - first
    return ranks


@dataclass(frozen=True)
class KernelLikelihood:
    """Mean log posterior of samples under the kernels of the others, by directions (q, R)."""

    samples: KernelSamples
    rows: IntArray  # (m,), samples at which the likelihood is evaluated
    variance: float

    def value_and_gradient(self, directions: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its gradient (q, R) by directions of any length."""
        samples = self.samples
        scores = samples.Z @ directions.T
        slopes, value = np.zeros_like(scores), 0.0
        for rows in np.array_split(self.rows, 1 + len(self.rows) * len(scores) // BLOCK_CELLS):
            logs = log_kernels(scores[rows], scores, samples.log_weights, self.variance)
            logs[np.arange(len(rows)), rows] = -np.inf
            gains, matrix = _log_posteriors(logs, samples.codes[rows], samples.codes)
            used = np.isfinite(gains)  # the only sample of a class has no other kernel
            value += float(gains[used].sum())
            matrix *= used[:, None]
            slopes[rows] += matrix @ scores
            slopes += matrix.T @ scores[rows] - matrix.sum(axis=0)[:, None] * scores
        slopes /= self.variance * len(self.rows)
        return value / len(self.rows), slopes.T @ samples.Z


def log_kernels(
    at: FloatArray, centers: FloatArray, log_weights: FloatArray, variance: float
) -> FloatArray:
    """Return log weights plus log kernels, less the constant of the normal density, (m, n)."""
    logs = at @ centers.T
    logs -= 0.5 * np.sum(at**2, axis=1)[:, None]
    logs -= 0.5 * np.sum(centers**2, axis=1)
    logs /= variance
    logs += log_weights
    return np.asarray(logs)


def _log_posteriors(
    logs: FloatArray, row_codes: IntArray, codes: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return log posteriors of the classes of rows (m,), and their derivatives by `logs` (m, n)."""
    of_class = np.where(row_codes[:, None] == codes, logs, -np.inf)
    totals, shares = _normalize(logs)
    class_totals, class_shares = _normalize(of_class)
    class_shares -= shares
    return class_totals - totals, class_shares


def _normalize(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log-sum-exp of each row, (m,), and softmax, (m, n); zero if all are -inf."""
    peaks = logs.max(axis=1)
    shares = np.exp(logs - np.where(np.isfinite(peaks), peaks, 0.0)[:, None])
    sums = shares.sum(axis=1)
    with np.errstate(divide="ignore"):
        totals = peaks + np.log(sums)
    shares /= np.where(sums > 0, sums, 1.0)[:, None]
    return totals, shares


def held_out_value(
    training: KernelSamples, held_out: KernelSamples, directions: FloatArray, variance: float
) -> float:
    """Return the mean log posterior of held-out samples under the kernels of training samples."""
    centers, at, total = training.Z @ directions.T, held_out.Z @ directions.T, 0.0
    for rows in np.array_split(np.arange(len(at)), 1 + len(at) * len(centers) // BLOCK_CELLS):
        logs = log_kernels(at[rows], centers, training.log_weights, variance)
        gains, _ = _log_posteriors(logs, held_out.codes[rows], training.codes)
        total += float(gains.sum())
    return total / len(at)


def candidate_variances(samples: KernelSamples, n_components: int) -> list[float]:
    """Return variances around that of the normal reference rule for classes, descending."""
    counts = np.bincount(samples.codes)
    size = float(np.exp(np.log(np.maximum(counts, 2)).mean()))
    reference = reference_bandwidth(size, n_components)
    return [(width * reference) ** 2 for width in WIDTHS]


def select_variance(
    samples: KernelSamples, start: FloatArray, *, batch_size: int, max_iter: int, tol: float
) -> tuple[float, FloatArray]:
    """Return the variance with the largest held-out likelihood, and the directions found for it.

    Searches on the training part start from the directions of the next wider kernels. Without
    held-out samples, the variance is that of the normal reference rule.
    """
    training, held_out = samples.split()
    variances = candidate_variances(training, len(start))
    if len(held_out.codes) == 0:
        return variances[REFERENCE], start
    best, directions = (-np.inf, 0.0, start), start
    rows, budget = training.batch(batch_size), min(max_iter, SELECTION_ITERATIONS)
    for variance in variances:
        likelihood = SpanLikelihood(KernelLikelihood(training, rows, variance))
        run = maximize(likelihood, directions, max_iter=budget, tol=tol)
        directions = orthonormalize(run.directions)[0]
        value = held_out_value(training, held_out, directions, variance)
        if value <= best[0] and variance < best[1] / 2:
            break  # the second narrower width without a gain
        best = max(best, (value, variance, directions), key=lambda trial: trial[0])
    return best[1], best[2]


class InformativeComponents(ComponentsMixin, DensityClassifier):
    r"""Informative components: classification likelihood with isotropic Gaussians.

    The components :math:`V` maximize the objective of `OPGDClassifier` with one fixed variance
    :math:`s` for all Gaussians and components,

    .. math::

        \sum_i \log \frac{\pi_{y_i} N(V^\top x_i; V^\top \mu_{y_i}, s I)}
                         {\sum_k \pi_k N(V^\top x_i; V^\top \mu_k, s I)},

    where :math:`V` is orthonormal in coordinates in which the pooled covariance is the identity, so
    that the units of the features do not matter. There are three readings of the reference:

    - ``centers="means"`` with one Gaussian per class, at its mean; with all components this is LDA.
    - ``centers="means"`` with ``n_subclasses > 1``: class mixtures with a fixed isotropic
      covariance, as Hofmeyr, Kamper & Melonas describe the method. The means are the k-means
      centers within the classes.
    - ``centers="samples"``: nonparametric class densities, as the authors describe the method in
      later work. Every training sample has a kernel, so that
      :math:`\pi_k f_k(z) \propto \sum_{j : y_j = k} N(z; V^\top x_j, s I)`.

    The whitened coordinates, sums without :math:`j = i`, so that a sample does not predict its own
    class, the selection of :math:`s` on held-out samples, and L-BFGS are choices made here.

    With ``centers="samples"`` a fit takes time proportional to ``n_samples * batch_size`` and
    memory proportional to ``n_samples``. The fitted model stores the scores of all training
    samples.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, from 1 to n_features. None means
        ``min(n_features, max(2, n_classes - 1))``.
    n_subclasses : int, default=1
        Number of Gaussians per class, divided by k-means.
    centers : {"means", "samples"}, default="means"
        Centers of the Gaussians: means of classes (or of their k-means clusters), or all training
        samples. `n_subclasses` must be 1 for "samples".
    variance : float, default=None
        The variance :math:`s`, in units of the pooled variance. None means 1 for
        ``centers="means"``. For ``centers="samples"`` it means that nine variances around that of
        the normal reference rule are tried, with every third sample of each class held out, and
        that with the largest likelihood of the held-out samples is used.
    batch_size : int, default=1000
        Maximum number of samples at which the likelihood is evaluated with ``centers="samples"``,
        evenly spaced in each class. All samples have kernels.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Class prior probabilities. None means the class frequencies.
    max_iter : int, default=500
        Maximum number of iterations. With 0 the initial (LDA) components are kept.
    tol : float, default=1e-6
        The search has converged when no entry of the gradient of the mean objective exceeds `tol`
        in absolute value.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The components, uncorrelated within classes and with pooled within-class variance 1. Within
        their span they are the LDA components, the most discriminating first.
    log_likelihood_ : float
        Maximized objective. If there are more than `batch_size` samples with
        ``centers="samples"``, it is extrapolated from those at which it was evaluated.
    loss_curve_ : list of float
        Negative mean objective before the search and after each iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the search reached `tol`.
    variance_ : float
        The variance that was used.
    gaussian_classes_ : ndarray of shape (n_gaussians,)
        Index into `classes_` of the class of each Gaussian.
    n_components_ : int
        Number of components.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Peltonen & Kaski, "Discriminative Components of Data", IEEE Transactions on Neural Networks
    2005; Peltonen, Goldberger & Kaski, "Fast Discriminative Component Analysis for Comparing
    Examples", NIPS 2006 workshop on Learning to Compare Examples, for the nonparametric densities;
    Hofmeyr, Kamper & Melonas, Section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd_paper.methods import InformativeComponents
    >>> X, y = load_wine(return_X_y=True)
    >>> InformativeComponents(n_components=1).fit(X, y).transform(X).shape
    (178, 1)
    """

    variance_: float

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_subclasses: Any = 1,
        centers: str = "means",
        variance: float | None = None,
        batch_size: int = 1000,
        priors: Any = None,
        max_iter: int = 500,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.n_subclasses = n_subclasses
        self.centers = centers
        self.variance = variance
        self.batch_size = batch_size
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _fit_densities(self, X: FloatArray, codes: IntArray) -> None:
        if self.centers not in ("means", "samples"):
            raise ValueError(f"centers must be 'means' or 'samples', got {self.centers!r}.")
        if self.centers == "samples" and self.n_subclasses != 1:
            raise ValueError(
                "n_subclasses must be 1 with centers='samples', which has a Gaussian for each "
                f"sample, got {self.n_subclasses!r}."
            )
        whitened, n_classes = whiten_classes(X, codes), len(self.classes_)
        default = max(2, n_classes - 1)
        n_components = count_components(self.n_components, default, whitened.rank, X.shape[1])
        start = lda_axes(whitened.classes, n_components)
        likelihood: CenterLikelihood | KernelLikelihood
        if self.centers == "samples":
            order = np.argsort(codes, kind="stable")
            log_ratios = np.log(self.priors_ / whitened.classes.shares)
            samples = KernelSamples(whitened.Z[order], codes[order], log_ratios)
            if self.variance is None:
                self.variance_, start = select_variance(
                    samples, start, batch_size=self.batch_size, max_iter=self.max_iter, tol=self.tol
                )
            else:
                self.variance_ = float(self.variance)
            likelihood = KernelLikelihood(samples, samples.batch(self.batch_size), self.variance_)
        else:
            self.variance_ = 1.0 if self.variance is None else float(self.variance)
            moments, _, classes = split_classes(whitened, codes, self.n_subclasses)
            log_weights = np.log(
                self.priors_[classes] * moments.counts / np.bincount(codes)[classes]
            )
            likelihood = CenterLikelihood(
                whitened.Z, codes, moments.means, log_weights, classes, self.variance_
            )
        run = maximize(SpanLikelihood(likelihood), start, max_iter=self.max_iter, tol=self.tol)
        if not run.converged:
            warn_not_converged("The components have", self.max_iter)

        # the LDA components inside the span
        span = orthonormalize(run.directions)[0]
        directions = lda_axes(whitened.classes.mapped(span.T), n_components) @ span
        directions = whitened.fix_signs(directions)
        self.components_, self._center = whitened.components(directions), whitened.center
        self.n_components_ = n_components
        self.log_likelihood_ = run.value * len(X)
        self.n_iter_ = max(run.n_iter, int(self.max_iter > 0))
        self.converged_ = run.converged
        self.loss_curve_ = [-value for value in run.history]
        if isinstance(likelihood, KernelLikelihood):
            self._centers, self.gaussian_classes_ = samples.Z @ directions.T, samples.codes
            self._log_weights = samples.log_weights - np.log(len(X))
        else:
            self._centers, self.gaussian_classes_ = likelihood.means @ directions.T, classes
            self._log_weights = log_weights

    def _log_densities(self, X: FloatArray) -> FloatArray:
        scores = (X - self._center) @ self.components_.T
        logs = np.empty((len(X), len(self.classes_)))
        n_blocks = 1 + len(X) * len(self._centers) // BLOCK_CELLS
        for rows in np.array_split(np.arange(len(X)), n_blocks):
            joint = log_kernels(scores[rows], self._centers, self._log_weights, self.variance_)
            logs[rows] = log_sum_by_class(joint, self.gaussian_classes_)
        return logs - np.log(self.priors_)
