"""First mixtures in all features, with several structures of the covariances.

Each structure is fitted by EM with a weak prior, from the same starts. The starts are compared
after a few iterations and only the best is continued. Of the structures, the one with the smallest
BIC is used, as in mclust.
"""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.mixture import GaussianMixture

from opgd._fit.regularizer import Regularizer
from opgd._utils.warnings import ignore_sklearn_warnings
from opgd.core.coordinates import Frame
from opgd.core.density import LOG_TWO_PI, information_criteria
from opgd.core.em import Constraints, MixtureResult, estimate_gaussians, fit_mixture
from opgd.core.engines import RowEngine
from opgd.core.gaussians import FORMS, Form, ProjectedGaussians
from opgd.core.kernels import log_sum
from opgd.core.missing import Constrain
from opgd.core.moments import Moments, one_group
from opgd.core.regularization import whiten_classes
from opgd.core.scoring import scores_log_joint
from opgd.core.structures import STRUCTURES
from opgd.core.types import FloatArray

MAX_CANDIDATES = 2
"""Maximum number of first mixtures from which a projection is searched for."""
RACE_ITERATIONS = 5
"""Number of iterations of EM after which starts are compared."""
MAX_ITER = 200
TOL, LARGE_TOL, ROUGH_TOL = 1e-6, 1e-4, 1e-3
"""Gain per sample at which EM stops: in the end, with many samples, while it is compared."""
MAX_DIMENSIONS = 100
"""Maximum number of principal components in which clusters differ in a first mixture."""
MAX_COMPARED_ROWS = 2_000
"""Maximum number of samples on which structures are compared."""
LEAST_VARIANCE = 1e-3
"""Added to the variances of sphered samples where there is no prior."""
COLLAPSED = 0.2
"""Fraction of the average cluster weight below which a cluster may have collapsed."""


@dataclass(frozen=True)
class FirstMixture:
    """A mixture in all features: moments of sphered samples, and its likelihood if known."""

    structure: str  # of `STRUCTURES`, or "given"
    moments: Moments
    log_likelihood: float = np.nan  # mean log density of the sphered samples
    n_parameters: int = 0
    log_certainty: float = 0.0  # mean log of the largest posterior probability
    constrain: Constrain | None = None  # M-step of the structure, with the prior

    def criteria(self, count: float, log_volume: float = 0.0) -> dict[str, float]:
        """Return BIC, ICL and AIC for `count` samples.

        `log_volume` is the log volume, in the units of the samples, of a unit cube of sphered ones.
        """
        log_likelihood = count * (self.log_likelihood - log_volume)
        return information_criteria(
            log_likelihood, self.n_parameters, count, count * self.log_certainty
        )


def fit_structures(
    frame: Frame,
    rows: FloatArray,
    groups: list[Moments],
    names: list[str],
    regularizer: Regularizer,
) -> list[FirstMixture]:
    """Fit structures to sphered samples (n, R); return the best by BIC, and the full one.

    BIC of mixtures in many features favors few parameters. Inside a projection, clusters with full
    covariances may still be the better ones. Structures are compared on a subsample if there are
    many samples, and the mixtures that are returned are fitted to all of `rows`. Of many dimensions
    the leading principal components are used; the others have one Gaussian for all clusters.
    """
    rows = rows[:, :MAX_DIMENSIONS]
    few = rows[:: -(-len(rows) // MAX_COMPARED_ROWS)]
    fits = [StructureFit.start(frame, few, groups, name, regularizer) for name in names]
    best = min(fits, key=lambda fit: fit.describe(frame).criteria(len(few))["bic"])
    full = fits[names.index("full")]
    candidates = [best] if best is full else [best, full]
    mixtures = []
    for candidate in candidates:
        fit = candidate.continued(rows)
        log_certainty = fit.average_certainty(rows)
        mixtures.append(replace(fit.describe(frame), log_certainty=log_certainty))
    return mixtures


@dataclass(frozen=True)
class StructureFit:
    """A mixture with one structure, in the coordinates in which the structure is estimated."""

    name: str
    to_rows: FloatArray  # (q, q), maps q leading sphered components to these coordinates
    constraints: Constraints
    result: MixtureResult
    n_rows: int

    @classmethod
    def start(
        cls,
        frame: Frame,
        rows: FloatArray,
        groups: list[Moments],
        name: str,
        regularizer: Regularizer,
    ) -> "StructureFit":
        """Fit a structure to sphered samples from the best of several groupings."""
        kind, to_rows = STRUCTURES[name], _structure_map(frame, name)
        leading = np.eye(len(frame.spread))[:, : len(to_rows)] @ to_rows  # (R, q)
        constraints = regularizer.constrain(
            leading.T, groups[0].n_groups, diagonal=kind.diagonal, structure=kind.estimate
        )
        form = _get_form(name)
        mapped = rows @ to_rows
        starts = [estimate_gaussians(group.mapped(leading), form, constraints) for group in groups]
        max_iter = MAX_ITER if len(starts) == 1 else RACE_ITERATIONS
        begun = [
            run_em(mapped, start, form, constraints, max_iter=max_iter, tol=ROUGH_TOL)
            for start in starts
        ]
        # the first of equal ones, also if rounding errors make another one better
        best = max(begun, key=lambda result: round(result.history[-1], 9))
        fit = cls(name, to_rows, constraints, best, len(rows))
        return fit if best.converged else fit.continued(rows, ROUGH_TOL)

    def continued(self, rows: FloatArray, tol: float | None = None) -> "StructureFit":
        """Return the fit after further iterations on sphered samples."""
        if tol is None:
            tol = TOL if len(rows) <= MAX_COMPARED_ROWS else LARGE_TOL
        result = run_em(
            rows @ self.to_rows,
            self.result.gaussians,
            _get_form(self.name),
            self.constraints,
            max_iter=MAX_ITER,
            tol=tol,
        )
        return replace(self, result=result, n_rows=len(rows))

    def average_certainty(self, rows: FloatArray) -> float:
        """Return the mean log of the largest posterior probability of sphered samples."""
        form, gaussians = _get_form(self.name), self.result.gaussians
        scores = self.to_rows.T @ rows.T
        joint = scores_log_joint(scores, gaussians, form.factors(gaussians), form)
        return float(np.mean(joint.max(axis=0) - log_sum(joint)))

    def describe(self, frame: Frame) -> FirstMixture:
        """Convert the mixture to one of sphered samples."""
        gaussians, (q, _) = self.result.gaussians, self.to_rows.shape
        n_clusters, rest = len(gaussians.means), len(frame.spread) - q
        shares = np.exp(gaussians.log_priors)
        shares /= shares.sum()
        moments = make_moments(frame, shares, gaussians.means, gaussians.full_covariances)
        log_volume = float(np.linalg.slogdet(self.to_rows)[1])
        log_likelihood = self.result.log_likelihood - 0.5 * (q + rest) * LOG_TWO_PI + log_volume
        n_parameters = n_clusters * (q + 1) - 1
        n_parameters += STRUCTURES[self.name].count_parameters(n_clusters, q)
        n_parameters += rest + rest * (rest + 1) // 2 + q * rest
        return FirstMixture(
            self.name,
            self._map_back(moments, q + rest),
            log_likelihood - 0.5 * rest,
            n_parameters,
            constrain=self.constrain,
        )

    def _map_back(self, moments: Moments, rank: int) -> Moments:
        """Convert moments to those of sphered samples; the other components are standard normal."""
        q = len(self.to_rows)
        back = np.asarray(np.linalg.inv(self.to_rows), dtype=np.float64)
        sphered = moments.mapped(back @ np.eye(rank)[:q])
        sphered.covariances[:, range(q, rank), range(q, rank)] = 1.0
        return sphered

    def constrain(self, moments: Moments) -> Moments:
        """Compute the M-step of the structure from moments of sphered samples."""
        rank = moments.means.shape[1]
        mapped = moments.mapped(np.eye(rank)[:, : len(self.to_rows)] @ self.to_rows)
        gaussians = estimate_gaussians(mapped, _get_form(self.name), self.constraints)
        return self._map_back(replace(mapped, covariances=gaussians.full_covariances), rank)


def run_em(
    rows: FloatArray,
    start: ProjectedGaussians,
    form: Form,
    constraints: Constraints,
    *,
    max_iter: int,
    tol: float,
) -> MixtureResult:
    """Run EM on samples in the coordinates of a structure."""
    engine = RowEngine(rows, np.zeros(len(rows), np.intp))
    identity = np.eye(rows.shape[1])
    return fit_mixture(
        engine, identity, start, form, max_iter=max_iter, tol=tol, constraints=constraints
    )


def _get_form(name: str) -> Form:
    return FORMS["diag" if STRUCTURES[name].diagonal else "full"]


def _structure_map(frame: Frame, name: str) -> FloatArray:
    """Return the map (q, q) from leading sphered components to the coordinates of a structure."""
    kind, spread = STRUCTURES[name], frame.spread[:MAX_DIMENSIONS]
    if kind.affine:
        return np.eye(len(spread))
    standardized = np.diag(1 / spread)
    if kind.diagonal and len(spread) == frame.n_active:
        active = np.setdiff1d(np.arange(len(frame.scale)), frame.constant)
        return standardized @ frame.basis[active].T
    return standardized


def make_moments(
    frame: Frame, shares: FloatArray, means: FloatArray, covariances: FloatArray
) -> Moments:
    """Return moments of clusters with the given shares of all samples."""
    weights = frame.engine.count * np.maximum(shares, 1e-100)
    return Moments(weights, weights, means, covariances)


def make_single_gaussian(frame: Frame) -> FirstMixture:
    """Return the Gaussian with the moments of all samples."""
    rank = len(frame.spread)
    log_likelihood = -0.5 * rank * (LOG_TWO_PI + 1)
    n_parameters = rank + STRUCTURES["full"].count_parameters(1, rank)
    return FirstMixture("full", frame.moments(1, one_group), log_likelihood, n_parameters)


def fit_without_prior(frame: Frame, rows: FloatArray, groups: list[Moments]) -> list[FirstMixture]:
    """Fit full covariances without a prior, as in the paper: the most likely mixture.

    Mixtures with collapsed clusters are used only if there are no others.
    """
    mixtures = [_fit_full(frame, rows, group) for group in groups]
    return [max(mixtures, key=lambda own: (-_count_collapsed(own.moments), own.log_likelihood))]


def _count_collapsed(moments: Moments) -> int:
    """Return the number of clusters so small that any samples could be separated like them."""
    weights, n_features = moments.weights, moments.means.shape[1]
    enough = min(n_features + 1, COLLAPSED * weights.mean())
    return int(np.sum(weights < enough))


def _fit_full(frame: Frame, rows: FloatArray, groups: Moments) -> FirstMixture:
    """Run EM of scikit-learn from the moments of groups of sphered samples."""
    whitening = whiten_classes(frame, groups)
    regular, _ = whitening.regularize(groups)
    covariances = regular.mapped(whitening.coordinates.unwhitener * frame.spread).covariances
    covariances += LEAST_VARIANCE * np.eye(len(covariances[0]))
    precisions = np.linalg.inv(covariances)
    mixture = GaussianMixture(
        groups.n_groups,
        reg_covar=LEAST_VARIANCE,
        max_iter=MAX_ITER,
        weights_init=groups.priors,
        means_init=groups.means,
        precisions_init=0.5 * (precisions + precisions.transpose(0, 2, 1)),
    )
    with ignore_sklearn_warnings():  # an initialization need not converge
        mixture.fit(rows)
    moments = make_moments(frame, mixture.weights_, mixture.means_, mixture.covariances_)
    log_certainty = np.log(mixture.predict_proba(rows).max(axis=1)).mean()
    n_parameters = groups.n_groups * (rows.shape[1] + 1) - 1
    n_parameters += STRUCTURES["full"].count_parameters(groups.n_groups, rows.shape[1])
    return FirstMixture("full", moments, mixture.score(rows), n_parameters, float(log_certainty))
