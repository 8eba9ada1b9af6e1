"""Estimation of the ridge by leave-one-out discrimination."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from opgd.core.coordinates import WITHIN_FLOOR, Frame
from opgd.core.engines import RowBlock
from opgd.core.moments import Moments, RowMap
from opgd.core.regularization import unit_variance
from opgd.core.types import FloatArray, IntArray

ROWS_PER_DIMENSION = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)
"""Candidates: numbers of additional samples, per dimension, that the ridge is worth."""
MAX_ROWS = 5000
"""Number of samples that are left out one by one; a sample of this size is taken of more."""


TEMPERATURE = 3.0
"""Divisor of the log densities, which are overconfident where classes are not Gaussian."""


def estimate_ridge(frame: Frame, classes: Moments) -> float:
    r"""Select the ridge with the largest leave-one-out log posterior of the true classes.

    The posterior is that of linear discriminant analysis with the ridged pooled covariance: leaving
    out one sample changes this covariance by a matrix of rank one, so that a single pass over the
    samples and one eigendecomposition evaluate all candidates. Directions of small variance keep
    their variance if they separate the classes, since a ridge would lower the criterion. Log
    densities are divided by `TEMPERATURE`, so that a few samples far from their class do not
    decide.

    A candidate that is worth m additional samples is the ridge m / (n + m), as for a conjugate
    prior, so that the ridge vanishes as the number of samples n grows.

    Parameters
    ----------
    classes : moments by class of the sphered samples of `frame`
    """
    count, rank = float(classes.counts.sum()), classes.means.shape[1]
    extra = rank * np.array(ROWS_PER_DIMENSION)
    ridges = extra / (count + extra)
    unit = unit_variance(frame, classes) * frame.identity
    eigenvalues, vectors = linalg.eigh(classes.within, unit)  # vectors.T @ unit @ vectors = I
    if linalg.eigvalsh(classes.within)[0] < WITHIN_FLOOR:
        ridges = ridges[1:]  # a singular covariance needs a ridge
    engine = frame.engine
    if engine.n_samples > MAX_ROWS:
        engine = engine.sample(MAX_ROWS)
    criterion = _LeaveOneOut(
        frame.row_map(),
        vectors,
        np.maximum(eigenvalues, 0.0),
        classes.means @ vectors,
        classes.counts,
        ridges,
    )
    width = 3 * rank + 4 * classes.n_groups
    with np.errstate(over="ignore", invalid="ignore"):
        totals = engine.sum(criterion.sum_log_posteriors, width)
    return float(ridges[np.argmax(np.where(np.isfinite(totals), totals, -np.inf))])


@dataclass(frozen=True)
class _LeaveOneOut:
    """Leave-one-out log posteriors of linear discriminant analysis, for several ridges.

    With d = x - mu_k for a sample x of class k, and A the ridged covariance of all samples, leaving
    out x changes A to A - c d d' and mu_k to mu_k - d / (n_k - 1). By the formula of Sherman and
    Morrison, with h = d' A^-1 d, the squared distances are

        (n_k / (n_k - 1))^2 h / (1 - c h)                                 from the mean of class k
        e' A^-1 e + c (d' A^-1 e)^2 / (1 - c h),   e = x - mu_l           from the mean of class l

    All inner products are diagonal in the generalized eigenvectors of the covariance.
    """

    row_map: RowMap
    vectors: FloatArray  # (R, R)
    eigenvalues: FloatArray  # (R,)
    means: FloatArray  # (K, R), in the coordinates of the eigenvectors
    counts: FloatArray  # (K,)
    ridges: FloatArray  # (n_ridges,)

    def sum_log_posteriors(self, block: RowBlock) -> FloatArray:
        """Return the sum over a block of the log posteriors of the true classes, (n_ridges,)."""
        # the only sample of a class cannot be left out, and unlabeled samples have no true class
        used = np.flatnonzero((block.labels >= 0) & (self.counts[block.labels] > 1))
        labels, weights = block.labels[used], block.row_weights[used]
        deviations = self.row_map(block)[used] @ self.vectors - self.means[labels]
        return np.array(
            [weights @ self._log_posteriors(deviations, labels, ridge) for ridge in self.ridges]
        )

    def _log_posteriors(self, deviations: FloatArray, labels: IntArray, ridge: float) -> FloatArray:
        count = self.counts.sum()
        variances = (1 - ridge) * count / (count - 1) * self.eigenvalues + ridge
        scaled = self.means / variances  # (K, R)
        leverage = deviations**2 @ (1 / variances)  # h
        with_means = deviations @ scaled.T  # d' A^-1 mu_l, (n, K)
        among_means = self.means @ scaled.T
        rows, sizes = np.arange(len(labels)), self.counts[labels]
        cross = leverage[:, None] + with_means[rows, labels][:, None] - with_means  # d' A^-1 e
        squares = np.diag(among_means)
        between = squares[labels][:, None] + squares - 2 * among_means[labels]
        share = (1 - ridge) / (count - 1) * sizes / (sizes - 1)  # c
        remaining = np.maximum(1 - share * leverage, np.finfo(float).eps)  # 1 - c h
        distances = 2 * cross - leverage[:, None] + between
        distances += (share / remaining)[:, None] * cross**2
        distances[rows, labels] = (sizes / (sizes - 1)) ** 2 * leverage / remaining
        joint = np.log(self.counts / count) - distances / (2 * TEMPERATURE)
        joint -= joint.max(axis=1, keepdims=True)
        log_posteriors: FloatArray = joint[rows, labels] - np.log(np.exp(joint).sum(axis=1))
        return log_posteriors
