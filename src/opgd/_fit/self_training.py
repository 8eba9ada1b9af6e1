"""Self-training: moments of classes from partly labeled samples.

The first probabilities come from LDA on the labeled samples, with the covariance shrunk toward the
identity on standardized features. Each round computes the moments of classes from the labels and
probabilities of all samples, and new probabilities from these moments, with covariances shrunk
toward the pooled one. Labeled samples keep their class but are a small part of it, so the error of
the classes predicted for them is a nearly unbiased estimate of the test error. The rounds stop when
it increases by more than a standard error.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from opgd.core.coordinates import Coordinates, Frame, sphered_coordinates
from opgd.core.engines import RowBlock, RowEngine
from opgd.core.gaussians import FORMS, ProjectedGaussians
from opgd.core.kernels import block_scores
from opgd.core.moments import Moments
from opgd.core.regularization import identity_share, unit_variance, whiten_classes
from opgd.core.scoring import scores_log_joint
from opgd.core.types import FloatArray

ROUND_SHRINKAGE = 0.7
"""Share of the pooled covariance in the class covariances during the rounds."""


@dataclass(frozen=True)
class WholeGaussians:
    """Gaussians of the classes in the space of all features, without projection."""

    components: FloatArray  # (R, p of the engine)
    gaussians: ProjectedGaussians

    @cached_property
    def factors(self) -> FloatArray:
        return FORMS["full"].factors(self.gaussians)

    def posteriors(self, block: RowBlock) -> FloatArray:
        """Return probabilities of the classes, (K, n_rows), without regard to labels."""
        scores = block.workspace.array("scores", len(self.components), block.n_rows)
        block_scores(block, self.components, scores)
        joint = scores_log_joint(scores, self.gaussians, self.factors, FORMS["full"])
        joint -= joint.max(axis=0)
        np.exp(joint, out=joint)
        joint /= joint.sum(axis=0)
        return joint

    def memberships(self, block: RowBlock) -> FloatArray:
        """Return probabilities of the classes, (K, n_rows); 0 and 1 for labeled rows."""
        shares = self.posteriors(block)
        labeled = np.flatnonzero(block.labels >= 0)
        shares[:, labeled] = 0.0
        shares[block.labels[labeled], labeled] = 1.0
        return shares


def estimate_class_moments(frame: Frame, n_classes: int, n_rounds: int) -> tuple[Moments, int]:
    """Return moments of sphered samples by class, and the number of rounds.

    Labels are codes, with -1 for unlabeled samples. The first round is always completed, since
    the error of LDA on the samples it was fitted to is too optimistic.
    """
    engine = frame.engine
    if not engine.partly_labeled:
        return frame.moments(n_classes), 0
    labeled = engine.select_rows(engine.find_rows(lambda labels: labels >= 0))
    moments = frame.soft_moments(_fit_lda(frame, labeled, n_classes).memberships)
    lowest_error = np.inf
    for n_done in range(n_rounds):
        classes = _fit_classes(frame, moments)
        error = _compute_error(labeled, classes)
        lowest_error = min(lowest_error, error)
        # Laplace's rule of succession, so that an error of zero has a positive standard error
        smoothed = (error * labeled.count + 1) / (labeled.count + 2)
        if error > lowest_error + np.sqrt(smoothed * (1 - smoothed) / labeled.count):
            return moments, n_done
        moments = frame.soft_moments(classes.memberships)
    return moments, n_rounds


def _fit_lda(frame: Frame, labeled: RowEngine, n_classes: int) -> WholeGaussians:
    """Fit LDA to the labeled samples."""
    classes = replace(frame, engine=labeled).moments(n_classes)
    spread = np.outer(frame.spread, frame.spread)
    within = classes.within / spread  # of standardized features, on the axes of the basis
    level = unit_variance(frame, classes)
    share = identity_share(within, float(classes.counts.sum()), frame.n_active)
    within = (1 - share) * within + share * level * np.eye(len(within))
    covariances = np.broadcast_to(within * spread, classes.covariances.shape)
    return _make_gaussians(
        frame, sphered_coordinates(frame), replace(classes, covariances=covariances)
    )


def _fit_classes(frame: Frame, classes: Moments) -> WholeGaussians:
    """Return regularized Gaussians from moments of sphered samples."""
    whitening = whiten_classes(frame, classes)
    regular, _ = whitening.regularize(classes, ROUND_SHRINKAGE)
    return _make_gaussians(frame, whitening.coordinates, regular)


def _make_gaussians(frame: Frame, coordinates: Coordinates, classes: Moments) -> WholeGaussians:
    gaussians = ProjectedGaussians(np.log(classes.priors), classes.means, classes.covariances)
    return WholeGaussians(frame.engine_matrix(coordinates).T, gaussians)


def _compute_error(labeled: RowEngine, classes: WholeGaussians) -> float:
    """Return the share of labeled samples whose predicted class is wrong."""

    def sum_errors(block: RowBlock) -> FloatArray:
        missed = np.argmax(classes.posteriors(block), axis=0) != block.labels
        weights = block.row_weights
        return np.array([weights @ missed])

    return float(labeled.sum(sum_errors)[0] / labeled.total_weight)
