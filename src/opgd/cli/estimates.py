"""The training rows in numbers, and the error on rows left out: notes for the model file."""

from typing import Any


def training_notes(
    fitted: Any, target: str, y: Any, n_left_out: int = 0, groups: str | None = None
) -> dict[str, Any]:
    """The training rows in numbers, for the model file; `groups` is a column, if there is one."""
    counts = [int((y == label).sum()) for label in fitted.classes_]
    return {
        "target": target,
        **({} if groups is None else {"groups": groups}),
        "rows": len(y),
        "rows_left_out": n_left_out,
        "class_counts": counts,
        "largest_class_error": 1 - max(counts) / len(y),
    }


def chosen_error(estimator: Any, grouped: bool = False) -> dict[str, Any]:
    """The error of the chosen settings on rows left out of the search."""
    table, best = estimator.cv_results_, estimator.best_index_
    together = " of groups" if grouped else ""
    return {
        "error": float(table["mean_test_error"][best]),
        "log_loss": float(table["mean_test_calibrated_log_loss"][best]),
        "estimated_by": f"the cross-validation that chose the settings ({estimator.n_splits_} "
        f"splits{together}), so a little optimistic",
    }


def left_out_error(estimator: Any, training: Any, cv: int | float) -> dict[str, Any]:
    """The error of copies fitted to the other folds, where that is quick; else of training rows."""
    from opgd.inspection.cross_validation import predict_held_out as left_out_probabilities
    from opgd.inspection.evaluation import evaluate
    from opgd.inspection.labels import encode_classes as class_codes

    codes = class_codes(estimator, training.y)
    rows = training.X.to_numpy()
    n_folds = cv if isinstance(cv, int) and training.weights is None else 0
    probabilities, how = left_out_probabilities(
        estimator, rows, training.y, codes, n_folds, training.groups
    )
    if probabilities is None:
        reason = f": {how}" if n_folds else ""
        probabilities = estimator.predict_proba(training.X)
        how = f"the training rows themselves{reason}"
    found = evaluate(probabilities, codes, "", how)
    return {"error": found.error, "log_loss": found.log_loss, "estimated_by": how}
