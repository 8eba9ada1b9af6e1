"""Error estimates and the training summary that are stored in a model file."""

from typing import Any

import numpy as np


def summarize_training(
    estimator: Any, target: str, y: Any, n_left_out: int = 0, groups: str | None = None
) -> dict[str, Any]:
    """Return a summary of the training rows; `groups` is the name of the group column, if any."""
    counts = [int((y == label).sum()) for label in estimator.classes_]
    return {
        "target": target,
        **({} if groups is None else {"groups": groups}),
        "rows": len(y),
        "rows_left_out": n_left_out,
        "class_counts": counts,
        "largest_class_error": 1 - max(counts) / len(y),
    }


def get_search_error(
    estimator: Any, y: Any, weights: Any = None, *, grouped: bool = False
) -> dict[str, Any]:
    """Return the cross-validation error of the settings that the search has selected.

    It is weighted if there are weights of rows or classes, and so is the error of always predicting
    the largest class.
    """
    table, best = estimator.cv_results_, estimator.best_index_
    by_group = " by group" if grouped else ""
    weighted = weights is not None or estimator.class_weight is not None
    return {
        "largest_class_error": _get_largest_class_error(estimator, y, weights),
        "error": float(estimator.corrected_error_),
        "log_loss": float(table["mean_test_calibrated_log_loss"][best]),
        "estimated_by": f"the cross-validation that selected the settings ({estimator.n_splits_} "
        f"splits{by_group}), corrected for the selection",
        "weighted": weighted,
    }


def _get_largest_class_error(estimator: Any, y: Any, weights: Any) -> float:
    """Return the weighted error of always predicting the class with the largest weight."""
    from opgd._utils.validation import check_class_weight

    codes = np.searchsorted(estimator.classes_, y)
    counts = np.bincount(codes, weights, len(estimator.classes_)).astype(np.float64)
    factors = check_class_weight(estimator.class_weight, estimator.classes_, counts)
    counts *= 1.0 if factors is None else factors
    return float(1 - counts.max() / counts.sum())


def estimate_error(estimator: Any, training: Any, cv: int | float) -> dict[str, Any]:
    """Return the cross-validation error if the table is small enough, else the training error."""
    from opgd.inspection.cross_validation import predict_held_out
    from opgd.inspection.evaluation import evaluate
    from opgd.inspection.labels import encode_classes

    codes = encode_classes(estimator, training.y)
    rows = training.X.to_numpy()
    n_folds = cv if isinstance(cv, int) and training.weights is None else 0
    probabilities, how = predict_held_out(
        estimator, rows, training.y, codes, n_folds, training.groups
    )
    if probabilities is None:
        reason = f": {how}" if n_folds else ""
        probabilities = estimator.predict_proba(training.X)
        how = f"the training rows{reason}"
    evaluation = evaluate(probabilities, codes, "", how)
    return {"error": evaluation.error, "log_loss": evaluation.log_loss, "estimated_by": how}
