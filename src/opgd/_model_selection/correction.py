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
    resampled with replacement; in each resample the model with the smallest error is selected, and
    its error on the samples that were not drawn is recorded (Tsamardinos, Greasidou & Borboudakis,
    2018). The result is the mean of these errors, or the uncorrected error if that is larger. No
    model is fitted again. Models that were abandoned are not among those compared, and samples are
    drawn one by one, also where the splits keep groups together.

    Parameters
    ----------
    models : models with their outcomes on all folds
    best : index of the selected model
    """
    wrong = np.array([np.concatenate([o.wrong for o in model.outcomes]) for model in models])
    # the first of several models with the smallest error is selected: sort by log-loss
    wrong = wrong[np.argsort([model.loss for model in models], kind="stable")].astype(np.float64)
    weights = np.concatenate([fold.test_weights for fold in folds])
    # predictions of a sample in several splits are drawn together
    positions = np.concatenate([fold.sample.positions(fold.test_indices) for fold in folds])
    samples = np.unique(positions, return_inverse=True)[1]
    n_samples = int(samples.max()) + 1
    rng = np.random.RandomState(0)
    errors: list[float] = []
    for _ in range(0, N_RESAMPLES, BLOCK):
        drawn = rng.randint(n_samples, size=(BLOCK, n_samples))
        counts = np.stack([np.bincount(row, minlength=n_samples)[samples] for row in drawn])
        inside, outside = counts * weights, (counts == 0) * weights  # (BLOCK, n)
        inside_errors = inside @ wrong.T / inside.sum(axis=1, keepdims=True)  # (BLOCK, n_models)
        selected = inside_errors.round(12).argmin(axis=1)
        totals = outside.sum(axis=1)
        left_out = totals > 0
        errors.extend((np.sum(outside * wrong[selected], axis=1)[left_out]) / totals[left_out])
    return max(models[best].error, float(np.mean(errors))) if errors else models[best].error
