"""Table of cross-validation results."""

from typing import Any

import numpy as np

from opgd._model_selection.folds import ALL_COMPONENTS, limit_numbers
from opgd._model_selection.names import name_model
from opgd._model_selection.path import Setting
from opgd._model_selection.ranking import Model, Ranking
from opgd.core.calibration import TEMPERATURES, make_shares
from opgd.core.types import AnyArray, FloatArray


def tabulate(
    models: list[Model],
    *,
    classes: AnyArray,
    counts: FloatArray,
    rank: int,
    n_total: float,
    ranking: Ranking,
) -> dict[str, Any]:
    """Return the results of all models as a dict of arrays, like `GridSearchCV.cv_results_`.

    Parameters
    ----------
    models : list of Model
    classes, counts : labels and numbers of samples of the classes
    rank : int
        Rank of the centered samples: the number of components of models that use all of them.
    n_total : float
        Number of held-out samples of all splits.
    ranking : Ranking
        Computes the scores.
    """
    scores = np.array([ranking.split_scores(model) for model in models])
    means = scores.mean(axis=1)
    order = np.where(np.isfinite(means), means, -np.inf).round(12)
    params = [classifier_params(model, rank, classes, counts) for model in models]
    names = dict.fromkeys(name for values in params for name in values)
    return {
        "params": params,
        "model": _object_array([name_model(values, rank, len(classes)) for values in params]),
        **{
            f"param_{name}": _object_array([values.get(name) for values in params])
            for name in names
        },
        **{f"split{i}_test_score": column for i, column in enumerate(scores.T)},
        "mean_test_score": means,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": 1 + np.sum(order[:, None] < order, axis=1),
        "mean_test_error": np.array([model.error for model in models]),
        "se_test_error": np.array([_standard_error(model.split_errors) for model in models]),
        "mean_test_log_loss": np.array([model.raw_loss for model in models]),
        "mean_test_calibrated_log_loss": np.array([model.loss for model in models]),
        "se_test_log_loss": np.array(
            [_standard_error(m.split_losses(calibrate=ranking.calibrate)) for m in models]
        ),
        "temperature": np.array([TEMPERATURES[model.calibration[0]] for model in models]),
        "background": np.array([make_shares(n_total)[model.calibration[1]] for model in models]),
        "n_gaussians": np.array([model.n_gaussians for model in models]),
        "n_parameters": np.array([model.n_parameters for model in models]),
    }


def classifier_params(
    model: Model, rank: int, classes: AnyArray, counts: FloatArray
) -> dict[str, Any]:
    """Return the arguments of the OPGDClassifier that is fitted to all samples."""
    setting = model.setting
    if setting.n_features is not None:
        rank = min(rank, setting.n_features)
    arguments = {
        "n_components": rank if model.count == ALL_COMPONENTS else model.count,
        "n_subclasses": _number_by_class(setting, classes, counts),
        "covariance_type": setting.covariance_type,
        "shrinkage": setting.shrinkage,
        "ridge": setting.ridge,
    }
    if setting.n_features is not None:
        arguments["sparsity"] = setting.n_features
    return arguments if setting.end is None else arguments | {"init": "lda", "max_iter": 0}


def _number_by_class(setting: Setting, classes: AnyArray, counts: FloatArray) -> Any:
    """Return the number of Gaussians per class, as a dict if small classes have fewer."""
    if not setting.limited:
        return setting.n_subclasses
    numbers = limit_numbers(setting, classes, counts).tolist()
    labels = classes.tolist()
    return numbers[0] if len(set(numbers)) == 1 else dict(zip(labels, numbers, strict=True))


def _standard_error(values: FloatArray) -> float:
    """Return the standard error of the mean over splits, or nan with a single split."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _object_array(values: list[Any]) -> AnyArray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
