"""Table of cross-validation results, and selection of a model from it."""

from typing import Any

import numpy as np

from opgd._model_selection.calibration import best_temperature, interpolate_loss
from opgd._model_selection.path import ALL_COMPONENTS, Outcome
from opgd.core.types import AnyArray, FloatArray


def align_paths(paths: list[list[Outcome]]) -> list[list[Outcome]]:
    """Return the models of a setting, each with one outcome per split, from the splits' paths.

    A path ends early if more components do not improve the results on its split. Its last outcome
    is then used for the larger numbers of components that other splits have.
    """
    models = []
    for count in sorted({outcome.count for path in paths for outcome in path}):
        reached = [[outcome for outcome in path if outcome.count <= count] for path in paths]
        if all(reached):
            models.append([path[-1] for path in reached])
    return models


def tabulate(
    models: list[list[Outcome]], *, rank: int, by_log_loss: bool, calibrate: bool
) -> dict[str, Any]:
    """Return the results of all models as a dict of arrays, like `GridSearchCV.cv_results_`.

    Parameters
    ----------
    models : list of list of Outcome
        Outcomes of each model, in the order of the splits.
    rank : int
        Rank of the centered samples: the number of components of models that use all of them.
    by_log_loss : bool
        Whether the score is the negative log-loss.
    calibrate : bool
        Whether this log-loss is that of calibrated probabilities.
    """
    curves = np.array([np.sum([outcome.curve for outcome in model], axis=0) for model in models])
    weights = np.array([sum(outcome.weight for outcome in model) for model in models])
    temperatures = np.array([best_temperature(curve) for curve in curves])
    calibrated = [interpolate_loss(curve, t) for curve, t in zip(curves, temperatures, strict=True)]
    scores = np.array([[outcome.score for outcome in model] for model in models])
    if by_log_loss:
        scores = log_loss_scores(models, temperatures if calibrate else np.ones(len(models)))
    means = scores.mean(axis=1)
    order = np.where(np.isfinite(means), means, -np.inf).round(12)
    params = [classifier_params(model, rank) for model in models]
    names = dict.fromkeys(name for values in params for name in values)
    return {
        "params": params,
        **{
            f"param_{name}": _object_array([values.get(name) for values in params])
            for name in names
        },
        **{f"split{i}_test_score": column for i, column in enumerate(scores.T)},
        "mean_test_score": means,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": 1 + np.sum(order[:, None] < order, axis=1),
        "mean_test_error": np.array([np.mean([o.error for o in model]) for model in models]),
        "mean_test_log_loss": np.array([interpolate_loss(curve, 1.0) for curve in curves])
        / weights,
        "mean_test_calibrated_log_loss": np.array(calibrated) / weights,
        "temperature": temperatures,
        "n_parameters": np.array([max(o.n_parameters for o in model) for model in models]),
    }


def classifier_params(model: list[Outcome], rank: int) -> dict[str, Any]:
    """Return the arguments of the OPGDClassifier that is fitted to all samples."""
    count = max(outcome.count for outcome in model)
    return model[0].setting.parameters(rank if count == ALL_COMPONENTS else count)


def _object_array(values: list[Any]) -> AnyArray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def log_loss_scores(models: list[list[Outcome]], temperatures: FloatArray) -> FloatArray:
    """Return the negative log-loss on each split, (n_models, n_splits)."""
    return np.array(
        [
            [-interpolate_loss(outcome.curve, temperature) / outcome.weight for outcome in model]
            for model, temperature in zip(models, temperatures, strict=True)
        ]
    )


def select_model(table: dict[str, Any], *, rule: str, calibrate: bool) -> int:
    """Return the index of the best model.

    With ``rule="best"`` models are compared by score, then by log-loss, then by their number of
    parameters; ``rule="one_se"`` selects the fewest parameters within one standard error of the
    best score.
    """
    loss_name = "mean_test_calibrated_log_loss" if calibrate else "mean_test_log_loss"
    scores, losses, sizes = table["mean_test_score"], table[loss_name], table["n_parameters"]
    if not np.any(np.isfinite(scores)):
        raise ValueError(
            "Every candidate scored NaN or infinity on at least one split; check that every split "
            "contains all classes and that `scoring` suits the problem."
        )
    scores = np.where(np.isfinite(scores), scores, -np.inf).round(12)
    best = int(np.lexsort((sizes, losses, -scores))[0])
    if rule == "best":
        return best
    n_splits = sum(name.startswith("split") for name in table)
    error = table["std_test_score"][best] / np.sqrt(n_splits - 1)
    near = scores >= scores[best] - error
    order = np.lexsort((losses, -scores, np.where(near, sizes, np.iinfo(np.intp).max)))
    return int(order[0])
