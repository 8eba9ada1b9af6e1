"""Compute everything that a report shows as plain numbers and strings, without HTML."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from opgd._utils.validation import check_integer
from opgd.inspection.cluster_columns import ClusterProfiles, profile_clusters_by_column
from opgd.inspection.comparison import MethodSummary
from opgd.inspection.estimators import (
    get_column_names,
    get_group_names,
    has_classes,
    name_fitted_model,
)
from opgd.inspection.evaluation import Evaluation
from opgd.inspection.loadings import AxisLoadings, select_largest_loadings
from opgd.inspection.pipelines import unwrap_with_axes
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
from opgd.report.facts import list_facts, list_parameters, list_shares
from opgd.report.page_data import make_page_data
from opgd.report.performance import LabeledData, Performance, assess
from opgd.report.picture import make_picture

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
    picture = make_picture(unwrapped, table, X, y)
    check_consistent_length(picture.rows, groups)
    codes, performance = np.full(len(picture.rows), -1, dtype=np.intp), NO_PERFORMANCE
    if picture.labels is not None:
        codes, test = picture.labels, None
        if X_test is not None:
            test = LabeledData.make(estimator, unwrapped.encode(X_test), y_test, X_test)
        performance = assess(
            estimator,
            LabeledData.make(estimator, X, y, table),
            test,
            cv=cv,
            groups=groups,
            steps=unwrapped.steps,
            comparison=comparison,
        )
    fitted_rows = PredictedRows(codes, picture.probabilities, picture.typicality, picture.names)
    evaluated_rows = fitted_rows
    if performance.held_out is not None:
        evaluated_rows = replace(fitted_rows, probabilities=performance.held_out)
    doubtful, n_doubtful = list_doubtful_labels(evaluated_rows)
    clusters, profiles = None, None
    if is_mixture:
        known = picture.known, len(picture.known_names)
        clusters = summarize_clusters(estimator, picture.predicted, *known)
        profiles = profile_clusters_by_column(
            estimator, X, picture.predicted, picture.originals, unwrapped
        )
    evaluation = performance.evaluation
    picture = replace(picture, pair=_choose_pair(evaluation))
    group_names, columns = get_group_names(estimator), get_column_names(estimator)
    target = None if getattr(y, "name", None) is None else str(y.name)
    described = describe_columns(unwrapped, picture.cells, columns, picture.originals)
    loadings = select_largest_loadings(estimator, picture.rows)
    shares = list_shares(estimator)
    n_noise = int(np.sum(picture.predicted < 0))
    n_rows, n_features = picture.rows.shape
    corrected = getattr(estimator, "corrected_error_", None)
    findings = _list_findings(performance, profiles, n_noise, corrected)
    findings.append(words.describe_axes(loadings, columns, shares or []))
    return Summary(
        title=_make_title(title, target, group_names, is_mixture),
        estimator=type(estimator).__name__,
        model=name_fitted_model(estimator),
        is_mixture=is_mixture,
        n_rows=n_rows,
        n_features=n_features,
        n_axes=len(estimator.components_),
        groups=group_names,
        columns=columns,
        task=words.describe_task(
            target, group_names, is_mixture, n_rows, described.n_columns, described.n_used
        ),
        findings=findings,
        facts=list_facts(estimator),
        parameters=list_parameters(estimator),
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
        n_far=int(np.sum(picture.typicality * n_rows < 1)),
        clusters=clusters,
        profiles=profiles,
        n_noise=n_noise,
        known_classes=picture.known_names,
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
    performance: Performance,
    profiles: ClusterProfiles | None,
    n_noise: int,
    corrected_error: float | None,
) -> list[str]:
    if profiles is not None:
        return words.describe_clusters(profiles, n_noise)
    if performance.evaluation is None:
        return []
    sentences = words.describe_performance(performance.evaluation, corrected_error)
    if performance.methods:
        compared = words.describe_comparison(performance.methods)
        sentences += [compared] if compared else []
    elif performance.methods_note:  # why there are none
        sentences.append(performance.methods_note)
    return sentences
