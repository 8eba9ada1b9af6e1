"""Compute everything that a report shows as plain numbers and strings, without HTML."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from opgd._utils.validation import check_integer
from opgd.core.types import FloatArray, IntArray
from opgd.inspection.cluster_columns import ClusterProfiles, profile_clusters_by_column
from opgd.inspection.comparison import MethodSummary
from opgd.inspection.estimators import (
    check_rows,
    complete_rows,
    get_column_names,
    get_group_names,
    has_classes,
    name_fitted_model,
)
from opgd.inspection.evaluation import Evaluation
from opgd.inspection.labels import encode_any
from opgd.inspection.loadings import AxisLoadings, select_largest_loadings
from opgd.inspection.pipelines import read_original_columns, unwrap_with_axes
from opgd.inspection.predicted_curves import Curves
from opgd.inspection.tables import (
    Clusters,
    ListedRow,
    PredictedRows,
    list_doubtful_labels,
    list_far_rows,
    summarize_clusters,
)
from opgd.report import words
from opgd.report.columns import Columns, describe_columns
from opgd.report.page_data import Picture, make_page_data
from opgd.report.performance import LabeledData, Performance, assess
from opgd.report.rows import get_row_names

MAX_VALUE_LENGTH = 300
USUAL = "usual"
NO_PERFORMANCE = Performance(None, None, [], 0, None, None, "")


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
    task: str  # what was fitted, on what
    findings: list[str]  # the results in words
    facts: list[tuple[str, str]]
    parameters: list[tuple[str, str]]
    shares: list[float] | None  # of the gain, by axis
    loadings: list[AxisLoadings]
    evaluation: Evaluation | None
    imbalanced: bool
    curves: Curves | None
    comparison: list[MethodSummary] | None  # with other methods, the best first
    comparison_note: str
    wrong: list[ListedRow]  # misclassified rows of the test set or the folds
    n_wrong: int
    doubtful: list[ListedRow]
    n_doubtful: int
    doubtful_held_out: bool  # whether their probabilities come from cross-validation
    far: list[ListedRow]
    n_far: int
    clusters: Clusters | None
    profiles: ClusterProfiles | None
    n_noise: int
    known_classes: list[str]  # labels that were passed with a mixture
    table: Columns
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
    check_integer("cv", cv)
    check_integer("max_rows", max_rows, 1)
    unwrapped = unwrap_with_axes(estimator)
    estimator = unwrapped.estimator
    is_mixture = not has_classes(estimator)
    _check_arguments(is_mixture, y, X_test, y_test, groups, comparison)
    table, X = X, unwrapped.encode(X)
    rows = check_rows(estimator, X, y)
    check_consistent_length(rows, groups)
    probabilities = estimator.predict_proba(X)
    performance, codes = NO_PERFORMANCE, np.full(len(rows), -1, dtype=np.intp)
    known, known_names = None, list[str]()
    if is_mixture:
        if y is not None:
            known_names, known = encode_any(y)
    else:
        train = LabeledData.make(estimator, X, y, table)
        codes = train.codes
        test = None
        if X_test is not None:
            test = LabeledData.make(estimator, unwrapped.encode(X_test), y_test, X_test)
        performance = assess(
            estimator,
            train,
            test,
            cv=cv,
            groups=groups,
            steps=unwrapped.steps,
            comparison=comparison,
        )
    predicted = _predict_groups(estimator, X, probabilities)
    names = get_row_names(table, np.arange(len(rows)))
    typicality = estimator.typicality(X)
    fitted_rows = PredictedRows(codes, probabilities, typicality, names)
    evaluated_rows = fitted_rows
    if performance.held_out is not None:
        evaluated_rows = replace(fitted_rows, probabilities=performance.held_out)
    doubtful, n_doubtful = list_doubtful_labels(evaluated_rows)
    completed = complete_rows(estimator, rows)
    originals = read_original_columns(unwrapped, table)
    clusters, profiles = None, None
    if is_mixture:
        clusters = summarize_clusters(estimator, predicted, known, len(known_names))
        profiles = profile_clusters_by_column(estimator, X, predicted, originals, unwrapped)
    picture = Picture(
        rows=completed,
        cells=rows,
        originals=originals,
        labels=None if is_mixture else codes,
        predicted=predicted,
        uncertainty=1 - probabilities.max(axis=1),
        typicality=typicality,
        known=known,
        known_names=known_names,
        names=names,
        pair=_choose_pair(performance.evaluation),
    )
    evaluation = performance.evaluation
    name = type(estimator).__name__
    group_names, columns = get_group_names(estimator), get_column_names(estimator)
    target = getattr(y, "name", None)
    target = None if target is None else str(target)
    described = describe_columns(unwrapped, rows, columns, originals)
    loadings = select_largest_loadings(estimator, completed)
    shares = _to_floats(getattr(estimator, "component_shares_", None))
    n_noise = int(np.sum(predicted < 0))
    findings = _list_findings(performance, profiles, n_noise)
    findings.append(words.describe_axes(loadings, columns, shares or []))
    return Summary(
        title=_make_title(title, target, group_names, is_mixture),
        estimator=name,
        model=name_fitted_model(estimator),
        is_mixture=is_mixture,
        n_rows=len(rows),
        n_features=rows.shape[1],
        n_axes=len(estimator.components_),
        groups=group_names,
        columns=columns,
        task=words.describe_task(target, group_names, is_mixture, len(rows), described.n_columns),
        findings=findings,
        facts=_list_facts(estimator),
        parameters=[
            (key, _format_value(value)) for key, value in estimator.get_params(False).items()
        ],
        shares=shares,
        loadings=loadings,
        evaluation=evaluation,
        imbalanced=evaluation is not None and words.is_imbalanced(evaluation),
        curves=performance.curves,
        comparison=performance.methods,
        comparison_note=performance.methods_note,
        wrong=performance.wrong,
        n_wrong=performance.n_wrong,
        doubtful=doubtful,
        n_doubtful=n_doubtful,
        doubtful_held_out=performance.held_out is not None,
        far=list_far_rows(fitted_rows),
        n_far=int(np.sum(typicality * len(rows) < 1)),
        clusters=clusters,
        profiles=profiles,
        n_noise=n_noise,
        known_classes=known_names,
        table=described,
        page=make_page_data(estimator, picture, max_rows),
    )


def _check_arguments(
    is_mixture: bool, y: Any, X_test: Any, y_test: Any, groups: Any, comparison: Any
) -> None:
    if isinstance(comparison, str) and comparison != USUAL:
        raise ValueError(
            f"comparison must be 'usual', a result of opgd.compare or None, got {comparison!r}."
        )
    if is_mixture and not isinstance(comparison, str | None):
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


def _predict_groups(estimator: Any, X: Any, probabilities: FloatArray) -> IntArray:
    """Return the most probable class of each row, or its cluster, -1 for noise."""
    if has_classes(estimator):
        return np.argmax(probabilities, axis=1)
    return np.asarray(estimator.predict(X), dtype=np.intp)


def _choose_pair(evaluation: Evaluation | None) -> tuple[int, int]:
    """Return the two classes that are confused most often, the first two without errors."""
    if evaluation is None:
        return 0, 1
    wrong = evaluation.confusion + evaluation.confusion.T
    np.fill_diagonal(wrong, 0)
    first, second = divmod(int(np.argmax(wrong)), len(wrong))
    return (first, second) if wrong.any() else (0, 1)


def _make_title(title: str | None, target: str | None, groups: list[str], is_mixture: bool) -> str:
    if title is not None:
        return str(title)
    if is_mixture:
        return f"Report on {words.count(len(groups), 'cluster')}"
    if target is None:
        return f"Report on {words.count(len(groups), 'class')}: {words.list_some(groups, 4)}"
    return f"Prediction of {target}"


def _list_findings(
    performance: Performance, profiles: ClusterProfiles | None, n_noise: int
) -> list[str]:
    if profiles is not None:
        return words.describe_clusters(profiles, n_noise)
    if performance.evaluation is None:
        return []
    sentences = words.describe_performance(performance.evaluation)
    if performance.methods:
        compared = words.describe_comparison(performance.methods)
        sentences += [compared] if compared else []
    elif performance.methods_note:  # why there are none
        sentences.append(performance.methods_note)
    return sentences


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


def _to_floats(values: Any) -> list[float] | None:
    return None if values is None else [float(value) for value in values]


def _format_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + "…"
