"""Results of models on held-out samples, computed in parts that are added."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from opgd._model_selection.scores import FACTORED, METRICS
from opgd.core.calibration import brier_scores, compute_losses, raw_loss
from opgd.core.engines import RowBlock
from opgd.core.fitted import FittedProjection
from opgd.core.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class HeldOutSums:
    """Results of some held-out samples. Sums are added, results of single samples joined."""

    wrong: list[AnyArray]  # whether each sample is misclassified
    brier: list[FloatArray]  # squared distances of posteriors from the true classes
    losses: FloatArray  # sums of log-losses by temperature and share of the background
    raw_loss: float  # sum of log-losses without calibration
    score: Any  # summary of the metric

    def __add__(self, other: "HeldOutSums") -> "HeldOutSums":
        sums = (getattr(self, f.name) + getattr(other, f.name) for f in fields(self))
        return HeldOutSums(*sums)


@dataclass(frozen=True)
class ClassPredictor:
    """Maps blocks of held-out samples to predictions.

    Parameters
    ----------
    projection : the model
    present : ndarray, codes of the classes that the model has
    n_classes : number of all classes; the density of those that are absent is zero
    """

    projection: FittedProjection
    present: IntArray
    n_classes: int

    def log_joint(self, X: AnyArray) -> FloatArray:
        """Return the log joints of all classes, (n, K)."""
        log_joint = np.full((len(X), self.n_classes), -np.inf)
        log_joint[:, self.present] = self.projection.class_log_joint(X)
        return log_joint

    def list_log_joints(self, block: RowBlock) -> list[FloatArray]:
        """Return the log joints of a block in a list, to be joined with those of other blocks."""
        return [self.log_joint(block.X)]

    def list_distances(self, block: RowBlock) -> list[FloatArray]:
        """Return squared distances to the nearest Gaussian in a list, as `list_log_joints`."""
        return [self.projection.nearest_distances(block.X)]


@dataclass(frozen=True)
class Evaluator(ClassPredictor):
    """Evaluates a model on blocks of held-out samples with their codes and weights.

    Parameters
    ----------
    priors : ndarray of shape (K,), shares of the classes among the training samples
    n_total : total weight of the held-out samples of all splits
    metric : name of the score, in `scores.METRICS`
    factors : ndarray of shape (K,), contained in the weights, or None
    with_brier : whether Brier scores are needed
    """

    priors: FloatArray
    n_total: float
    metric: str
    factors: FloatArray | None
    with_brier: bool

    def __call__(self, block: RowBlock) -> HeldOutSums:
        """Return the results of a block."""
        codes, weights, log_joint = block.labels, block.row_weights, self.log_joint(block.X)
        unfactored = weights / (1.0 if self.factors is None else self.factors[codes])
        counts = weights if self.metric in FACTORED else unfactored
        return HeldOutSums(
            [np.argmax(log_joint, axis=1) != codes],
            [brier_scores(log_joint, codes)] if self.with_brier else [],
            compute_losses(log_joint, codes, weights, self.priors[codes], self.n_total),
            raw_loss(log_joint, codes, weights),
            METRICS[self.metric].summarize(log_joint, codes, counts),
        )
