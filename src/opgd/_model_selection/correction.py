"""Correction of the cross-validation error for the selection of the best of many models."""

import numpy as np

from opgd._model_selection.folds import Fold
from opgd._model_selection.ranking import Model

N_RESAMPLES = 200
BLOCK = 20
"""Number of resamples that are drawn together, which limits the memory."""


def correct_error(models: list[Model], best: int, folds: list[Fold]) -> float:
    """Return the error of the selected model, corrected for the selection.

    The smallest of many estimated errors is too small. Held-out predictions of all models are
    resampled with replacement; in each resample the best model is selected again, and its error
    there is compared with its error on the samples that were not drawn (Tsamardinos, Greasidou &
    Borboudakis, 2018). The mean difference is added to the error of the selected model. No model is
    fitted again.

    Parameters
    ----------
    models : models with their outcomes on all folds
    best : index of the selected model
    """
    wrong = np.array([np.concatenate([o.wrong for o in model.outcomes]) for model in models])
    # the first of several models with the smallest error is selected: sort by log-loss
    wrong = wrong[np.argsort([model.loss for model in models], kind="stable")].astype(np.float64)
    weights = np.concatenate([fold.test_weights for fold in folds])
    n_samples = len(weights)
    rng = np.random.RandomState(0)
    optimism = []
    for _ in range(0, N_RESAMPLES, BLOCK):
        drawn = rng.randint(n_samples, size=(BLOCK, n_samples))
        counts = np.stack([np.bincount(row, minlength=n_samples) for row in drawn])
        inside, outside = counts * weights, (counts == 0) * weights  # (BLOCK, n)
        inside_errors = inside @ wrong.T / inside.sum(axis=1, keepdims=True)  # (BLOCK, n_models)
        selected = inside_errors.round(12).argmin(axis=1)
        outside_total = outside.sum(axis=1)
        left_out = outside_total > 0
        outside_errors = np.sum(outside * wrong[selected], axis=1)[left_out]
        outside_errors /= outside_total[left_out]
        optimism.extend(outside_errors - inside_errors[np.arange(BLOCK), selected][left_out])
    correction = max(0.0, float(np.mean(optimism))) if optimism else 0.0
    return min(1.0, models[best].error + correction)
