"""Scores of incomplete samples, known up to noise, and their posteriors.

Given the observed entries of a sample, the Gaussian N(b, T) of whole samples has conditional scores
with some mean zh and covariance C. In coordinates of the scores in which P = V'TV = I, a class with
Gaussian N(m, S) of the scores generates

    zh | class ~ N(H m, H S H + H C),    H = I - C.

So the scores are known up to noise of covariance H^-1 - I: none for a complete sample (H = I), and
infinite where nothing is observed (H = 0). With the Cholesky factor H = R R',

    d = R^-1 zh - R'm,    J = I + R'(S - I) R,
    log p(observed | class) = -1/2 log|J| - 1/2 d'J^-1 d + a term without class,
    E[z | observed, class] = m + S R J^-1 d.

Matrices of many samples are stored with the samples last, (q, q, n), since operations on long rows
are much faster than n factorizations of small matrices.
"""

from dataclasses import dataclass

import numpy as np

from opgd.core.gaussians import ProjectedGaussians
from opgd.core.types import FloatArray, IntArray

LEAST_RELIABILITY = 1e-10
"""Share of the variance of a score below which it counts as not observed."""
FARTHEST = 1e100
"""Standardized differences are clipped at this value, so that their squares stay finite."""


@dataclass(frozen=True)
class ObservedScores:
    """Scores of samples, observed with noise, in coordinates in which P = I."""

    factors: FloatArray  # (q, q, n), R: Cholesky factors of the reliabilities H
    residuals: FloatArray  # (q, n), R^-1 zh
    n_observed: IntArray  # (n,), numbers of dimensions in which scores are observed

    @staticmethod
    def from_reliabilities(reliabilities: FloatArray, scores: FloatArray) -> "ObservedScores":
        """Return observed scores from H (q, q, n), which is overwritten, and zh (q, n)."""
        pivots = factorize(reliabilities, LEAST_RELIABILITY)
        residuals = substitute(reliabilities, scores)
        return ObservedScores(reliabilities, residuals, (pivots > 0).sum(axis=0))

    def compare(
        self, mean: FloatArray, covariance: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compare with a Gaussian; return the factor of J (q, q, n), its log|J| (n,) and d."""
        R, q = self.factors, len(mean)
        products = np.tensordot(covariance - np.eye(q), R, axes=1)
        J = np.einsum("jan,jbn->abn", R, products)
        J[np.arange(q), np.arange(q)] += 1.0
        pivots = factorize(J, np.finfo(float).tiny)
        differences = self.residuals - np.einsum("jan,j->an", R, mean)
        return J, np.log(pivots).sum(axis=0), differences

    @property
    def log_reference(self) -> FloatArray:
        """Return what `log_joint` is for the Gaussian N(b, T) itself, (n,)."""
        return -0.5 * np.sum(self.residuals**2, axis=0)

    def log_joint(self, gaussians: ProjectedGaussians) -> FloatArray:
        """Return log(pi_c p(observed | c)), up to a term of each sample, (C, n)."""
        joint = np.empty((len(gaussians.means), self.residuals.shape[1]))
        for c, distances in enumerate(self._distances(gaussians)):
            joint[c] = gaussians.log_priors[c] - 0.5 * (distances[0] + distances[1])
        return joint

    def squared_distances(self, gaussians: ProjectedGaussians) -> FloatArray:
        """Return squared Mahalanobis distances of the observed scores to every Gaussian, (C, n)."""
        return np.stack([squares for _, squares in self._distances(gaussians)])

    def _distances(self, gaussians: ProjectedGaussians) -> list[tuple[FloatArray, FloatArray]]:
        """Return log|J| and d'J^-1 d of every Gaussian."""
        pairs = []
        for mean, covariance in zip(gaussians.means, gaussians.variances, strict=True):
            factor, log_determinant, differences = self.compare(mean, covariance)
            standardized = np.clip(substitute(factor, differences), -FARTHEST, FARTHEST)
            pairs.append((log_determinant, np.sum(standardized**2, axis=0)))
        return pairs

    def condition(self, mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean (q, n) and covariance (q, q, n) of the scores of a Gaussian, given these."""
        factor, _, differences = self.compare(mean, covariance)
        spread = np.tensordot(covariance, self.factors, axes=1)  # S R
        half = np.stack([substitute(factor, row) for row in spread])  # rows of S R J^-T/2
        solved = substitute(factor, differences)
        means = mean[:, None] + np.einsum("jan,an->jn", half, solved)
        return means, covariance[:, :, None] - np.einsum("jan,kan->jkn", half, half)

    def posteriors(self, gaussians: ProjectedGaussians) -> tuple[FloatArray, FloatArray]:
        """Return posteriors (C, n), and the log of the sum of the joints (n,)."""
        posteriors = self.log_joint(gaussians)
        peak = posteriors.max(axis=0)
        posteriors -= peak
        np.exp(posteriors, out=posteriors)
        total = posteriors.sum(axis=0)
        posteriors /= total
        return posteriors, np.log(total) + peak

    def expected_scores(self, gaussians: ProjectedGaussians) -> FloatArray:
        """Return the conditional mean of the scores under the mixture, (q, n)."""
        posteriors, _ = self.posteriors(gaussians)
        scores = np.zeros_like(self.residuals)
        pairs = zip(gaussians.means, gaussians.variances, strict=True)
        for share, (mean, covariance) in zip(posteriors, pairs, strict=True):
            scores += share * self.condition(mean, covariance)[0]
        return scores


def factorize(matrices: FloatArray, least: float) -> FloatArray:
    """Replace positive semidefinite matrices (q, q, n) by their lower Cholesky factors.

    Where a pivot is below `least`, its column of the factor is 0.

    Returns
    -------
    pivots : ndarray of shape (q, n), 0 where they are below `least`
    """
    q, _, n = matrices.shape
    pivots = np.zeros((q, n))
    for j in range(q):
        column = matrices[j:, j]
        if j > 0:
            column -= np.einsum("iln,ln->in", matrices[j:, :j], matrices[j, :j])
        valid = column[0] >= least
        pivots[j, valid] = column[0, valid]
        column *= np.where(valid, 1.0 / np.sqrt(np.where(valid, column[0], 1.0)), 0.0)
        matrices[j, j + 1 :] = 0.0
    return pivots


def substitute(factors: FloatArray, vectors: FloatArray) -> FloatArray:
    """Solve factor @ x = vector for lower triangular factors (q, q, n), vectors (q, n).

    Where a diagonal entry is 0, so is the result.
    """
    results = np.empty_like(vectors)
    for j in range(len(vectors)):
        diagonal = factors[j, j]
        remaining = vectors[j] - np.einsum("ln,ln->n", factors[j, :j], results[:j])
        results[j] = np.where(diagonal > 0, remaining / np.where(diagonal > 0, diagonal, 1.0), 0.0)
    return results
