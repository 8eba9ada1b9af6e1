"""Classes of partly labeled rows: moments from labels and from probabilities, in rounds.

The first probabilities are those of LDA on the labeled rows, its covariance drawn to the identity
on standardized columns. Each round takes the moments of all rows by label or probability, and new
probabilities from them (whole rows, Gaussians drawn to the pooled covariance). Labeled rows keep
their class, but are few among the rows that a class is made of; so the class that they would get
is a nearly honest test, and the rounds end when it fails.
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
"""Share of the pooled covariance in each class's during the rounds."""


@dataclass(frozen=True)
class WholeGaussians:
    """Classes as Gaussians of whole rows, in some coordinates."""

    components: FloatArray  # (R, p of the engine)
    gaussians: ProjectedGaussians

    @cached_property
    def factors(self) -> FloatArray:
        return FORMS["full"].factors(self.gaussians)

    def posteriors(self, block: RowBlock) -> FloatArray:
        """Probabilities of the classes, (K, n_rows), whatever the labels."""
        scores = block.workspace.array("scores", len(self.components), block.n_rows)
        block_scores(block, self.components, scores)
        joint = scores_log_joint(scores, self.gaussians, self.factors, FORMS["full"])
        joint -= joint.max(axis=0)
        np.exp(joint, out=joint)
        joint /= joint.sum(axis=0)
        return joint

    def memberships(self, block: RowBlock) -> FloatArray:
        """The same, where rows with a label belong to its class."""
        shares = self.posteriors(block)
        labeled = np.flatnonzero(block.labels >= 0)
        shares[:, labeled] = 0.0
        shares[block.labels[labeled], labeled] = 1.0
        return shares


def soft_classes(frame: Frame, n_classes: int, n_rounds: int) -> tuple[Moments, int]:
    """Return moments of sphered samples by class, and the number of rounds.

    Labels are codes, -1 for none. The first round is always made: LDA has been fitted to the very
    samples that would test it.
    """
    engine = frame.engine
    if not engine.partly_labeled:
        return frame.moments(n_classes), 0
    labeled = engine.chosen(engine.positions(lambda labels: labels >= 0))
    moments = frame.soft_moments(_first_classes(frame, labeled, n_classes).memberships)
    least = np.inf
    for n_done in range(n_rounds):
        classes = _next_classes(frame, moments)
        error = _error(labeled, classes)
        least = min(least, error)
        # a mistake more and a right one more: an error of zero is not known without doubt
        doubtful = (error * labeled.count + 1) / (labeled.count + 2)
        if error > least + np.sqrt(doubtful * (1 - doubtful) / labeled.count):
            return moments, n_done
        moments = frame.soft_moments(classes.memberships)
    return moments, n_rounds


def _first_classes(frame: Frame, labeled: RowEngine, n_classes: int) -> WholeGaussians:
    """LDA on the labeled rows."""
    classes = replace(frame, engine=labeled).moments(n_classes)
    spread = np.outer(frame.spread, frame.spread)
    within = classes.within / spread  # of standardized columns, in the axes of the basis
    level = unit_variance(frame, classes)
    share = identity_share(within, float(classes.counts.sum()), frame.n_active)
    within = (1 - share) * within + share * level * np.eye(len(within))
    covariances = np.broadcast_to(within * spread, classes.covariances.shape)
    return _whole(frame, sphered_coordinates(frame), replace(classes, covariances=covariances))


def _next_classes(frame: Frame, classes: Moments) -> WholeGaussians:
    whitening = whiten_classes(frame, classes)
    regular, _ = whitening.regularize(classes, ROUND_SHRINKAGE)
    return _whole(frame, whitening.coordinates, regular)


def _whole(frame: Frame, coordinates: Coordinates, classes: Moments) -> WholeGaussians:
    gaussians = ProjectedGaussians(np.log(classes.priors), classes.means, classes.covariances)
    return WholeGaussians(frame.engine_matrix(coordinates).T, gaussians)


def _error(labeled: RowEngine, classes: WholeGaussians) -> float:
    """Share of labeled rows that would get another class."""

    def wrong(block: RowBlock) -> FloatArray:
        missed = np.argmax(classes.posteriors(block), axis=0) != block.labels
        weights = block.row_weights
        return np.array([weights @ missed])

    return float(labeled.sum(wrong)[0] / labeled.total_weight)
