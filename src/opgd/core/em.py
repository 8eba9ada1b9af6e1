"""EM for a mixture of Gaussians inside a projection, block by block.

The E-step uses the log joints of the kernel, and its sums are posteriors times features. Labeled
samples can be restricted to the Gaussians of their class. Likelihoods of mixtures are unbounded: a
Gaussian can collapse onto a single sample. Therefore covariances have a conjugate prior, or are
bounded from below by a fraction of the initial pooled covariance. In both cases the M-step is
exact, so the (penalized) likelihood never decreases.
"""

from dataclasses import dataclass, replace

import numpy as np

from opgd.core.engines import Engine, RowBlock
from opgd.core.gaussians import Form, ProjectedGaussians
from opgd.core.kernels import block_features, block_log_joint, limit_logs
from opgd.core.marginal import BlockObserver
from opgd.core.moments import Moments
from opgd.core.products import times_rows
from opgd.core.structures import CovariancePrior, Structure, estimate_free
from opgd.core.types import FloatArray, IntArray

LEAST_VARIANCE = 1e-4
"""Minimum variance, as a fraction of the initial pooled variance."""
LEAST_WEIGHT = 1e-10
"""Fraction of the total weight below which a Gaussian counts as empty and is not updated."""


@dataclass(frozen=True)
class MixtureSums:
    """Partial sums of one block for the likelihood and the M-step."""

    log_likelihood: float  # without the constant of the normal density
    statistics: FloatArray  # (C, F), posteriors @ features'

    def __add__(self, other: "MixtureSums") -> "MixtureSums":
        return MixtureSums(
            self.log_likelihood + other.log_likelihood, self.statistics + other.statistics
        )


@dataclass(frozen=True)
class MixtureResult:
    """Result of the EM algorithm; log-likelihoods are weighted means over the samples."""

    gaussians: ProjectedGaussians
    log_likelihood: float
    n_iter: int
    converged: bool
    history: list[float]  # log-likelihoods, plus the log density of the prior if there is one


def block_posteriors(
    block: RowBlock,
    features: FloatArray,
    theta: FloatArray,
    gaussian_classes: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return posteriors (C, n_rows), in a buffer, and log densities (n_rows,).

    With `gaussian_classes`, rows with a label of 0 or more belong to the Gaussians of that class.
    """
    joint = block_log_joint(block, features, theta, 0)
    if gaussian_classes is not None:
        labels = block.labels
        joint[(labels >= 0) & (gaussian_classes[:, None] != labels)] = -np.inf
    peak = joint.max(axis=0)
    joint -= peak
    if gaussian_classes is None:  # otherwise posteriors of other classes must be zero
        limit_logs(joint)
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
    """Compute the E-step of one block."""
    features = block_features(block, components, form)
    posteriors, log_density = block_posteriors(block, features, theta, gaussian_classes)
    if block.weights is None:
        return MixtureSums(float(log_density.sum()), times_rows(posteriors, features.T))
    posteriors *= block.weights
    return MixtureSums(float(block.weights @ log_density), times_rows(posteriors, features.T))


def observed_mixture_sums(
    block: RowBlock, observe: BlockObserver, gaussians: ProjectedGaussians, form: Form
) -> MixtureSums:
    """Compute the E-step of one block of incomplete samples, with expected features.

    The log-likelihood is that of the observed entries of whole samples.
    """
    observed, rest = observe(block)
    converted, root = observe.observer.convert(gaussians), observe.observer.root
    posteriors, log_density = observed.posteriors(converted)
    log_likelihood = float(block.row_weights @ (log_density + rest))
    posteriors *= block.row_weights
    seconds, firsts = [], []
    for shares, mean, covariance in zip(
        posteriors, converted.means, converted.variances, strict=True
    ):
        means, covariances = observed.condition(mean, covariance)
        seconds.append(covariances @ shares + (means * shares) @ means.T)
        firsts.append(means @ shares)
    sums = root @ np.array(seconds) @ root.T, np.array(firsts) @ root.T, posteriors.sum(axis=1)
    return MixtureSums(log_likelihood, form.pack_sums(*sums))


@dataclass(frozen=True)
class Constraints:
    """Constraints on the covariances in the M-step.

    With a prior, the M-step computes the posterior mode under the bound `floor`. Otherwise
    estimated variances are replaced by (1 - share) * variances + added, which regularizes them
    where samples are few; the M-step then maximizes the likelihood only if nothing is added.
    """

    structure: Structure = estimate_free
    prior: CovariancePrior | None = None
    floor: FloatArray | None = None  # lower bound with a prior, (q,) or (q, q)
    least: float = LEAST_VARIANCE  # fraction of the initial pooled variance
    share: FloatArray | float = 0.0  # (C,)
    added: FloatArray | float = 0.0  # like the variances, (C, q) or (C, q, q)


UNCONSTRAINED = Constraints()


def constrain_scatters(
    scatters: FloatArray,
    counts: FloatArray,
    prior: CovariancePrior,
    form: Form,
    constraints: Constraints,
) -> FloatArray:
    """Return the posterior modes of covariances, from scatters and weights of Gaussians."""
    modes = constraints.structure(scatters + prior.scatter, counts + prior.count)
    return modes if constraints.floor is None else form.clip_variances(modes, constraints.floor)


def estimate_gaussians(groups: Moments, form: Form, constraints: Constraints) -> ProjectedGaussians:
    """Compute an M-step with a prior from the moments of groups of samples."""
    covariances, counts = groups.covariances, groups.counts
    if form.name == "diag":
        covariances = np.diagonal(covariances, axis1=1, axis2=2)
    scatters = counts.reshape(-1, *[1] * (covariances.ndim - 1)) * covariances
    if constraints.prior is None:
        raise ValueError("estimate_gaussians needs a prior")
    modes = constrain_scatters(scatters, counts, constraints.prior, form, constraints)
    return ProjectedGaussians(np.log(groups.priors), groups.means, modes)


def re_estimate(
    statistics: FloatArray,
    last: ProjectedGaussians,
    form: Form,
    least: FloatArray,
    constraints: Constraints,
) -> ProjectedGaussians:
    """Compute the M-step: weights, means, and variances with a prior or clipped at `least`."""
    weights = statistics[:, -1]
    total = weights.sum()
    shares = weights / total
    occupied = shares > LEAST_WEIGHT
    means, variances = last.means.copy(), last.variances.copy()
    means[occupied], estimates = form.estimate(statistics[occupied])
    by_gaussian = (-1,) + (1,) * (variances.ndim - 1)
    prior, counts = constraints.prior, weights[occupied]
    scatters = counts.reshape(by_gaussian) * estimates
    if prior is not None:
        variances[occupied] = constrain_scatters(scatters, counts, prior, form, constraints)
    else:
        variances[occupied] = constraints.structure(scatters, counts)
        share = np.broadcast_to(1 - np.asarray(constraints.share), len(means))
        regular = (share.reshape(by_gaussian) * variances + constraints.added)[occupied]
        variances[occupied] = form.clip_variances(regular, least)
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
    observe: BlockObserver | None = None,
) -> MixtureResult:
    """Run EM from `start` until an iteration gains less than `tol` per sample.

    Parameters
    ----------
    engine : the samples
    components : ndarray of shape (q, p), V' for the engine's centered samples
    start : initial Gaussians in the projection
    gaussian_classes : ndarray of shape (C,) or None
        Class of each Gaussian, if labeled samples must stay in their class (label -1: unlabeled).
    constraints : constraints on the covariances
    observe : observer of the scores, if the samples are incomplete
    """
    priors, prior = np.exp(start.log_priors), constraints.prior
    pooled = np.tensordot(priors / priors.sum(), start.variances, axes=1)
    least = constraints.least * pooled  # (q,) or (q, q)
    gaussians = start
    if prior is None:
        gaussians = replace(start, variances=form.clip_variances(start.variances, least))
    else:
        prior = prior.scaled(engine.total_weight / engine.count)
        constraints = replace(constraints, prior=prior)
    history: list[float] = []

    def compute_sums(gaussians: ProjectedGaussians) -> MixtureSums:
        if observe is not None:
            return engine.sum(
                lambda block: observed_mixture_sums(block, observe, gaussians, form), observe.width
            )
        theta = form.theta(gaussians)
        return engine.sum(
            lambda block: block_mixture_sums(block, components, theta, form, gaussian_classes),
            width=theta.shape[1] + len(theta),
        )

    for n_iter in range(max_iter + 1):
        sums = compute_sums(gaussians)
        penalty = 0.0 if prior is None else prior.log_density(gaussians.variances)
        history.append((sums.log_likelihood + penalty) / engine.total_weight)
        converged = n_iter > 0 and history[-1] - history[-2] < tol
        if converged or n_iter == max_iter:
            break
        gaussians = re_estimate(sums.statistics, gaussians, form, least, constraints)
    log_likelihood = sums.log_likelihood / engine.total_weight
    return MixtureResult(gaussians, log_likelihood, n_iter, converged, history)
