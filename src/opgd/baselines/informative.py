"""Informative components: the classification likelihood with isotropic Gaussians."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opgd._base.projection import ProjectionMixin
from opgd._fit.problem import default_n_components, pose
from opgd._fit.subclasses import check_n_subclasses
from opgd._utils.blas import one_blas_thread
from opgd._utils.validation import check_choice, check_integer, check_positive
from opgd._utils.warnings import warn_not_converged
from opgd.baselines._bandwidths import BLOCK_CELLS
from opgd.baselines._base import Baseline, Solution, Task, count_components
from opgd.baselines._sample_kernels import (
    KernelLikelihood,
    KernelSamples,
    collect_samples,
    describe_kernels,
    select_variance,
)
from opgd.baselines._span_likelihood import ComponentObjective, SpanLikelihood
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import DiagonalForm, ProjectedGaussians
from opgd.core.solvers import maximize
from opgd.core.starts import fix_signs, lda_axes
from opgd.core.types import AnyArray, FloatArray, IntArray

KERNELS = ("_kernel_scores", "_kernel_classes", "_kernel_log_weights")
"""Fitted attributes with centers="samples"."""


@dataclass(frozen=True)
class IsotropicForm(DiagonalForm):
    """Form of Gaussians with one fixed variance on all components."""

    variance: float

    def project(self, directions: FloatArray, products: FloatArray) -> FloatArray:
        return np.full((len(products), len(directions)), self.variance)

    def slope_times(self, slopes: FloatArray, products: FloatArray) -> FloatArray:  # noqa: ARG002
        return np.zeros(products.shape[1:])


class InformativeComponents(ProjectionMixin, Baseline):
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
    n_subclasses : int, dict or "auto", default=1
        Number of Gaussians per class, as in `OPGDClassifier`.
    centers : {"means", "samples"}, default="means"
        Centers of the Gaussians: means of classes (or of their k-means clusters), or all training
        samples. `n_subclasses` must be 1 for "samples".
    variance : float, default=None
        The variance :math:`s`, in units of the pooled variance. None means 1 for
        ``centers="means"``. For ``centers="samples"`` it means that nine variances around that of
        the normal reference rule are tried, with every third sample of each class held out, and
        that with the largest likelihood of the held-out samples is used. A sample of weight two is
        then held out as a whole, unlike two samples.
    batch_size : int, default=1000
        Maximum number of samples at which the likelihood is evaluated with ``centers="samples"``,
        evenly spaced in each class. All samples have kernels.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.
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
    n_iter_, n_evaluations_ : int
        Number of iterations and of evaluations of the objective.
    converged_ : bool
        Whether the search reached `tol`.
    projected_variances_ : ndarray of shape (n_gaussians, n_components_)
        `variance_` in every entry.
    variance_ : float
        The variance that was used.
    classes_, priors_, means_, covariances_, projected_means_, gaussian_classes_, n_components_
        As in `OPGDClassifier`.
    n_features_in_, feature_names_in_
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
    >>> from opgd.baselines import InformativeComponents
    >>> X, y = load_wine(return_X_y=True)
    >>> InformativeComponents(n_components=1).fit(X, y).transform(X).shape
    (178, 1)
    """

    variance_: float
    _kernel_scores: FloatArray
    _kernel_classes: IntArray
    _kernel_log_weights: FloatArray

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

    def _check_parameters(self) -> None:
        check_choice("centers", self.centers, ["means", "samples"])
        if self.variance is not None:
            check_positive("variance", self.variance)
        check_integer("batch_size", self.batch_size, 1)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        if self.centers == "samples" and self.n_subclasses != 1:
            raise ValueError(
                "n_subclasses must be 1 with centers='samples', which has a Gaussian for each "
                f"sample, got {self.n_subclasses!r}."
            )

    def _solve(self, task: Task) -> Solution:
        problem = pose(
            task.prepared,
            task.priors,
            n_subclasses=check_n_subclasses(self.n_subclasses, task.classes),
            covariance_type="diag",
        )
        coordinates = problem.coordinates
        rank = coordinates.rank
        default = default_n_components(rank, len(task.classes))
        n_components, notes = count_components(self.n_components, problem.frame, rank, default)
        start = lda_axes(problem.classes, n_components)
        if self.centers == "samples":
            samples = collect_samples(problem, task.prepared.classes.priors)
            likelihood, start = self._pose_kernels(samples, start)
            variance = likelihood.variance
            objective: ComponentObjective = likelihood
        else:
            variance = 1.0 if self.variance is None else float(self.variance)
            objective = replace(problem.objective, form=IsotropicForm(variance))
        result = maximize(SpanLikelihood(objective), start, max_iter=self.max_iter, tol=self.tol)
        if not result.converged:
            warn_not_converged("The components have", self.max_iter)
        span = SpanLikelihood(objective).axes(result.directions)[0]
        directions = lda_axes(problem.classes.mapped(span.T), n_components) @ span
        directions = fix_signs(coordinates, directions)
        attributes = {
            "log_likelihood_": float(result.value * problem.objective.engine.total_weight),
            "n_iter_": max(result.n_iter, int(self.max_iter > 0)),
            "n_evaluations_": result.n_evaluations,
            "converged_": result.converged,
            "loss_curve_": [-value for value in result.history],
            "variance_": variance,
        }
        if self.centers == "samples":
            attributes |= describe_kernels(samples, directions)
        # class covariances are not used, so none needs regularization
        isotropic = replace(problem.objective, form=IsotropicForm(variance))
        problem = replace(problem, objective=isotropic, borrowed=np.zeros_like(problem.borrowed))
        return Solution(problem, directions, attributes, notes)

    def _pose_kernels(
        self, samples: KernelSamples, start: FloatArray
    ) -> tuple[KernelLikelihood, FloatArray]:
        """Return the likelihood with the given or selected variance, and initial directions."""
        if self.variance is not None:
            variance = float(self.variance)
        else:
            variance, start = select_variance(
                samples, start, batch_size=self.batch_size, max_iter=self.max_iter, tol=self.tol
            )
        return KernelLikelihood(samples, samples.batch(self.batch_size), variance), start

    def _store(self, attributes: dict[str, Any]) -> dict[str, Any]:
        for name in KERNELS:  # of an earlier fit
            self.__dict__.pop(name, None)
        return super()._store(attributes)

    def _density_log_joint(self, X: Any) -> FloatArray:
        if not hasattr(self, "_kernel_scores"):
            return super()._density_log_joint(X)
        return self._apply_to_kernels(FittedProjection.class_log_joint, self._check_rows(X))

    def _nearest_distances(self, X: Any) -> FloatArray:
        if not hasattr(self, "_kernel_scores"):
            return super()._nearest_distances(X)
        return self._apply_to_kernels(FittedProjection.nearest_distances, self._check_rows(X))

    @property
    def _density_projections(self) -> list[FittedProjection]:
        if not hasattr(self, "_kernel_scores"):
            return super()._density_projections
        variances = np.full_like(self._kernel_scores, self.variance_)
        kernels = ProjectedGaussians(self._kernel_log_weights, self._kernel_scores, variances)
        return [replace(self._projection, gaussians=kernels, gaussian_classes=self._kernel_classes)]

    def _apply_to_kernels(
        self, method: Callable[[FittedProjection, AnyArray], FloatArray], X: AnyArray
    ) -> FloatArray:
        """Return what a method returns for the projection with kernels, by blocks of samples."""
        kernels = self._density_projections[0]
        step = max(1, BLOCK_CELLS // len(self._kernel_scores))
        with one_blas_thread():
            blocks = [method(kernels, X[i : i + step]) for i in range(0, len(X), step)]
        return np.concatenate(blocks)
