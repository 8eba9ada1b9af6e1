"""Error estimates and the training summary that are stored in a model file."""

from typing import Any


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


def get_search_error(estimator: Any, grouped: bool = False) -> dict[str, Any]:
    """Return the cross-validation error of the settings that the search has selected."""
    table, best = estimator.cv_results_, estimator.best_index_
    by_group = " by group" if grouped else ""
    return {
        "error": float(estimator.corrected_error_),
        "log_loss": float(table["mean_test_calibrated_log_loss"][best]),
        "estimated_by": f"the cross-validation that selected the settings ({estimator.n_splits_} "
        f"splits{by_group}), corrected for the selection",
    }


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
