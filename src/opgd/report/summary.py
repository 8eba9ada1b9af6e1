"""Compute everything that a report shows as plain numbers and strings, without HTML."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from opgd._utils.labels import to_label_array
from opgd._utils.validation import check_integer
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.comparison import MethodSummary, summarize_methods
from opgd.inspection.cross_validation import predict_held_out
from opgd.inspection.estimators import (
    check_rows,
    complete_rows,
    get_column_names,
    get_group_names,
    has_classes,
    name_fitted_model,
)
from opgd.inspection.evaluation import Evaluation, evaluate
from opgd.inspection.labels import encode_any, encode_classes
from opgd.inspection.loadings import AxisLoadings, select_largest_loadings
from opgd.inspection.pipelines import Unwrapped, read_original_columns, unwrap_with_axes
from opgd.inspection.tables import (
    Clusters,
    ListedRow,
    PredictedRows,
    list_doubtful_labels,
    list_far_rows,
    summarize_clusters,
)
from opgd.report.page_data import Picture, make_page_data
from opgd.report.rows import get_row_names

MAX_VALUE_LENGTH = 300


@dataclass(frozen=True)
class Summary:
    """Contents of a report."""

    title: str
    estimator: str
    model: str  # by the name it has in the literature
    is_mixture: bool
    n_rows: int
    n_features: int
    n_axes: int
    groups: list[str]  # names of classes or clusters
    columns: list[str]
    facts: list[tuple[str, str]]
    parameters: list[tuple[str, str]]
    shares: list[float] | None  # of the gain, by axis
    loadings: list[AxisLoadings]
    evaluation: Evaluation | None
    comparison: list[MethodSummary] | None  # with other methods, the best first
    doubtful: list[ListedRow]
    n_doubtful: int
    doubtful_held_out: bool  # whether their probabilities come from cross-validation
    far: list[ListedRow]
    clusters: Clusters | None
    known_classes: list[str]  # labels that were passed with a mixture
    table: list[tuple[str, str, str, str]]  # how a table encoder encoded each column
    page: dict[str, Any]  # plain data for the scripts


def summarize(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    title: str | None = None,
    X_test: Any = None,
    y_test: Any = None,
    cv: int = 5,
    groups: Any = None,
    max_rows: int = 50_000,
    comparison: Any = None,
) -> Summary:
    """Return the contents of a report; `write_report` documents the parameters."""
    unwrapped = unwrap_with_axes(estimator)
    estimator = unwrapped.estimator
    table, X = X, unwrapped.encode(X)
    X_test = unwrapped.encode(X_test)
    check_integer("cv", cv)
    check_integer("max_rows", max_rows, 1)
    is_mixture = not has_classes(estimator)
    _check_arguments(is_mixture, y, X_test, y_test, groups, comparison)
    rows = check_rows(estimator, X, y)
    check_consistent_length(rows, groups)
    probabilities = estimator.predict_proba(X)
    known, known_names = None, list[str]()
    evaluation, held_out = None, None
    if not is_mixture:
        labels = encode_classes(estimator, y)
        evaluation, held_out = _evaluate(
            estimator,
            rows,
            y,
            labels,
            probabilities,
            (X_test, y_test),
            cv,
            groups,
            None if unwrapped.steps is None else (unwrapped.steps, table),
        )
    else:
        labels = np.full(len(rows), -1, dtype=np.intp)
        if y is not None:
            known_names, known = encode_any(y)
    typicality = estimator.typicality(X)
    names = get_row_names(table, np.arange(len(rows)))
    fitted_rows = PredictedRows(labels, probabilities, typicality, names)
    evaluated_rows = fitted_rows
    if held_out is not None:
        evaluated_rows = replace(fitted_rows, probabilities=held_out)
    doubtful, n_doubtful = list_doubtful_labels(evaluated_rows)
    predicted = np.argmax(probabilities, axis=1)
    clusters = None
    if is_mixture:
        clusters = summarize_clusters(estimator, predicted, known, len(known_names))
    completed = complete_rows(estimator, rows)
    picture = Picture(
        rows=completed,
        cells=rows,
        originals=read_original_columns(unwrapped, table),
        labels=None if is_mixture else labels,
        predicted=predicted,
        uncertainty=1 - probabilities.max(axis=1),
        typicality=typicality,
        known=known,
        known_names=known_names,
        names=names,
    )
    name = type(estimator).__name__
    return Summary(
        title=f"Report on {name}" if title is None else str(title),
        estimator=name,
        model=name_fitted_model(estimator),
        is_mixture=is_mixture,
        n_rows=len(rows),
        n_features=rows.shape[1],
        n_axes=len(estimator.components_),
        groups=get_group_names(estimator),
        columns=get_column_names(estimator),
        facts=_list_facts(estimator) + _list_missing(unwrapped, rows),
        parameters=[
            (key, _format_value(value)) for key, value in estimator.get_params(False).items()
        ],
        shares=_to_floats(getattr(estimator, "component_shares_", None)),
        loadings=select_largest_loadings(estimator, completed),
        evaluation=evaluation,
        comparison=None if comparison is None else summarize_methods(comparison),
        doubtful=doubtful,
        n_doubtful=n_doubtful,
        doubtful_held_out=held_out is not None,
        far=list_far_rows(fitted_rows),
        clusters=clusters,
        known_classes=known_names,
        table=_list_columns(unwrapped),
        page=make_page_data(estimator, picture, max_rows),
    )


def _check_arguments(
    is_mixture: bool, y: Any, X_test: Any, y_test: Any, groups: Any, comparison: Any
) -> None:
    if is_mixture and comparison is not None:
        raise ValueError("comparison applies to classifiers only, got a mixture model.")
    if is_mixture and groups is not None:
        raise ValueError("groups applies to classifiers only; a mixture is not cross-validated.")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test must be passed together.")
    if is_mixture and X_test is not None:
        raise ValueError(
            "X_test and y_test can be passed only for classifiers, got a mixture model."
        )
    if not is_mixture and y is None:
        raise ValueError("A report on a classifier needs y, the labels of X.")


def _evaluate(
    estimator: Any,
    rows: AnyArray,
    y: Any,
    labels: IntArray,
    probabilities: FloatArray,
    test: tuple[Any, Any],
    cv: int,
    groups: Any,
    table: tuple[Any, Any] | None,
) -> tuple[Evaluation | None, FloatArray | None]:
    """Evaluate on the test set if there is one, else by cross-validation or on the training set.

    Returns the evaluation, None without any label, and the held-out probabilities, None unless
    cross-validation was used.
    """
    X_test, y_test = test
    if X_test is not None:
        test_labels = to_label_array(y_test)
        check_consistent_length(check_rows(estimator, X_test), test_labels)
        codes = encode_classes(estimator, test_labels)
        note = "test rows"
        return evaluate(estimator.predict_proba(X_test), codes, "test", note), None
    group_codes = None if groups is None else _encode_groups(groups)
    held_out, how = predict_held_out(
        estimator, rows, to_label_array(y), labels, cv, group_codes, table
    )
    labeled = labels >= 0
    if not labeled.any():
        return None, None
    if held_out is not None:
        return evaluate(held_out[labeled], labels[labeled], "cv", how), held_out
    return evaluate(probabilities[labeled], labels[labeled], "training", how), None


def _encode_groups(groups: Any) -> IntArray:
    codes = encode_any(groups)[1]
    if np.any(codes < 0):
        raise ValueError("groups has missing values; every sample needs a group.")
    return codes


def _list_facts(estimator: Any) -> list[tuple[str, str]]:
    """Return names and values that describe the fit."""
    facts = []
    if hasattr(estimator, "converged_"):
        outcome = "converged" if estimator.converged_ else "not converged"
        facts.append(("Optimization", f"{outcome} after {estimator.n_iter_} iterations"))
    if hasattr(estimator, "log_likelihood_"):
        facts.append(("Log-likelihood", f"{estimator.log_likelihood_:.6g}"))
    if hasattr(estimator, "best_params_"):
        settings = ", ".join(f"{key}={value}" for key, value in estimator.best_params_.items())
        facts.append(("Selected parameters", settings[:MAX_VALUE_LENGTH]))
        scoring = estimator.scoring
        scorer = f" ({scoring})" if isinstance(scoring, str) else ""
        facts.append((f"Cross-validation score{scorer}", f"{estimator.best_score_:.3f}"))
        selection = estimator.summary_
        facts.append(("Error corrected for the selection", f"{selection.corrected_error:.3f}"))
        facts.append(("Fewer components", selection.trade_off))
        facts.append(("Calibration temperature", f"{estimator.temperature_:.2f}"))
        facts.append(("Share of the priors", f"{estimator.background_:.2%}"))
    return facts


def _list_columns(unwrapped: Unwrapped) -> list[tuple[str, str, str, str]]:
    """Return name, kind, encoding and number of missing cells of the columns of the table."""
    if unwrapped.table is None:
        return []
    return [
        (entry.column, entry.kind, entry.action, str(entry.n_missing or ""))
        for entry in unwrapped.table
    ]


def _list_missing(unwrapped: Unwrapped, cells: AnyArray) -> list[tuple[str, str]]:
    """Return how many cells of the table were missing, and how they were treated."""
    n_missing, n_cells = int(np.isnan(cells).sum()), cells.size
    treatment = "the model averages over their possible values"
    if not n_missing:
        treatment = "filled before the fit"
    if unwrapped.table is not None:
        n_missing = unwrapped.table.n_missing
        n_cells = unwrapped.table.n_rows * sum(1 for entry in unwrapped.table if entry.outputs)
    if not n_missing:
        return [("Missing cells", "none")]
    share = f"{n_missing:,} of {n_cells:,} ({n_missing / n_cells:.1%})"
    return [("Missing cells", f"{share}; {treatment}")]


def _to_floats(values: Any) -> list[float] | None:
    return None if values is None else [float(value) for value in values]


def _format_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + "…"
