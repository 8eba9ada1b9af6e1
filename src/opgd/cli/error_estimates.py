"""Error estimates, and the notes on training rows that a model file holds."""

from typing import Any


def summarize_training(
    estimator: Any, target: str, y: Any, n_left_out: int = 0, groups: str | None = None
) -> dict[str, Any]:
    """Return notes on the training rows; `groups` is a column, if there is one."""
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
    """Return the error of the selected settings on held-out rows of the search."""
    table, best = estimator.cv_results_, estimator.best_index_
    of_groups = " of groups" if grouped else ""
    return {
        "error": float(table["mean_test_error"][best]),
        "log_loss": float(table["mean_test_calibrated_log_loss"][best]),
        "estimated_by": f"the cross-validation that chose the settings ({estimator.n_splits_} "
        f"splits{of_groups}), so a little optimistic",
    }


def estimate_error(estimator: Any, training: Any, cv: int | float) -> dict[str, Any]:
    """Return the cross-validated error where that is quick, else the error of training rows."""
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
        how = f"the training rows themselves{reason}"
    evaluation = evaluate(probabilities, codes, "", how)
    return {"error": evaluation.error, "log_loss": evaluation.log_loss, "estimated_by": how}
