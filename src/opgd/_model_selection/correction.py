"""Correction of the cross-validation error for the selection of the best of many models."""

import numpy as np

from opgd._model_selection.folds import Fold
from opgd._model_selection.ranking import Model
from opgd.core.engines import spread_positions

N_RESAMPLES = 200
BLOCK, MAX_BLOCK_CELLS = 20, 2**22
"""Number of resamples that are drawn together, and of their samples, which limits the memory."""
MAX_RESAMPLED = 200_000
"""Number of held-out samples above which some of them are resampled."""


def correct_error(models: list[Model], best: int, folds: list[Fold]) -> float:
    """Return the error of the selected model, corrected for the selection.

    The smallest of many estimated errors is too small. Held-out predictions of all models are
    resampled with replacement; in each resample the model with the smallest error is selected, and
    its error on the samples that were not drawn is recorded (Tsamardinos, Greasidou & Borboudakis,
    2018). The result is the mean of these errors, or the uncorrected error if that is larger. No
    model is fitted again. Models that were abandoned are not among those compared, and samples are
    drawn one by one, also where the splits keep groups together. Of more than `MAX_RESAMPLED`
    held-out samples, as many are resampled, and what their errors exceed the error of
    the selected model on the same samples is added to its error on all samples.

    Parameters
    ----------
    models : models with their outcomes on all folds
    best : index of the selected model
    """
    kept = spread_positions(len(models[best].wrong), MAX_RESAMPLED)
    wrong = np.array([model.wrong[kept] for model in models])
    # the first of several models with the smallest error is selected: sort by log-loss
    wrong = wrong[np.argsort([model.loss for model in models], kind="stable")].astype(np.float64)
    all_weights = np.concatenate([fold.test_weights for fold in folds])
    weights, all_wrong = all_weights[kept], models[best].wrong
    difference = np.average(all_wrong, weights=all_weights)
    difference -= np.average(all_wrong[kept], weights=weights)  # 0 if all are resampled
    # predictions of a sample in several splits are drawn together
    positions = np.concatenate([fold.sample.positions(fold.test_indices) for fold in folds])
    samples = np.unique(positions[kept], return_inverse=True)[1]
    n_samples = int(samples.max()) + 1
    rng = np.random.RandomState(0)
    errors: list[float] = []
    block = int(np.clip(MAX_BLOCK_CELLS // n_samples, 1, BLOCK))
    for begin in range(0, N_RESAMPLES, block):
        drawn = rng.randint(n_samples, size=(min(block, N_RESAMPLES - begin), n_samples))
        counts = np.stack([np.bincount(row, minlength=n_samples)[samples] for row in drawn])
        inside, outside = counts * weights, (counts == 0) * weights  # (block, n)
        inside_errors = inside @ wrong.T / inside.sum(axis=1, keepdims=True)  # (block, n_models)
        selected = inside_errors.round(12).argmin(axis=1)
        totals = outside.sum(axis=1)
        left_out = totals > 0
        errors.extend((np.sum(outside * wrong[selected], axis=1)[left_out]) / totals[left_out])
    error = models[best].error
    return max(error, float(np.mean(errors) + difference)) if errors else error
