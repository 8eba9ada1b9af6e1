"""Projection pursuit by the likelihood ratio of class densities on one direction."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opgd_paper.methods._base import ComponentsMixin, DensityClassifier, FloatArray, IntArray
from opgd_paper.methods._support import (
    Run,
    compute_moments,
    count_components,
    lda_axes,
    leading_vectors,
    log_sum_by_class,
    maximize,
    normalize_rows,
    one_hot,
    warn_not_converged,
    whiten_classes,
)
from opgd_paper.methods.densities import (
    AxisDensities,
    CommonVariance,
    GaussianDensities,
    KernelDensities,
)
from opgd_paper.methods.kernel import BLOCK_CELLS
from opgd_paper.methods.mixture_densities import MixtureDensities

DEFAULT_COMPONENTS = 2
MAX_CANDIDATES = 20
N_STARTS = 3
START_ITERATIONS = 5
"""The ratio has many local optima, so a search starts from the best few of many candidates."""


@dataclass(frozen=True)
class LikelihoodRatio:
    """Mean log LR of the samples as a function of a direction (1, R) of any length."""

    classes: list[FloatArray]  # samples of each class, (n_k, R)
    family: AxisDensities

    def value_and_gradient(self, at: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean log LR and its gradient, (1, R)."""
        length = float(np.linalg.norm(at))
        direction = at[0] / length
        ratio, slopes = self.family.log_ratio([points @ direction for points in self.classes])
        slope = sum(s @ points for s, points in zip(slopes, self.classes, strict=True))
        gradient = np.asarray(slope - (slope @ direction) * direction) / length
        n_samples = sum(map(len, self.classes))
        return ratio / n_samples, gradient[None] / n_samples

    def candidates(self) -> FloatArray:
        """Return directions in which means, variances or fourth moments of classes differ, (m, R).

        LDA directions are followed by those in which class variances differ. The last ones are
        eigenvectors of sum_k pi_k (B_k - B)^2 with the fourth moments B_k = E |z|^2 z z' of the
        centered samples z of class k, and their mean B. They help where only shapes differ.
        """
        codes = np.repeat(np.arange(len(self.classes)), [len(points) for points in self.classes])
        moments = compute_moments(np.concatenate(self.classes), one_hot(codes, len(self.classes)))
        number = min(MAX_CANDIDATES, moments.means.shape[1])
        centered = [points - mean for points, mean in zip(self.classes, moments.means, strict=True)]
        fourth = np.array([(z.T * np.sum(z**2, axis=1)) @ z / len(z) for z in centered])
        departures = fourth - np.tensordot(moments.shares, fourth, axes=1)
        spread = np.tensordot(moments.shares, departures @ departures, axes=1)
        return np.vstack([lda_axes(moments, number), leading_vectors(spread)[1][:number]])

    def search(self, *, max_iter: int, tol: float) -> Run:
        """Maximize the ratio: a few iterations from several starts, then on from the best.

        A search has converged when an iteration increases the ratio by less than `tol`.
        """
        candidates = self.candidates()
        values = [self.value_and_gradient(candidate[None])[0] for candidate in candidates]
        budget = min(START_ITERATIONS, max_iter)
        runs = [
            maximize(
                self.value_and_gradient, candidates[[i]], max_iter=budget, tol=tol, least_gain=tol
            )
            for i in np.argsort(values)[::-1][:N_STARTS]
        ]
        first = max(runs, key=lambda run: run.value)
        if first.converged or budget == max_iter:
            return first
        rest = maximize(
            self.value_and_gradient,
            first.directions,
            max_iter=max_iter - first.n_iter,
            tol=tol,
            least_gain=tol,
        )
        return replace(rest, n_iter=first.n_iter + rest.n_iter)

    def without(self, direction: FloatArray) -> "LikelihoodRatio":
        """Return the ratio of samples that do not differ between classes in a direction (R,).

        The direction has length one. Scores on it are transformed to standard normal in each class;
        orthogonal to it, samples do not change.
        """
        scores = [points @ direction for points in self.classes]
        densities = self.family.densities(scores)
        transformed = [
            points + np.outer(density.normal_scores(z) - z, direction)
            for points, z, density in zip(self.classes, scores, densities, strict=True)
        ]
        return LikelihoodRatio(transformed, self.family)


class Pursuit(ComponentsMixin, DensityClassifier):
    """Base class of projection pursuit, which computes components one after another.

    Scores on different components are assumed to be independent within classes. A subclass
    implements `_density_family`, which returns the family of class densities.
    """

    n_components: Any
    max_iter: int
    tol: float
    gaussian_classes_: IntArray

    def _density_family(self, borrowed: FloatArray) -> AxisDensities:
        """Return the family of densities; `borrowed` (K,) are weights of the pooled variance."""
        raise NotImplementedError

    def _fit_densities(self, X: FloatArray, codes: IntArray) -> None:
        whitened = whiten_classes(X, codes)
        n_components = count_components(
            self.n_components, DEFAULT_COMPONENTS, whitened.rank, X.shape[1]
        )
        family = self._density_family(whitened.borrowed)
        by_class = [whitened.Z[codes == k] for k in range(len(self.classes_))]
        ratio, runs = LikelihoodRatio(by_class, family), list[Run]()
        for _ in range(n_components):
            if runs:
                ratio = ratio.without(normalize_rows(runs[-1].directions)[0])
            runs.append(ratio.search(max_iter=self.max_iter, tol=self.tol))
        self.converged_ = all(run.converged for run in runs)
        if self.max_iter > 0 and not self.converged_:
            warn_not_converged("A component has", self.max_iter)
        directions = normalize_rows(np.vstack([run.directions for run in runs]))
        directions = whitened.fix_signs(directions)
        self.components_, self._center = whitened.components(directions), whitened.center
        self.n_components_ = n_components
        self.log_ratios_ = np.array([run.value for run in runs])
        self.n_iter_ = max(1, *(run.n_iter for run in runs))
        # the density of each class on each component
        self._densities = [family.densities([Z @ axis for Z in by_class]) for axis in directions]
        numbers = [len(density.means) for density in self._densities[0]]
        self.gaussian_classes_ = np.repeat(np.arange(len(numbers)), numbers)

    def _log_densities(self, X: FloatArray) -> FloatArray:
        scores = (X - self._center) @ self.components_.T
        logs = np.zeros((len(X), len(self.classes_)))
        n_blocks = 1 + len(X) * len(self.gaussian_classes_) // BLOCK_CELLS
        for rows in np.array_split(np.arange(len(X)), n_blocks):
            for column, densities in zip(scores[rows].T, self._densities, strict=True):
                joint = np.concatenate([density.log_densities(column) for density in densities])
                logs[rows] += log_sum_by_class(joint.T, self.gaussian_classes_)
        return logs


DENSITIES = ["kernel", "gaussian", "common"]


class LikelihoodRatioPursuit(Pursuit):
    r"""Projection pursuit by the likelihood ratio of class densities on one component.

    The first component maximizes (eq. 4 of the paper)

    .. math::

        \log \mathrm{LR}(v) = \sum_i \log \frac{f_{y_i}(v^\top x_i)}{f(v^\top x_i)},

    where :math:`f_k` is the density estimate of class :math:`k`, and :math:`f` that of all samples.
    Kernel densities are evaluated without the kernel of sample :math:`i` itself, whose share is
    larger in the density of its class than in that of all samples. Then the scores of each class on
    this component are transformed to standard normal, :math:`\Phi^{-1}(F_k(v^\top x))`, so that the
    component no longer discriminates, and the next one is computed from the transformed samples.

    The classifier uses the original samples and multiplies the densities on the components, that
    is, it assumes that scores on different components are independent within classes. The reference
    integrates the components with projection pursuit density estimation instead. Kernels with the
    normal reference bandwidth, evaluated without the sample itself, are choices made here.

    Parameters
    ----------
    n_components : int, default=None
        Number of components. None means 2, or 1 if the samples span only one dimension.
    density : {"kernel", "gaussian", "common"}, default="kernel"
        Class densities: Gaussian kernel density estimates, one Gaussian per class, or Gaussians
        with a common variance, for which the components are those of LDA.
    bandwidth : float, default=1.0
        Bandwidth of the kernels, as a multiple of the normal reference rule. Increase it for
        smoother densities.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Class prior probabilities. None means the class frequencies.
    max_iter : int, default=200
        Maximum number of iterations of the search for each component.
    tol : float, default=1e-5
        A search has converged when an iteration increases the mean log-likelihood ratio by less
        than `tol`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The components in the order of the search, with pooled within-class variance 1.
    log_ratios_ : ndarray of shape (n_components_,)
        Mean log-likelihood ratio of each component, on the transformed samples of its search.
    gaussian_classes_ : ndarray of shape (n_gaussians,)
        Index into `classes_` of the class of each Gaussian (or kernel) of the densities on a
        component.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of iterations of the longest search.
    converged_ : bool
        Whether all searches reached `tol`.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Zhu & Hastie, "Feature Extraction for Nonparametric Discriminant Analysis", JCGS 2003;
    Hofmeyr, Kamper & Melonas, Section 2; Friedman, "Exploratory Projection Pursuit", JASA 1987, for
    the removal of structure by a transformation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd_paper.methods import LikelihoodRatioPursuit
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LikelihoodRatioPursuit(n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    >>> bool(model.log_ratios_[0] > model.log_ratios_[1])
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        density: str = "kernel",
        bandwidth: float = 1.0,
        priors: Any = None,
        max_iter: int = 200,
        tol: float = 1e-5,
    ) -> None:
        self.n_components = n_components
        self.density = density
        self.bandwidth = bandwidth
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _density_family(self, borrowed: FloatArray) -> AxisDensities:
        if self.density not in DENSITIES:
            raise ValueError(f"density must be one of {DENSITIES}, got {self.density!r}.")
        if self.density == "kernel":
            return KernelDensities(borrowed, float(self.bandwidth))
        return GaussianDensities(borrowed) if self.density == "gaussian" else CommonVariance()


class GaussianMixturePursuit(Pursuit):
    r"""Projection pursuit by the likelihood ratio of class mixtures on one component.

    This is `LikelihoodRatioPursuit` with mixtures of Gaussians as densities,

    .. math::

        f_k(z) = \sum_g w_{kg} N(z; m_{kg}, s_{kg}^2).

    For each direction that is tried, :math:`f_k` is fitted by EM to the scores of class :math:`k`.
    The density of all samples, the null density, is the mixture :math:`\sum_k \pi_k f_k` of the
    class densities with the class frequencies :math:`\pi_k`, so that the ratio is the posterior
    probability of the classes over :math:`\pi_k`, and is 1 for classes that do not differ.
    Variances are at least 0.01 of the pooled variance, and a class has at most one Gaussian per
    five samples. As in `LikelihoodRatioPursuit`, the classifier multiplies the densities on the
    components.

    Mixtures as class densities, and components found one at a time, are those of the references;
    the ratio and the transformation between components are those of `LikelihoodRatioPursuit`.
    Hofmeyr, Kamper & Melonas call the mixture of the class densities the ideal null density.

    Parameters
    ----------
    n_components : int, default=None
        Number of components. None means 2, or 1 if the samples span only one dimension.
    n_subclasses : int, default=2
        Number of Gaussians of each class on a component.
    null : {"classes", "pooled"}, default="classes"
        Null density: the mixture of the class densities, or ("pooled") a mixture of
        `n_subclasses` Gaussians fitted to all samples. With many classes the latter is a poor fit
        in directions in which all classes are apart, and the ratio then measures this misfit.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Class prior probabilities. None means the class frequencies.
    max_iter : int, default=100
        Maximum number of iterations of the search for each component.
    tol : float, default=1e-5
        A search has converged when an iteration increases the mean log-likelihood ratio by less
        than `tol`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The components in the order of the search, with pooled within-class variance 1.
    log_ratios_ : ndarray of shape (n_components_,)
        Mean log-likelihood ratio of each component, on the transformed samples of its search.
    gaussian_classes_ : ndarray of shape (n_gaussians,)
        Index into `classes_` of the class of each Gaussian (or kernel) of the densities on a
        component.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of iterations of the longest search.
    converged_ : bool
        Whether all searches reached `tol`.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Calo, "Gaussian Mixture Model Classification: A Projection Pursuit Approach", Computational
    Statistics & Data Analysis 2007; Hofmeyr, Kamper & Melonas, Section 2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd_paper.methods import GaussianMixturePursuit
    >>> X, y = load_iris(return_X_y=True)
    >>> GaussianMixturePursuit(n_components=1).fit(X, y).transform(X).shape
    (150, 1)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_subclasses: int = 2,
        null: str = "classes",
        priors: Any = None,
        max_iter: int = 100,
        tol: float = 1e-5,
    ) -> None:
        self.n_components = n_components
        self.n_subclasses = n_subclasses
        self.null = null
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _density_family(self, borrowed: FloatArray) -> AxisDensities:
        if self.null not in ("classes", "pooled"):
            raise ValueError(f"null must be 'classes' or 'pooled', got {self.null!r}.")
        return MixtureDensities(int(self.n_subclasses), borrowed, self.null)
