"""A fitted projection, with everything needed to score new samples."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.special import chdtrc, chdtri

from opgd.core.gaussians import Form, ProjectedGaussians
from opgd.core.marginal import Completion, ScoreObserver, map_incomplete
from opgd.core.observed import ObservedScores
from opgd.core.scoring import (
    log_joint_at_means,
    log_sum_by_group,
    map_blocks,
    normalize_log_joints,
    project,
    project_samples,
    scores_log_joint,
)
from opgd.core.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class FittedProjection:
    """Components, and Gaussians of the scores on them.

    With z = V'(x - center) the scores of a centered sample, m_c and S_c the mean and covariance of
    Gaussian c there,

        log_joint[i, c]         = log pi_c - 1/2 log|S_c| - 1/2 (z_i - m_c)' S_c^-1 (z_i - m_c)
        squared_distances[i, c] = (z_i - m_c)' S_c^-1 (z_i - m_c)

    A model without projection is one whose components span the space of the features.

    Samples with missing entries (nan) have the log joints of their observed entries, and the
    conditional means of their scores. This needs a `completion`, see `opgd.core.marginal`.
    """

    center: FloatArray  # (p,)
    components: FloatArray  # (q, p), V'
    gaussians: ProjectedGaussians  # of the scores of centered samples
    form: Form
    gaussian_classes: IntArray  # (C,), ascending from 0
    temperature: float = 1.0  # divisor of the log joints by class
    background: float = 0.0  # share of the class priors in the posteriors
    completion: Completion | None = field(default=None, repr=False, compare=False)

    @property
    def n_components(self) -> int:
        """Return q, the number of components."""
        return len(self.components)

    @property
    def projected_means(self) -> FloatArray:
        """Return the means of the scores of samples that are not centered, (C, q)."""
        return self.gaussians.means + self.components @ self.center

    def first(self, n_components: int) -> "FittedProjection":
        """Return the projection on the first components."""
        return replace(
            self,
            components=self.components[:n_components],
            gaussians=self.gaussians.first(n_components),
        )

    def scores(self, X: AnyArray) -> FloatArray:
        """Return X V without centering, (n, q), in float64."""

        def expected_scores(observer: ScoreObserver, observed: ObservedScores) -> FloatArray:
            scores = observed.expected_scores(observer.convert(self.gaussians))
            return observer.root @ scores + (self.components @ self.center)[:, None]

        return self._complete(project_samples(X, self.components), X, expected_scores)

    def complete(self, X: AnyArray) -> AnyArray:
        """Return X with missing entries replaced by conditional means given the observed ones."""
        rows = np.flatnonzero(np.isnan(X).any(axis=1))
        if len(rows) == 0:
            return X
        observer, completed = self._make_observer(), X.copy()
        for chunk in observer.split_rows(rows):
            completed[chunk] = observer.complete(X[chunk])
        return completed

    def log_joint(self, X: AnyArray) -> FloatArray:
        """Return log(pi_c phi_c) less the constant of the normal density, (n, C)."""
        each = np.arange(len(self.gaussians.means))
        return self._log_joint_by(each, X)

    def class_log_joint(self, X: AnyArray) -> FloatArray:
        """Return log joints of the classes, divided by the temperature, (n, K).

        The joint of a class is the sum over its Gaussians.
        """
        by_class = self._log_joint_by(self.gaussian_classes, X)
        by_class /= self.temperature
        return by_class

    def squared_distances(self, X: AnyArray) -> FloatArray:
        """Return squared Mahalanobis distances to every Gaussian in the projection, (n, C)."""

        def observed_distances(observer: ScoreObserver, observed: ObservedScores) -> FloatArray:
            return observed.squared_distances(observer.convert(self.gaussians))

        return self._complete(self._whole_squared_distances(X), X, observed_distances)

    def nearest_distances(self, X: AnyArray) -> FloatArray:
        """Return squared distances to the nearest Gaussian, (n,).

        The scores of samples with missing entries may be determined in fewer dimensions than there
        are components. Their distances are converted to those with the same tail probability in
        all dimensions; samples without scores have distance 0.
        """

        def observed_nearest(observer: ScoreObserver, observed: ObservedScores) -> FloatArray:
            distances = observed.squared_distances(observer.convert(self.gaussians))
            return np.stack([distances.min(axis=0), observed.n_observed])

        nearest = np.full((len(X), 2), float(self.n_components))
        nearest[:, 0] = self._whole_squared_distances(X).min(axis=1)
        distances, n_dimensions = self._complete(nearest, X, observed_nearest).T
        fewer = n_dimensions < self.n_components
        if fewer.any():
            tails = chdtrc(np.maximum(n_dimensions[fewer], 1), distances[fewer])
            tails[n_dimensions[fewer] == 0] = 1.0
            distances[fewer] = chdtri(self.n_components, tails)
        return distances

    def _whole_squared_distances(self, X: AnyArray) -> FloatArray:
        """Return the squared distances of complete samples, and nan for others, (n, C)."""
        each = np.arange(len(self.gaussians.means))
        log_joint = self._whole_log_joint_by(each, X)
        return np.maximum(2.0 * (log_joint_at_means(self.gaussians, self.form) - log_joint), 0.0)

    def _log_joint_by(self, groups: IntArray, X: AnyArray) -> FloatArray:
        """Return the log of the sum of the joints of each group of Gaussians, (n, n_groups)."""

        def observed_log_joint(observer: ScoreObserver, observed: ObservedScores) -> FloatArray:
            joint = observed.log_joint(observer.convert(self.gaussians))
            joint -= 0.5 * observer.log_determinant
            return log_sum_by_group(joint, groups)

        return self._complete(self._whole_log_joint_by(groups, X), X, observed_log_joint)

    def _complete(
        self,
        results: FloatArray,
        X: AnyArray,
        function: Callable[[ScoreObserver, ObservedScores], FloatArray],
    ) -> FloatArray:
        """Replace the results (n, n_columns) of incomplete samples, which are nan, in place."""
        rows = np.flatnonzero(np.isnan(results[:, 0]))
        if len(rows):
            rows = rows[np.isnan(X[rows]).any(axis=1)]
        if len(rows):
            observer = self._make_observer()
            results[rows] = map_incomplete(observer, X, rows, partial(function, observer))
        return results

    def _make_observer(self) -> ScoreObserver:
        if self.completion is None:
            raise ValueError(
                "X has missing values, but this model was stored by a version without support for "
                "them; fit it again, or impute the missing values."
            )
        return self.completion.observer(self.components)

    def _whole_log_joint_by(self, groups: IntArray, X: AnyArray) -> FloatArray:
        """Return the same as `_log_joint_by` for complete samples, and nan for others."""
        factors = self.form.factors(self.gaussians)

        def block_log_joint(centered: FloatArray) -> FloatArray:
            scores = project(centered, self.components)
            joint = scores_log_joint(scores, self.gaussians, factors, self.form)
            return log_sum_by_group(joint, groups)

        return map_blocks(X, self.center, block_log_joint, int(groups[-1]) + 1)


def mix_background(log_joints: FloatArray, share: float, priors: FloatArray) -> FloatArray:
    """Return log((1 - share) posterior + share priors) of the classes, (n, K).

    `log_joints` (n, K) may lack a constant of each sample; a new array is returned.
    """
    log_posteriors = normalize_log_joints(log_joints + 0.0)
    if share == 0:
        return log_posteriors
    with np.errstate(divide="ignore"):  # a class may have prior 0
        return np.logaddexp(math.log1p(-share) + log_posteriors, np.log(share * priors))
