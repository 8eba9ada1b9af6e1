"""Held-out samples of a cross-validation, as the selected model sees them."""

import numpy as np

from opgd._model_selection.calibration import Calibration, fit_calibration
from opgd._model_selection.folds import Fold
from opgd._model_selection.ranking import Model
from opgd.core.held_out import HeldOut


def collect_held_out(
    folds: list[Fold], model: Model, *, calibrate: bool
) -> tuple[HeldOut, Calibration]:
    """Return the held-out samples of all folds by a model, and its calibration on them."""
    pairs = list(zip(folds, model.outcomes, strict=True))
    results = [fold.predict(outcome) for fold, outcome in pairs]
    log_joint, distances = (np.concatenate(parts) for parts in zip(*results, strict=True))
    codes = np.concatenate([fold.test.codes for fold in folds])
    weights = np.concatenate([fold.test_weights for fold in folds])
    calibration = Calibration()
    if calibrate:
        true_priors = np.concatenate([fold.true_priors for fold in folds])
        calibration = fit_calibration(log_joint, codes, weights, true_priors)
    held_out = HeldOut.collect(log_joint, codes, weights, distances)
    return held_out.divided_by(calibration.temperature), calibration
