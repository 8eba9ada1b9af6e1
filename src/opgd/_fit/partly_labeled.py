"""Uses of partly labeled samples: with the unlabeled ones, or without them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from opgd._fit.hidden_labels import HiddenLabels, Predictions
from opgd._fit.problem import Prepared, Problem, pose
from opgd._fit.self_training import estimate_class_moments
from opgd.core.coordinates import Frame
from opgd.core.engines import RowEngine
from opgd.core.types import FloatArray


@dataclass(frozen=True)
class ProblemSettings:
    """Settings of the problem that all uses share."""

    n_classes: int
    choose_priors: Callable[[FloatArray], FloatArray]
    """Map estimated frequencies of the classes to their priors, (K,)."""
    covariance_type: str
    shrinkage: float | str
    ridge: float | str


@dataclass(frozen=True)
class LabelUse:
    """A way to learn from partly labeled samples."""

    name: str
    with_unlabeled: bool
    n_rounds: int = 0
    """Maximum number of rounds of self-training."""
    is_lda: bool = False
    """Whether to keep the components of LDA, with the pooled covariance for all classes."""

    def pose(self, frame: Frame, settings: ProblemSettings) -> tuple[Problem, int]:
        """Set up the problem; return it with the number of rounds of self-training."""
        n_rounds = 0
        if self.with_unlabeled:
            moments, n_rounds = estimate_class_moments(frame, settings.n_classes, self.n_rounds)
        else:
            labeled = frame.engine.find_rows(lambda labels: labels >= 0)
            frame = replace(frame, engine=frame.engine.select_rows(labeled))
            moments = frame.moments(settings.n_classes)
        problem = pose(
            Prepared(frame, moments),
            settings.choose_priors(moments.priors),
            covariance_type=settings.covariance_type,
            shrinkage=1.0 if self.is_lda else settings.shrinkage,
            ridge=settings.ridge,
        )
        return problem, n_rounds


def list_uses(n_rounds: int) -> list[LabelUse]:
    """Return the uses that are compared; the first is preferred."""
    uses = [
        LabelUse("self-training", with_unlabeled=True, n_rounds=n_rounds),
        LabelUse("no rounds", with_unlabeled=True),
        LabelUse("labeled samples", with_unlabeled=False),
        LabelUse("LDA of labeled samples", with_unlabeled=False, is_lda=True),
    ]
    return uses if n_rounds > 0 else uses[1:]


Search = Callable[[Problem, LabelUse], FloatArray]
"""Map a problem to directions (q, R)."""


def predict_hidden(
    uses: Sequence[LabelUse],
    trials: Sequence[HiddenLabels],
    frame: Frame,
    settings: ProblemSettings,
    search: Search,
) -> list[Predictions]:
    """Fit the model of each use in each trial, without the hidden labels, and predict these.

    The moments, the ridge and the components of a trial are those of the remaining labels. The
    frame is that of all samples; it does not depend on labels.
    """
    assert isinstance(frame.engine, RowEngine)
    frequencies = estimate_class_moments(frame, settings.n_classes, 0)[0].priors
    codes = np.concatenate([hidden.codes for hidden in trials])
    counts = np.concatenate([hidden.counts for hidden in trials])
    predictions = []
    for use in uses:
        log_joints, priors = [], []
        for hidden in trials:
            visible = replace(frame, engine=frame.engine.hide_labels(hidden.positions))
            problem, _ = use.pose(visible, settings)
            projection = problem.project(search(problem, use))
            log_joints.append(projection.class_log_joint(hidden.X))
            priors.append(np.broadcast_to(problem.priors, log_joints[-1].shape))
        predictions.append(
            Predictions(
                np.concatenate(log_joints),
                np.concatenate(priors),
                codes,
                counts,
                settings.choose_priors(frequencies),
            )
        )
    return predictions
