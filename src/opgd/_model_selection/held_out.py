"""Held-out samples of a cross-validation, as the selected model sees them."""

import numpy as np

from opgd._model_selection.folds import Fold, Predictions
from opgd._model_selection.ranking import Model
from opgd.core.calibration import Calibration, fit_calibration
from opgd.core.held_out import HeldOut
from opgd.core.types import AnyArray


def collect_held_out(
    folds: list[Fold], model: Model, *, calibrate: bool
) -> tuple[HeldOut, Calibration]:
    """Return the held-out samples of all folds by a model, and its calibration on them."""
    pairs = list(zip(folds, model.outcomes, strict=True))
    predictions = [fold.predict(outcome) for fold, outcome in pairs]

    def join(name: str) -> AnyArray:
        return np.concatenate([getattr(fold, name) for fold in predictions])

    log_joint, codes = join("log_joint"), join("codes")
    calibration = Calibration()
    if calibrate:
        calibration = fit_calibration(log_joint, codes, join("weights"), join("true_priors"))
    distances = join("distances") * scale_to_all_samples(predictions)
    held_out = HeldOut.collect(log_joint, codes, join("unfactored_weights"), distances)
    return held_out.divided_by(calibration.temperature), calibration


def scale_to_all_samples(predictions: list[Predictions]) -> float:
    """Return the factor of held-out distances for a model that is fitted to all samples.

    Held-out samples are farther than training samples by an excess that decreases like one over
    the number of training samples, which is smaller in a split than in the final fit. Medians are
    used, since a few outliers should not matter.
    """
    held_out = float(np.median(np.concatenate([fold.distances for fold in predictions])))
    train = float(np.median(np.concatenate([fold.train_distances for fold in predictions])))
    if not 0 < train < held_out:
        return 1.0
    n_train = sum(fold.n_train for fold in predictions)
    share = n_train / (n_train + sum(fold.n_held_out for fold in predictions))
    return (train + share * (held_out - train)) / held_out
