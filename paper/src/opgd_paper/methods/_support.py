"""What the methods share: moments of classes, whitened coordinates, L-BFGS, EM and k-means.

In whitened coordinates the pooled within-class covariance is the identity. They remove the units of
the features, and optimization needs fewer evaluations in them.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, optimize
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from opgd_paper.methods._base import FloatArray, IntArray

RANK_TOLERANCE = 1e-12
"""Fraction of the largest eigenvalue of the correlation matrix that counts as zero."""
WITHIN_FLOOR = 1e-8
"""Fraction of the total variance below which a pooled within-class variance counts as zero."""
VARIANCE_FLOOR = 1e-6
"""Fraction of the pooled variance below which a variance counts as zero."""
CLASS_ROWS = 0.2
"""Samples per dimension by which the covariance of a subclass is shrunk to that of its class."""


# --- moments and coordinates ---


@dataclass(frozen=True)
class Moments:
    """Sizes, means and covariances (divisor n_k) of classes or subclasses."""

    counts: FloatArray  # (C,)
    means: FloatArray  # (C, R)
    covariances: FloatArray  # (C, R, R)

    @property
    def shares(self) -> FloatArray:
        return np.asarray(self.counts / self.counts.sum())

    @property
    def within(self) -> FloatArray:
        return np.tensordot(self.shares, self.covariances, axes=1)

    @property
    def between(self) -> FloatArray:
        steps = np.sqrt(self.shares)[:, None] * (self.means - self.shares @ self.means)
        return np.asarray(steps.T @ steps)

    def mapped(self, matrix: FloatArray) -> "Moments":
        """Return the moments of samples x @ matrix."""
        covariances = matrix.T @ self.covariances @ matrix
        return Moments(self.counts, self.means @ matrix, covariances)


def compute_moments(Z: FloatArray, memberships: FloatArray) -> Moments:
    """Return the moments of groups from the share (n, C) of each sample in each group."""
    counts = memberships.sum(axis=0)
    means = memberships.T @ Z / counts[:, None]
    covariances = []
    for shares, count, mean in zip(memberships.T, counts, means, strict=True):
        steps = (Z - mean) * np.sqrt(shares / count)[:, None]
        covariances.append(steps.T @ steps)
    return Moments(counts, means, np.array(covariances))


def one_hot(codes: IntArray, n_groups: int) -> FloatArray:
    """Return the indicators of groups, (n, n_groups); zeros for codes of -1."""
    return np.asarray(codes[:, None] == np.arange(n_groups), dtype=np.float64)


@dataclass(frozen=True)
class Sphered:
    """Standardized samples, reduced to the directions in which they vary, with unit variances."""

    Z: FloatArray  # (n, R)
    center: FloatArray  # (p,)
    scale: FloatArray  # (p,), standard deviations; 1 for constant features
    basis: FloatArray  # (p, R), orthonormal
    spread: FloatArray  # (R,), Z = standardized samples @ basis * spread
    n_active: int  # number of features that vary


def sphere(X: FloatArray) -> Sphered:
    """Standardize and sphere samples (n, p)."""
    center, size = X.mean(axis=0), np.ptp(X, axis=0)
    constant = size <= 8 * np.finfo(float).eps * np.abs(center)
    if constant.all():
        raise ValueError("All features of X are constant; at least one must vary.")
    rows = X - center
    rows[:, constant] = 0.0
    scale = np.where(constant, 1.0, rows.std(axis=0))
    rows /= scale
    _, singular, right = linalg.svd(rows / np.sqrt(len(rows)), full_matrices=False)
    retained = singular**2 > RANK_TOLERANCE * singular[0] ** 2
    basis, spread = right[retained].T, 1.0 / singular[retained]
    return Sphered(
        rows @ (basis * spread), center, scale, basis, spread, len(scale) - int(constant.sum())
    )


@dataclass(frozen=True)
class Whitened:
    """Samples in coordinates in which the pooled within-class covariance is the identity.

    A singular pooled covariance is shrunk toward the identity on standardized features.
    """

    Z: FloatArray  # (n, R)
    center: FloatArray  # (p,)
    matrix: FloatArray  # (p, R), Z = (X - center) @ matrix
    loadings: FloatArray  # (p, R), the same for standardized features
    classes: Moments  # regularized
    borrowed: FloatArray  # (K,), shares of the pooled covariance in singular class covariances
    identity_share: float
    unit: FloatArray  # (R, R), the target of the pooled covariance

    @property
    def rank(self) -> int:
        return self.Z.shape[1]

    def components(self, directions: FloatArray) -> FloatArray:
        """Return directions (q, R) as components in the space of the features, (q, p)."""
        return np.asarray(directions @ self.matrix.T)

    def fix_signs(self, directions: FloatArray) -> FloatArray:
        """Flip directions whose largest loading on standardized features is negative."""
        loadings = directions @ self.loadings.T
        largest = loadings[np.arange(len(loadings)), np.argmax(np.abs(loadings), axis=1)]
        return np.asarray(directions * np.where(largest < 0, -1.0, 1.0)[:, None])

    def regularize(self, moments: Moments) -> tuple[Moments, FloatArray]:
        """Regularize moments in these coordinates; return them and the borrowed shares (C,).

        The share of the identity in the pooled covariance is added to all. Covariances that are
        singular are shrunk toward the pooled one.
        """
        covariances = moments.covariances
        if self.identity_share > 0:
            covariances = (1 - self.identity_share) * covariances + self.identity_share * self.unit
        moments = replace(moments, covariances=covariances)
        missing = np.array([missing_share(S) for S in covariances])
        if not missing.any():
            return moments, np.zeros(len(missing))
        within, rank = moments.within, self.rank
        gap = borrowed_share(missing_share(within), float(moments.counts.sum()), rank)
        pooled = (1 - gap) * within + gap * np.eye(rank)
        borrowed = np.array(
            [borrowed_share(*pair, rank) for pair in zip(missing, moments.counts, strict=True)]
        )
        share = borrowed[:, None, None]
        return replace(moments, covariances=(1 - share) * covariances + share * pooled), borrowed


def whiten(
    X: FloatArray, memberships: Callable[[Sphered], FloatArray], *, warn: bool = True
) -> Whitened:
    """Whiten samples by the pooled covariance of classes, given by memberships (n, K)."""
    sphered = sphere(X)
    spread, basis = sphered.spread, sphered.basis
    shares = memberships(sphered)
    classes = compute_moments(sphered.Z, shares)
    within, n_active = classes.within, sphered.n_active
    level = unit_variance(within, sphered)
    unit, share = level * np.diag(spread**2), 0.0
    rank = int(np.sum(linalg.eigvalsh(within) >= WITHIN_FLOOR))
    if rank < len(within):
        share = borrowed_share(1.0 - rank / n_active, float(classes.counts.sum()), n_active)
        within = (1 - share) * within + share * unit
        if warn:
            warnings.warn(
                "The pooled covariance of the classes is singular, so the identity on "
                f"standardized features was added with a weight of {share:.0%}.",
                stacklevel=5,
            )
    eigenvalues, vectors = linalg.eigh(within)
    whitener = vectors / np.sqrt(eigenvalues)  # of sphered samples
    loadings = basis * spread @ whitener
    whitened = Whitened(
        sphered.Z @ whitener,
        sphered.center,
        loadings / sphered.scale[:, None],
        loadings,
        classes,
        np.zeros(len(classes.counts)),
        share,
        whitener.T @ unit @ whitener,
    )
    moments, borrowed = whitened.regularize(classes.mapped(whitener))
    return replace(whitened, classes=moments, borrowed=borrowed)


def whiten_classes(X: FloatArray, codes: IntArray, *, warn: bool = True) -> Whitened:
    """Whiten samples by the pooled covariance of classes 0 to K - 1."""
    indicators = one_hot(codes, int(codes.max()) + 1)
    return whiten(X, lambda _: indicators, warn=warn)


def unit_variance(within: FloatArray, sphered: Sphered) -> float:
    """Return tr(Sigma_W) / p on standardized features, or 1 if Sigma_W is zero."""
    level = float(np.sum(np.diag(within) / sphered.spread**2)) / sphered.n_active
    return level if level > WITHIN_FLOOR else 1.0


def missing_share(covariance: FloatArray) -> float:
    """Return the share of directions in which a whitened covariance has (nearly) no variance."""
    return float(np.mean(linalg.eigvalsh(covariance) < VARIANCE_FLOOR))


def borrowed_share(missing: float, count: float, n_features: int) -> float:
    """Return the share that a covariance borrows, by its share of directions without variance."""
    share = missing * min(1.0, (n_features + 1) / count)
    return max(share, 2 * VARIANCE_FLOOR) if missing > 0 else 0.0


def leading_vectors(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of a symmetric matrix, largest first, and eigenvectors as rows."""
    eigenvalues, vectors = linalg.eigh(matrix)
    return eigenvalues[::-1], vectors[:, ::-1].T


def lda_axes(classes: Moments, n_components: int) -> FloatArray:
    """Return the LDA axes, then SAVE axes of their complement, (n_components, R)."""
    eigenvalues, axes = leading_vectors(classes.between)
    n_lda = int(np.sum(eigenvalues > 1e-10 * (1 + eigenvalues[0])))
    if n_lda >= n_components:
        return axes[:n_components]
    lda, rest = axes[:n_lda], axes[n_lda:]
    departures = np.eye(len(rest)) - rest @ classes.covariances @ rest.T
    save = leading_vectors(np.tensordot(classes.shares, departures @ departures, axes=1))[1]
    return np.vstack([lda, save @ rest])[:n_components]


def normalize_rows(directions: FloatArray) -> FloatArray:
    """Scale directions to length one, that is, to pooled within-class variance one."""
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


def count_components(n_components: int | None, default: int, rank: int, n_features: int) -> int:
    """Return the number of components, at most the rank of the samples."""
    if n_components is None:
        return min(default, rank)
    if not 1 <= n_components <= n_features:
        raise ValueError(f"n_components must be from 1 to {n_features}, got {n_components}.")
    return min(int(n_components), rank)


# --- optimization ---


@dataclass(frozen=True)
class Run:
    """Result of a search."""

    directions: FloatArray  # (q, R)
    value: float
    n_iter: int
    converged: bool
    history: list[float]  # value at the start and after every iteration


def maximize(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    *,
    max_iter: int,
    tol: float,
    least_gain: float = 0.0,
) -> Run:
    """Maximize a function, which returns value and gradient, from `start` with L-BFGS.

    The search has converged when no entry of the gradient exceeds `tol`, or when an iteration gains
    less than `least_gain`. The result is never worse than the start.
    """
    value = function(start)[0]
    best, best_value, history, n_iter = start.copy(), value, [value], 0
    if max_iter == 0:
        return Run(best, value, 0, True, history)

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best, best_value
        directions = flat.reshape(start.shape)
        value, gradient = function(directions)
        if value > best_value:
            best, best_value = directions.copy(), value
        return -value, -gradient.ravel()

    def after_iteration(intermediate_result: optimize.OptimizeResult) -> None:
        history.append(-float(intermediate_result.fun))
        if gains_little():
            raise StopIteration

    def gains_little() -> bool:
        return least_gain > 0 and len(history) > 2 and history[-1] - history[-2] < least_gain

    while True:
        before = best_value
        outcome = optimize.minimize(
            loss,
            best.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=after_iteration,
            options={
                "maxiter": max_iter - n_iter,
                "maxfun": 20 * max_iter,
                "maxcor": 20,
                "gtol": tol,
                "ftol": min(1e-12, tol * tol),
            },
        )
        n_iter += int(outcome.nit)
        failed = outcome.status == 2  # the line search, limited by rounding errors
        if failed and best_value > before and n_iter < max_iter and not gains_little():
            continue  # restart: rounding errors may have spoilt the estimated curvature
        converged = outcome.success or gains_little() or (failed and n_iter < max_iter)
        return Run(best, best_value, n_iter, bool(converged), history)


def warn_not_converged(what: str, max_iter: int) -> None:
    """Warn that a search stopped at its maximum number of iterations."""
    warnings.warn(
        f"{what} not converged after max_iter={max_iter} iterations.",
        ConvergenceWarning,
        stacklevel=4,
    )


# --- Gaussians on the components ---


@dataclass(frozen=True)
class AxisGaussians:
    """Gaussians with diagonal covariances of the scores on components."""

    log_weights: FloatArray  # (C,)
    means: FloatArray  # (C, q)
    variances: FloatArray  # (C, q)
    classes: IntArray  # (C,), the class of each Gaussian, ascending

    def log_joint(self, scores: FloatArray) -> FloatArray:
        """Return log(weight * density), up to a constant, of scores (n, q), (n, C)."""
        logs = np.broadcast_to(
            self.log_weights - 0.5 * np.log(self.variances).sum(axis=1),
            (len(scores), len(self.means)),
        ).copy()
        for column, means, variances in zip(scores.T, self.means.T, self.variances.T, strict=True):
            logs -= 0.5 * (column[:, None] - means) ** 2 / variances
        return logs

    def class_log_joint(self, scores: FloatArray) -> FloatArray:
        """Return log(prior * density) of the classes, (n, K)."""
        return log_sum_by_class(self.log_joint(scores), self.classes)

    def allowed(self, codes: IntArray, log_joint: FloatArray) -> FloatArray:
        """Return which Gaussians a sample may belong to, (n, C).

        These are the Gaussians of its class, or for an unlabeled sample (-1) the one with the
        largest joint density.
        """
        strongest = np.arange(len(self.means)) == log_joint.argmax(axis=1)[:, None]
        of_class = codes[:, None] == self.classes
        return np.where(codes[:, None] < 0, strongest, of_class)


def log_sum_by_class(logs: FloatArray, classes: IntArray) -> FloatArray:
    """Compute log-sum-exp over the columns of each class, (n, C) to (n, K)."""
    groups = [logs[:, classes == k] for k in range(int(classes[-1]) + 1)]
    return np.stack([logsumexp(group, axis=1) for group in groups], axis=1)


def compute_log_ratio(log_joint: FloatArray, allowed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(allowed over total density), (n,), and its derivatives by log joint, (n, C).

    The derivatives are targets less posteriors.
    """
    total = logsumexp(log_joint, axis=1, keepdims=True)
    targeted = np.where(allowed, log_joint, -np.inf)
    targeted_total = logsumexp(targeted, axis=1, keepdims=True)
    weights = np.exp(targeted - targeted_total) - np.exp(log_joint - total)
    return (targeted_total - total)[:, 0], weights


def split_classes(
    whitened: Whitened, codes: IntArray, number: int
) -> tuple[Moments, FloatArray, IntArray]:
    """Split labeled samples of each class into parts.

    Return their moments, the shares that these borrow from the pooled covariance, and classes.
    Parts are found by k-means in whitened coordinates, started from parts of equal size along the
    first principal axis of the class. Moments are regularized, and shrunk toward the class.
    """
    if number == 1:
        return whitened.classes, whitened.borrowed, np.arange(len(whitened.borrowed))
    parts = np.full(len(codes), -1)
    classes: list[int] = []
    for k in range(len(whitened.borrowed)):
        members = codes == k
        labels = find_parts(whitened.Z[members], min(number, int(members.sum())))
        parts[members] = len(classes) + labels
        classes += [k] * (int(labels.max()) + 1)
    gaussian_classes = np.array(classes)
    moments = compute_moments(whitened.Z, one_hot(parts, len(classes)))
    moments, borrowed = whitened.regularize(moments)
    means, covariances, counts = moments.means.copy(), moments.covariances.copy(), moments.counts
    extra = CLASS_ROWS * whitened.rank
    for k in range(len(whitened.borrowed)):
        own = gaussian_classes == k
        if own.sum() > 1:
            n, shares = counts[own], counts[own] / counts[own].sum()
            means[own] = (n[:, None] * means[own] + shares @ means[own]) / (n[:, None] + 1)
            pooled = np.tensordot(shares, covariances[own], axes=1)
            n = n[:, None, None]
            covariances[own] = (n * covariances[own] + extra * pooled) / (n + extra)
    return Moments(counts, means, covariances), borrowed, gaussian_classes


def find_parts(rows: FloatArray, number: int) -> IntArray:
    """Return the part of each row, from 0 on, by k-means from a start without randomness, (n,)."""
    if number == 1:
        return np.zeros(len(rows), dtype=np.intp)
    centered = rows - rows.mean(axis=0)
    positions = centered @ linalg.svd(centered, full_matrices=False)[2][0]
    cumulative = np.arange(1, len(rows) + 1) / len(rows)
    quantiles = np.searchsorted(cumulative, np.arange(1, number) / number - 1e-12)
    labels = np.searchsorted(np.sort(positions)[quantiles], positions, side="left")
    centers = rows
    for _ in range(101):
        before = np.unique(labels, return_inverse=True)[1]
        members = one_hot(before, int(before.max()) + 1)
        centers = members.T @ rows / members.sum(axis=0)[:, None]
        # the squared distance without the part that is equal for all centers
        labels = np.argmin(np.sum(centers**2, axis=1) - 2.0 * rows @ centers.T, axis=1)
        if np.array_equal(labels, before):
            break
    return np.unique(labels, return_inverse=True)[1]


def fit_mixture(
    scores: FloatArray,
    start: AxisGaussians,
    allowed: FloatArray,
    *,
    max_iter: int,
    tol: float,
    least: float = 1e-4,
    share: FloatArray | float = 0.0,
) -> AxisGaussians:
    """Run EM until an iteration gains less than `tol` per sample.

    Parameters
    ----------
    scores : ndarray of shape (n, q)
    start : initial Gaussians
    allowed : ndarray of shape (n, C)
        Which Gaussians a sample may belong to.
    least : float
        Lower bound of variances, as a fraction of the initial pooled variance.
    share : ndarray of shape (C,)
        Weight of a variance of 1 in the variance of each Gaussian.
    """
    shares = np.exp(start.log_weights)
    floor = least * (shares / shares.sum()) @ start.variances
    share = np.broadcast_to(share, len(shares))[:, None]
    gaussians = replace(start, variances=np.maximum(start.variances, floor))
    barred = np.where(allowed, 0.0, -np.inf)
    last = -np.inf
    for n_iter in range(max_iter + 1):
        joint = gaussians.log_joint(scores) + barred
        peaks = joint.max(axis=1, keepdims=True)
        memberships = np.exp(joint - peaks)
        totals = memberships.sum(axis=1, keepdims=True)
        value = float(np.mean(np.log(totals) + peaks))
        if n_iter == max_iter or value - last < tol:
            break
        last = value
        memberships /= totals
        weights = memberships.sum(axis=0)
        occupied = weights > 1e-10 * len(scores)
        means, variances = gaussians.means.copy(), gaussians.variances.copy()
        average = (memberships / np.where(occupied, weights, 1.0)).T[occupied]
        means[occupied] = average @ scores
        variances[occupied] = average @ scores**2 - means[occupied] ** 2
        regular = np.maximum((1 - share) * variances + share, floor)
        variances[occupied] = regular[occupied]
        shares = np.maximum(weights / weights.sum(), np.finfo(float).tiny)
        gaussians = AxisGaussians(np.log(shares), means, variances, start.classes)
    return gaussians
