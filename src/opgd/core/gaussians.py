"""Gaussians inside a projection, as linear functions of features of the scores.

With z the scores of a sample, m_c and S_c the projected mean and covariance of Gaussian c,

    log_joint[c] = log pi_c - 1/2 log|S_c| - 1/2 (z - m_c)' S_c^-1 (z - m_c)
                 = theta[c] . features(z)

where features(z) holds the squares (or all products) of the scores, the scores, and a one. Two
forms share this: "diag", where S_c is the diagonal of V'Sigma_c V (the paper), and "full".
Buffers are class-major: (n_functions, n_rows) and (n_gaussians, n_rows).

The log joint can also be computed one score at a time. With y_j the j-th score, conditional on the
scores before it and standardized, and f_j the factor that standardizes it,

    log_joint[c] = log pi_c + sum_j (log f_j - 1/2 y_j^2).

No square is expanded here, so the result is accurate for samples far from all means, and partial
sums are the log densities of the first scores. Prediction and ordering use this expression; the
search uses the linear one, which is faster.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy import linalg

from opgd.core.types import FloatArray, IntArray


@dataclass(frozen=True)
class ProjectedGaussians:
    """Priors, means and covariances of Gaussians in the projection.

    Variances have shape (C, q) in the diagonal form and (C, q, q) in the full form.
    """

    log_priors: FloatArray  # (C,)
    means: FloatArray  # (C, q)
    variances: FloatArray

    @property
    def full_covariances(self) -> FloatArray:
        """Return the covariances as matrices in either form, (C, q, q)."""
        if self.variances.ndim == 3:
            return self.variances
        return self.variances[:, :, None] * np.eye(self.variances.shape[1])

    def first(self, n_components: int) -> "ProjectedGaussians":
        """Return the marginal Gaussians of the first scores."""
        variances = self.variances[:, :n_components]
        if variances.ndim == 3:
            variances = variances[:, :, :n_components]
        return ProjectedGaussians(self.log_priors, self.means[:, :n_components], variances)

    def take(self, order: IntArray) -> "ProjectedGaussians":
        """Return the Gaussians with these indices."""
        return ProjectedGaussians(self.log_priors[order], self.means[order], self.variances[order])


class Form(Protocol):
    """Operations that depend on whether projected covariances are diagonal or full."""

    name: str
    """Value of `covariance_type` that selects the form."""
    spans_only: bool
    """Whether the objective depends on the span of the components only."""

    def n_variances(self, n_components: int) -> int: ...

    def n_functions(self, n_components: int) -> int: ...

    def project(self, directions: FloatArray, products: FloatArray) -> FloatArray: ...

    def theta(self, gaussians: ProjectedGaussians) -> FloatArray: ...

    def fill(self, features: FloatArray, n_components: int) -> None: ...

    def pull_back(self, slopes: FloatArray, scores: FloatArray, out: FloatArray) -> None: ...

    def moment_slopes(
        self, statistics: FloatArray, gaussians: ProjectedGaussians
    ) -> tuple[FloatArray, FloatArray]: ...

    def slope_times(self, slopes: FloatArray, products: FloatArray) -> FloatArray: ...

    def pack_sums(
        self, seconds: FloatArray, firsts: FloatArray, weights: FloatArray
    ) -> FloatArray: ...

    def estimate(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray]: ...

    def clip_variances(self, variances: FloatArray, least: FloatArray) -> FloatArray: ...

    def factors(self, gaussians: ProjectedGaussians) -> FloatArray: ...

    def standardize(
        self, j: int, scores: FloatArray, means: FloatArray, factors: FloatArray, out: FloatArray
    ) -> FloatArray: ...


class DiagonalForm:
    """Diagonal covariances: scores are independent within a Gaussian, features = [z*z, z, 1]."""

    name = "diag"
    spans_only = False

    def n_variances(self, n_components: int) -> int:
        """Return the number of free variances of one Gaussian."""
        return n_components

    def n_functions(self, n_components: int) -> int:
        """Return the number of features, F."""
        return 2 * n_components + 1

    def project(self, directions: FloatArray, products: FloatArray) -> FloatArray:
        """Return the variances v'Sigma_c v, (C, q); products[c] is directions @ Sigma_c, (q, R)."""
        return np.einsum("cqr,qr->cq", products, directions)

    def theta(self, gaussians: ProjectedGaussians) -> FloatArray:
        """Return the coefficients of the features, (C, 2q + 1)."""
        m, s = gaussians.means, gaussians.variances
        q = m.shape[1]
        theta = np.empty((len(m), 2 * q + 1))
        np.divide(-0.5, s, out=theta[:, :q])
        np.divide(m, s, out=theta[:, q:-1])
        theta[:, -1] = gaussians.log_priors - 0.5 * (np.log(s) + m * m / s).sum(axis=1)
        return theta

    def fill(self, features: FloatArray, n_components: int) -> None:
        """Fill a feature buffer (F, n) in which the scores are set already."""
        scores = features[n_components:-1]
        np.multiply(scores, scores, out=features[:n_components])
        features[-1] = 1.0

    def pull_back(self, slopes: FloatArray, scores: FloatArray, out: FloatArray) -> None:
        """Convert derivatives by feature, (F, n), to derivatives by score, (q, n), into `out`."""
        n_components = len(scores)
        np.multiply(slopes[:n_components], scores, out=out)
        out *= 2.0
        out += slopes[n_components:-1]

    def moment_slopes(
        self, statistics: FloatArray, gaussians: ProjectedGaussians
    ) -> tuple[FloatArray, FloatArray]:
        """Return derivatives by projected mean and variance, (C, q) each.

        `statistics` is weights' @ features.
        """
        m, s = gaussians.means, gaussians.variances
        n_components = m.shape[1]
        squares, firsts = statistics[:, :n_components], statistics[:, n_components:-1]
        r = statistics[:, -1:]
        about_mean = squares - 2 * m * firsts + r * m * m
        return (firsts - r * m) / s, (about_mean / s - r) / (2 * s)

    def slope_times(self, slopes: FloatArray, products: FloatArray) -> FloatArray:
        """Return sum_c G_S,c V'Sigma_c, (q, R)."""
        return np.einsum("cq,cqr->qr", slopes, products)

    def pack_sums(self, seconds: FloatArray, firsts: FloatArray, weights: FloatArray) -> FloatArray:
        """Return statistics (C, F) from sums of products, of scores, and of ones."""
        squares = np.diagonal(seconds, axis1=1, axis2=2)
        return np.hstack([squares, firsts, weights[:, None]])

    def estimate(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means and variances, (C, q) each, from posteriors @ features'."""
        n_components = statistics.shape[1] // 2
        averages = statistics[:, :-1] / statistics[:, -1:]
        means = averages[:, n_components:]
        return means, averages[:, :n_components] - means * means

    def clip_variances(self, variances: FloatArray, least: FloatArray) -> FloatArray:
        """Return variances clipped from below at `least` (q,)."""
        return np.maximum(variances, least)

    def factors(self, gaussians: ProjectedGaussians) -> FloatArray:
        """Return inverse standard deviations, (C, q)."""
        return 1.0 / np.sqrt(gaussians.variances)

    def standardize(
        self, j: int, scores: FloatArray, means: FloatArray, factors: FloatArray, out: FloatArray
    ) -> FloatArray:
        """Standardize score j for every Gaussian into `out` (C, n); return the factors, (C,)."""
        np.subtract(scores[j], means[:, j, None], out=out)
        out *= factors[:, j, None]
        return factors[:, j]


class FullForm:
    """Full covariances: features = [z_j z_l for j <= l, z, 1]."""

    name = "full"
    spans_only = True

    def n_variances(self, n_components: int) -> int:
        """Return the number of free variances and covariances of one Gaussian."""
        return n_components * (n_components + 1) // 2

    def n_functions(self, n_components: int) -> int:
        """Return the number of features, F."""
        return n_components * (n_components + 3) // 2 + 1

    def project(self, directions: FloatArray, products: FloatArray) -> FloatArray:
        """Return the covariances V'Sigma_c V, (C, q, q)."""
        covariances = products @ directions.T
        return 0.5 * (covariances + covariances.transpose(0, 2, 1))

    def theta(self, gaussians: ProjectedGaussians) -> FloatArray:
        """Return the coefficients of the features, (C, q(q+3)/2 + 1)."""
        m = gaussians.means
        factors = np.linalg.cholesky(gaussians.variances)
        precisions = np.linalg.inv(gaussians.variances)
        first, second = np.triu_indices(m.shape[1])
        # a product z_j z_l with j < l occurs twice in the quadratic form
        pairs = -np.where(first == second, 0.5, 1.0) * precisions[:, first, second]
        linear = np.einsum("cjl,cl->cj", precisions, m)
        half_log_det = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        constant = gaussians.log_priors - half_log_det - 0.5 * np.sum(linear * m, axis=1)
        return np.hstack([pairs, linear, constant[:, None]])

    def fill(self, features: FloatArray, n_components: int) -> None:
        """Fill a feature buffer (F, n) in which the scores are set already."""
        scores = features[-1 - n_components : -1]
        for j, rows in enumerate(_pair_rows(n_components)):
            np.multiply(scores[j:], scores[j], out=features[rows])
        features[-1] = 1.0

    def pull_back(self, slopes: FloatArray, scores: FloatArray, out: FloatArray) -> None:
        """Convert derivatives by feature, (F, n), to derivatives by score, (q, n), into `out`."""
        n_components = len(scores)
        out[:] = slopes[-1 - n_components : -1]
        for j, rows in enumerate(_pair_rows(n_components)):
            out[j] += np.einsum("ln,ln->n", slopes[rows], scores[j:])
            out[j:] += slopes[rows] * scores[j]

    def moment_slopes(
        self, statistics: FloatArray, gaussians: ProjectedGaussians
    ) -> tuple[FloatArray, FloatArray]:
        """Return derivatives by projected mean (C, q) and covariance (C, q, q).

        `statistics` is weights' @ features.
        """
        m = gaussians.means
        precisions = np.linalg.inv(gaussians.variances)
        seconds, firsts, r = self._sums(statistics, m.shape[1])
        cross = m[:, :, None] * firsts[:, None, :]
        spread = seconds - cross - cross.transpose(0, 2, 1)
        spread += r[:, None, None] * (m[:, :, None] * m[:, None, :])
        by_mean = np.einsum("cjl,cl->cj", precisions, firsts - r[:, None] * m)
        by_covariance = 0.5 * (precisions @ spread @ precisions - r[:, None, None] * precisions)
        return by_mean, by_covariance

    def slope_times(self, slopes: FloatArray, products: FloatArray) -> FloatArray:
        """Return sum_c G_S,c V'Sigma_c, (q, R)."""
        return np.einsum("cjl,clr->jr", slopes, products)

    def _sums(
        self, statistics: FloatArray, n_components: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return weighted sums of products (C, q, q), of scores (C, q), and of ones (C,)."""
        first, second = np.triu_indices(n_components)
        seconds = np.empty((len(statistics), n_components, n_components))
        seconds[:, first, second] = seconds[:, second, first] = statistics[:, : len(first)]
        return seconds, statistics[:, len(first) : -1], statistics[:, -1]

    def pack_sums(self, seconds: FloatArray, firsts: FloatArray, weights: FloatArray) -> FloatArray:
        """Return statistics (C, F) from sums of products, of scores, and of ones."""
        first, second = np.triu_indices(firsts.shape[1])
        return np.hstack([seconds[:, first, second], firsts, weights[:, None]])

    def estimate(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means (C, q) and covariances (C, q, q) from posteriors @ features'."""
        # solve F = q (q + 3) / 2 + 1 for q
        n_components = int(np.sqrt(2 * statistics.shape[1] + 0.25) - 1.5)
        seconds, firsts, weights = self._sums(statistics, n_components)
        means = firsts / weights[:, None]
        return means, seconds / weights[:, None, None] - means[:, :, None] * means[:, None, :]

    def clip_variances(self, variances: FloatArray, least: FloatArray) -> FloatArray:
        """Return covariances clipped from below at `least` (q, q) in every direction."""
        factor = np.linalg.cholesky(least)
        inverse = np.linalg.inv(factor)
        eigenvalues, vectors = np.linalg.eigh(inverse @ variances @ inverse.T)
        if eigenvalues.min() >= 1.0:
            return variances
        back = factor @ vectors
        return (back * np.maximum(eigenvalues, 1.0)[:, None, :]) @ back.transpose(0, 2, 1)

    def factors(self, gaussians: ProjectedGaussians) -> FloatArray:
        """Return inverse Cholesky factors, (C, q, q), lower triangular."""
        # LAPACK directly: for small matrices, checks of arguments take most of the time
        invert = linalg.lapack.dtrtri
        return np.stack(
            [invert(factor, lower=1)[0] for factor in np.linalg.cholesky(gaussians.variances)]
        )

    def standardize(
        self, j: int, scores: FloatArray, means: FloatArray, factors: FloatArray, out: FloatArray
    ) -> FloatArray:
        """Standardize score j, conditional on those before it, into `out`; return the factors."""
        row = factors[:, j, : j + 1]
        np.matmul(row, scores[: j + 1], out=out)
        out -= np.sum(row * means[:, : j + 1], axis=1)[:, None]
        return factors[:, j, j]


def _pair_rows(n_components: int) -> list[slice]:
    """Return, for every j, the rows of the features z_j z_l, l = j..q-1 (as np.triu_indices)."""
    ends = np.cumsum([0, *range(n_components, 0, -1)])
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]


FORMS: dict[str, Form] = {"diag": DiagonalForm(), "full": FullForm()}
