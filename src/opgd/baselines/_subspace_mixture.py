"""Mixtures of the classes in a projection, fitted by EM, and the objective with them fixed."""

from dataclasses import dataclass, replace

import numpy as np

from opgd._fit.problem import Prepared, Problem
from opgd.core.em import Constraints, block_posteriors, fit_mixture
from opgd.core.engines import RowBlock
from opgd.core.gaussians import FORMS, DiagonalForm, ProjectedGaussians
from opgd.core.kernels import block_features
from opgd.core.moments import Moments
from opgd.core.objective import Objective
from opgd.core.types import FloatArray

LEAST_SHARE = 1e-10
"""Lower bound of memberships, so that Gaussians without samples have moments."""
EM_TOL = 1e-6
"""EM in an iteration stops when a step increases the log-likelihood per sample by less."""


@dataclass(frozen=True)
class HeldForm(DiagonalForm):
    """Form of fixed projected Gaussians, which do not depend on the components."""

    held: ProjectedGaussians

    def theta(self, gaussians: ProjectedGaussians) -> FloatArray:  # noqa: ARG002
        return super().theta(self.held)

    def moment_slopes(
        self,
        statistics: FloatArray,  # noqa: ARG002
        gaussians: ProjectedGaussians,
    ) -> tuple[FloatArray, FloatArray]:
        """Return zeros: the method omits this part of the gradient."""
        return np.zeros_like(gaussians.means), np.zeros_like(gaussians.variances)


@dataclass(frozen=True)
class SubspaceMixture:
    """Mixtures of the classes on directions, fitted by EM to labeled and unlabeled samples."""

    problem: Problem
    n_em_steps: int

    def fit(self, directions: FloatArray, start: ProjectedGaussians) -> ProjectedGaussians:
        """Run EM from `start`; labeled samples belong to the Gaussians of their class.

        Variances of singular classes are shrunk toward the pooled variance, which is 1 on
        directions of length one.
        """
        problem, objective = self.problem, self.problem.objective
        added = np.repeat(problem.borrowed[:, None], len(directions), axis=1)
        result = fit_mixture(
            objective.engine,
            directions @ objective.whitener.T,
            start,
            FORMS["diag"],
            max_iter=self.n_em_steps,
            tol=EM_TOL,
            gaussian_classes=problem.gaussian_classes,
            constraints=Constraints(share=problem.borrowed, added=added),
        )
        return self.set_priors(result.gaussians)

    def set_priors(self, gaussians: ProjectedGaussians) -> ProjectedGaussians:
        """Return Gaussians whose weights in each class sum to its prior."""
        classes = self.problem.gaussian_classes
        weights = np.exp(gaussians.log_priors)
        weights *= (self.problem.priors / np.bincount(classes, weights))[classes]
        return replace(gaussians, log_priors=np.log(weights))

    def hold(self, gaussians: ProjectedGaussians) -> Objective:
        """Return the objective with fixed Gaussians."""
        return replace(self.problem.objective, form=HeldForm(gaussians))

    def value(self, directions: FloatArray, gaussians: ProjectedGaussians) -> float:
        """Return the objective of directions and the Gaussians on them."""
        return self.hold(gaussians).value_and_gradient(directions)[0]

    def describe(
        self, prepared: Prepared, directions: FloatArray, gaussians: ProjectedGaussians
    ) -> Problem:
        """Return the problem with Gaussians of whole samples, whose projection is `gaussians`.

        Their moments are those of an M-step with all features, regularized, and then shifted and
        scaled along the directions.
        """
        problem, form = self.problem, FORMS["diag"]
        classes, theta = problem.gaussian_classes, form.theta(gaussians)
        components = directions @ problem.objective.whitener.T

        def memberships(block: RowBlock) -> FloatArray:
            features = block_features(block, components, form)
            posteriors = block_posteriors(block, features, theta, classes)[0]
            return np.maximum(posteriors, LEAST_SHARE, out=posteriors)

        whitening = prepared.whiten(0.0)[0]
        soft = whitening.whiten(prepared.frame.soft_moments(memberships))
        moments = whitening.regularize_whitened(soft)[0]
        moments = match_projection(moments, directions, gaussians)
        objective = replace(problem.objective, moments=moments, log_priors=gaussians.log_priors)
        return replace(problem, objective=objective)


def match_projection(
    moments: Moments, directions: FloatArray, gaussians: ProjectedGaussians
) -> Moments:
    """Return moments whose projection on directions D (q, R) has the given means and variances.

    With W the pseudoinverse of D, samples are mapped by I + W (diag(r) - I) D, where r are the
    ratios of standard deviations, which scales their scores by r.
    """
    inverse = np.linalg.pinv(directions)  # (R, q)
    variances = np.einsum("qr,crs,qs->cq", directions, moments.covariances, directions)
    ratios = np.sqrt(gaussians.variances / variances)
    maps = np.eye(len(inverse)) + (inverse * (ratios - 1)[:, None]) @ directions  # (C, R, R)
    shifts = gaussians.means - moments.means @ directions.T
    return replace(
        moments,
        means=moments.means + shifts @ inverse.T,
        covariances=maps @ moments.covariances @ maps.transpose(0, 2, 1),
    )
