"""EM for a mixture of Gaussians inside a projection, block by block.

The E-step is the kernel's log joint, and its sums are the kernel's statistics: posteriors times
features. Rows with a label may be held to the Gaussians of their class. Variances are kept above a
share of the pooled variance with which the EM began; the M-step under that bound is exact, so the
likelihood never falls.
"""

from dataclasses import dataclass, replace

import numpy as np

from opgd.core.engines import Engine, RowBlock
from opgd.core.gaussians import Form, ProjectedGaussians
from opgd.core.kernels import block_features, block_log_joint
from opgd.core.products import times_rows
from opgd.core.types import FloatArray, IntArray

LEAST_VARIANCE = 1e-4
"""Share of the pooled variance at the start below which no Gaussian may shrink."""
LEAST_WEIGHT = 1e-10
"""Share of the rows below which a Gaussian is empty and stays as it was."""


@dataclass(frozen=True)
class MixtureSums:
    """What a block contributes to the likelihood and the M-step."""

    log_likelihood: float  # without the constant of the normal density
    statistics: FloatArray  # (C, F), posteriors @ features'

    def __add__(self, other: "MixtureSums") -> "MixtureSums":
        return MixtureSums(
            self.log_likelihood + other.log_likelihood, self.statistics + other.statistics
        )


@dataclass(frozen=True)
class MixtureResult:
    """Where the EM ended and how it went; likelihoods are means over the weight of the rows."""

    gaussians: ProjectedGaussians
    log_likelihood: float
    n_iter: int
    converged: bool
    history: list[float]


def block_posteriors(
    block: RowBlock,
    features: FloatArray,
    theta: FloatArray,
    gaussian_classes: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Posteriors (C, n_rows) in a buffer, and the log density of every row.

    With `gaussian_classes`, rows whose label is 0 or more belong to Gaussians of that class.
    """
    joint = block_log_joint(block, features, theta, 0)
    if gaussian_classes is not None:
        labels = block.labels
        joint[(labels >= 0) & (gaussian_classes[:, None] != labels)] = -np.inf
    peak = joint.max(axis=0)
    joint -= peak
    np.exp(joint, out=joint)
    total = joint.sum(axis=0)
    joint /= total
    return joint, np.log(total) + peak


def block_mixture_sums(
    block: RowBlock,
    components: FloatArray,
    theta: FloatArray,
    form: Form,
    gaussian_classes: IntArray | None,
) -> MixtureSums:
    """The E-step of one block."""
    features = block_features(block, components, form)
    posteriors, log_density = block_posteriors(block, features, theta, gaussian_classes)
    if block.weights is None:
        return MixtureSums(float(log_density.sum()), times_rows(posteriors, features.T))
    posteriors *= block.weights
    return MixtureSums(float(block.weights @ log_density), times_rows(posteriors, features.T))


@dataclass(frozen=True)
class Constraints:
    """What the M-step has to respect.

    Variances are (1 - share) of their own and what is `added`, as where rows are too few to say
    all of them; that maximizes the likelihood only where nothing is added.
    """

    tied: bool = False  # whether all Gaussians have one covariance
    least: float = LEAST_VARIANCE  # share of the pooled variance at the start
    share: FloatArray | float = 0.0  # (C,)
    added: FloatArray | float = 0.0  # like the variances, (C, q) or (C, q, q)


UNCONSTRAINED = Constraints()


def re_estimate(
    statistics: FloatArray,
    last: ProjectedGaussians,
    form: Form,
    least: FloatArray,
    constraints: Constraints,
) -> ProjectedGaussians:
    """The M-step: weights, means and variances from the sums, none below `least`."""
    weights = statistics[:, -1]
    total = weights.sum()
    shares = weights / total
    alive = shares > LEAST_WEIGHT
    means, variances = last.means.copy(), last.variances.copy()
    means[alive], variances[alive] = form.estimate(statistics[alive])
    if constraints.tied:
        pooled = np.tensordot(shares[alive] / shares[alive].sum(), variances[alive], axes=1)
        variances[alive] = pooled
    by_gaussian = (-1,) + (1,) * (variances.ndim - 1)
    kept = np.broadcast_to(1 - np.asarray(constraints.share), len(means)).reshape(by_gaussian)
    variances[alive] = (kept * variances + constraints.added)[alive]
    variances[alive] = form.raised(variances[alive], least)
    log_priors = np.log(np.maximum(shares, np.finfo(float).tiny))
    return ProjectedGaussians(log_priors, means, variances)


def fit_mixture(
    engine: Engine,
    components: FloatArray,
    start: ProjectedGaussians,
    form: Form,
    *,
    max_iter: int = 1000,
    tol: float = 1e-7,
    gaussian_classes: IntArray | None = None,
    constraints: Constraints = UNCONSTRAINED,
) -> MixtureResult:
    """EM from `start` until an iteration brings less than `tol` per row.

    Parameters
    ----------
    engine : the rows
    components : ndarray of shape (q, p), V' for the engine's centered rows
    start : in the projection
    gaussian_classes : ndarray of shape (C,) or None
        Class of each Gaussian, where labels of rows (-1: none) are to be kept.
    constraints : on the covariances
    """
    priors = np.exp(start.log_priors)
    pooled = np.tensordot(priors / priors.sum(), start.variances, axes=1)
    least = constraints.least * pooled  # (q,) or (q, q)
    gaussians = replace(start, variances=form.raised(start.variances, least))
    history: list[float] = []

    def expectation(gaussians: ProjectedGaussians) -> MixtureSums:
        theta = form.theta(gaussians)
        return engine.sum(
            lambda block: block_mixture_sums(block, components, theta, form, gaussian_classes),
            width=theta.shape[1] + len(theta),
        )

    for n_iter in range(max_iter + 1):
        sums = expectation(gaussians)
        history.append(sums.log_likelihood / engine.total_weight)
        converged = n_iter > 0 and history[-1] - history[-2] < tol
        if converged or n_iter == max_iter:
            break
        gaussians = re_estimate(sums.statistics, gaussians, form, least, constraints)
    return MixtureResult(gaussians, history[-1], n_iter, converged, history)
