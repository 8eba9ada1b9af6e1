"""From outcomes on splits to a table of models, and from the table to the one to take."""

from typing import Any

import numpy as np

from opgd._model_selection.calibration import best_temperature, loss_at
from opgd._model_selection.path import ALL_AXES, Outcome
from opgd.core.types import AnyArray, FloatArray


def aligned(paths: list[list[Outcome]]) -> list[list[Outcome]]:
    """The models of a setting, each with one outcome a split, from the path of every split.

    Paths end early where a split has nothing to gain from more axes; there its last model stands
    for the longer ones of the other splits.
    """
    models = []
    for count in sorted({own.count for path in paths for own in path}):
        reached = [[own for own in path if own.count <= count] for path in paths]
        if all(reached):
            models.append([path[-1] for path in reached])
    return models


def tabulate(
    models: list[list[Outcome]], *, rank: int, by_log_loss: bool, calibrate: bool
) -> dict[str, Any]:
    """The models as a dict of arrays, like GridSearchCV's.

    Parameters
    ----------
    models : the outcomes of each model, in the order of the splits
    rank : number of dimensions in which all rows differ: the axes of models that take all
    by_log_loss : the score is minus the log-loss, of calibrated probabilities if `calibrate`
    """
    curves = np.array([np.sum([own.curve for own in model], axis=0) for model in models])
    weights = np.array([sum(own.weight for own in model) for model in models])
    temperatures = np.array([best_temperature(curve) for curve in curves])
    calibrated = [loss_at(*own) for own in zip(curves, temperatures, strict=True)]
    scores = np.array([[own.score for own in model] for model in models])
    if by_log_loss:
        scores = log_loss_scores(models, temperatures if calibrate else np.ones(len(models)))
    means = scores.mean(axis=1)
    order = np.where(np.isfinite(means), means, -np.inf).round(12)
    params = [parameters(model, rank) for model in models]
    names = dict.fromkeys(name for own in params for name in own)
    return {
        "params": params,
        **{f"param_{name}": _objects([own.get(name) for own in params]) for name in names},
        **{f"split{i}_test_score": own for i, own in enumerate(scores.T)},
        "mean_test_score": means,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": 1 + np.sum(order[:, None] < order, axis=1),
        "mean_test_error": np.array([np.mean([own.error for own in m]) for m in models]),
        "mean_test_log_loss": np.array([loss_at(curve, 1.0) for curve in curves]) / weights,
        "mean_test_calibrated_log_loss": np.array(calibrated) / weights,
        "temperature": temperatures,
        "n_parameters": np.array([max(own.n_parameters for own in m) for m in models]),
    }


def parameters(model: list[Outcome], rank: int) -> dict[str, Any]:
    """Arguments of the OPGDClassifier to be fitted to all rows."""
    count = max(own.count for own in model)
    return model[0].setting.parameters(rank if count == ALL_AXES else count)


def _objects(values: list[Any]) -> AnyArray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def log_loss_scores(models: list[list[Outcome]], temperatures: FloatArray) -> FloatArray:
    """Minus the log-loss on each split, (n_models, n_splits)."""
    return np.array(
        [
            [-loss_at(own.curve, temperature) / own.weight for own in model]
            for model, temperature in zip(models, temperatures, strict=True)
        ]
    )


def choose(table: dict[str, Any], *, rule: str, calibrate: bool) -> int:
    """Score, then log-loss, then size; or the smallest within one standard error."""
    kind = "mean_test_calibrated_log_loss" if calibrate else "mean_test_log_loss"
    scores, losses, sizes = table["mean_test_score"], table[kind], table["n_parameters"]
    if not np.any(np.isfinite(scores)):
        raise ValueError("No model could be scored on all splits; check scoring and cv.")
    scores = np.where(np.isfinite(scores), scores, -np.inf).round(12)
    best = int(np.lexsort((sizes, losses, -scores))[0])
    if rule == "best":
        return best
    n_splits = sum(name.startswith("split") for name in table)
    error = table["std_test_score"][best] / np.sqrt(n_splits - 1)
    near = scores >= scores[best] - error
    order = np.lexsort((losses, -scores, np.where(near, sizes, np.iinfo(np.intp).max)))
    return int(order[0])
