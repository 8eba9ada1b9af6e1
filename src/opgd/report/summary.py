"""Compute everything that a report shows as plain numbers and strings, without HTML."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from opgd._utils.validation import check_integer
from opgd.inspection.cluster_columns import ClusterProfiles, profile_clusters_by_column
from opgd.inspection.cluster_quality import ClusterQuality, assess_clusters
from opgd.inspection.estimators import (
    get_column_names,
    get_group_names,
    has_classes,
    name_fitted_model,
    standardize_rows,
)
from opgd.inspection.evaluation import Evaluation
from opgd.inspection.followed_columns import FollowedColumn, find_followed_column
from opgd.inspection.loadings import (
    AxisLoadings,
    CorrelatedPair,
    find_correlated_pairs,
    select_largest_loadings,
)
from opgd.inspection.pipelines import Unwrapped, unwrap_with_axes
from opgd.inspection.tables import (
    Clusters,
    ListedRow,
    PredictedRows,
    list_doubtful_labels,
    list_far_rows,
    summarize_clusters,
)
from opgd.report import cluster_words, words
from opgd.report.columns import Columns, describe_columns
from opgd.report.facts import list_facts, list_parameters, list_shares
from opgd.report.page_data import make_page_data
from opgd.report.performance import LabeledData, Performance, assess
from opgd.report.picture import Picture, check_in_memory, make_picture
from opgd.report.used_columns import UsedColumns, describe_used_columns

USUAL = "usual"
NO_PERFORMANCE = Performance(None, None, [], 0, None, None, "", "")


@dataclass(frozen=True)
class Fit:
    """How the model was fitted, and its axes."""

    estimator: str
    model: str  # by the name it has in the literature
    facts: list[tuple[str, str]]
    parameters: list[tuple[str, str]]
    shares: list[float] | None  # of the gain, by axis
    loadings: list[AxisLoadings]
    pairs: list[CorrelatedPair]  # of columns in the loadings


@dataclass(frozen=True)
class Clustering:
    """Clusters of a mixture, and labels that were passed with it."""

    clusters: Clusters
    profiles: ClusterProfiles
    n_noise: int
    known_classes: list[str]
    followed: FollowedColumn | None  # a column that the clusters reproduce
    quality: ClusterQuality | None


@dataclass(frozen=True)
class Checks:
    """Rows to check besides the misclassified ones."""

    doubtful: list[ListedRow]  # possible label errors, without rows of missed classes
    n_doubtful: int
    unlisted: str  # why rows of missed classes are not listed, or ""
    far: list[ListedRow]  # outliers
    n_far: int


@dataclass(frozen=True)
class Summary:
    """Contents of a report."""

    title: str
    task: str  # what was fitted, on what
    findings: list[str]  # the results in words
    is_mixture: bool
    n_rows: int
    n_features: int
    n_axes: int
    groups: list[str]  # names of classes or clusters
    columns: list[str]
    row_names: list[str] | None  # None for positions
    fit: Fit
    performance: Performance
    checks: Checks
    clustering: Clustering | None
    used_columns: UsedColumns | None  # of a sparse model
    table: Columns
    page: dict[str, Any]  # plain data for the scripts

    @property
    def evaluation(self) -> Evaluation | None:
        """Performance on held-out rows, None for a mixture."""
        return self.performance.evaluation

    @property
    def far(self) -> list[ListedRow]:
        """Outliers, the farthest first."""
        return self.checks.far


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
    check_in_memory(X=X, y=y, X_test=X_test, y_test=y_test, groups=groups)
    unwrapped = unwrap_with_axes(estimator)
    model = unwrapped.estimator
    _check_arguments(not has_classes(model), y, X_test, y_test, groups, comparison)
    features = unwrapped.encode(X)
    picture = make_picture(unwrapped, X, features, y)
    check_consistent_length(picture.rows, groups)
    performance, clustering = NO_PERFORMANCE, None
    if has_classes(model):
        train = LabeledData.make(model, features, y, X)
        test = None
        if X_test is not None:
            test = LabeledData.make(model, unwrapped.encode(X_test), y_test, X_test)
        performance = assess(
            model, train, test, cv=cv, groups=groups, steps=unwrapped.steps, comparison=comparison
        )
    else:
        clustering = _summarize_clustering(unwrapped, features, picture)
    drawn = picture = picture.predict_from(performance.held_out)
    if X_test is not None:
        drawn = picture.append_test(
            make_picture(unwrapped, X_test, unwrapped.encode(X_test), y_test)
        )
    page = make_page_data(model, drawn, max_rows)
    target = None if getattr(y, "name", None) is None else str(y.name)
    return _compose(unwrapped, picture, performance, clustering, target, title, page)


def _compose(
    unwrapped: Unwrapped,
    picture: Picture,
    performance: Performance,
    clustering: Clustering | None,
    target: str | None,
    title: str | None,
    page: dict[str, Any],
) -> Summary:
    """Return the summary of predicted and evaluated rows."""
    model = unwrapped.estimator
    group_names, columns = get_group_names(model), get_column_names(model)
    table = describe_columns(unwrapped, picture.cells, columns, picture.originals)
    fit = _summarize_fit(model, picture)
    if clustering is not None:
        findings = _describe_clustering(clustering)
    else:
        findings = _describe_performance(performance, model, group_names)
    used_columns = describe_used_columns(unwrapped)
    if used_columns is not None:
        findings.append(" ".join(used_columns.sentences[:2]))
    findings.append(words.describe_axes(fit.loadings, columns, fit.shares or [], fit.pairs))
    n_rows, n_features = picture.rows.shape
    is_mixture = clustering is not None
    task = words.describe_task(
        target, group_names, is_mixture, n_rows, table.n_columns, table.n_used
    )
    return Summary(
        title=_make_title(title, target, group_names, is_mixture),
        task=task,
        findings=findings,
        is_mixture=is_mixture,
        n_rows=n_rows,
        n_features=n_features,
        n_axes=len(model.components_),
        groups=group_names,
        columns=columns,
        row_names=picture.names,
        fit=fit,
        performance=performance,
        checks=_list_checks(picture, performance.evaluation, group_names),
        clustering=clustering,
        used_columns=used_columns,
        table=table,
        page=page,
    )


def _summarize_fit(model: Any, picture: Picture) -> Fit:
    loadings = select_largest_loadings(model, picture.rows)
    columns = sorted({column for axis in loadings for column in axis.list_large()})
    return Fit(
        estimator=type(model).__name__,
        model=name_fitted_model(model),
        facts=list_facts(model),
        parameters=list_parameters(model),
        shares=list_shares(model),
        loadings=loadings,
        pairs=find_correlated_pairs(picture.rows, columns, picture.groups),
    )


def _summarize_clustering(unwrapped: Unwrapped, features: Any, picture: Picture) -> Clustering:
    """Summarize clusters; known classes are in the order of the clusters that have most of them."""
    mixture, predicted, names = unwrapped.estimator, picture.predicted, picture.known_names
    clusters = summarize_clusters(mixture, predicted, picture.known, len(names))
    if clusters.known is not None:
        order = np.argsort(clusters.known.argmax(axis=1), kind="stable")
        clusters = replace(clusters, known=clusters.known[order])
        names = [names[k] for k in order]
    profiles = profile_clusters_by_column(
        mixture, features, predicted, picture.originals, unwrapped
    )
    followed = find_followed_column(
        predicted, mixture.n_clusters_, picture.cells, get_column_names(mixture), picture.originals
    )
    quality = assess_clusters(
        picture.probabilities,
        predicted,
        standardize_rows(mixture, picture.rows),
        mixture.n_clusters_,
    )
    return Clustering(clusters, profiles, int(np.sum(predicted < 0)), names, followed, quality)


def _list_checks(picture: Picture, evaluation: Evaluation | None, groups: list[str]) -> Checks:
    labels = np.full(len(picture.rows), -1) if picture.labels is None else picture.labels
    rows = PredictedRows(labels, picture.probabilities, picture.typicality, picture.names)
    missed = [] if evaluation is None else evaluation.missed_classes
    doubtful, n_doubtful = list_doubtful_labels(rows, missed)
    unlisted = "" if evaluation is None else words.describe_unlisted(evaluation, groups)
    n_far = int(np.sum(picture.typicality * len(labels) < 1))
    return Checks(doubtful, n_doubtful, unlisted, list_far_rows(rows), n_far)


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


def _make_title(title: str | None, target: str | None, groups: list[str], is_mixture: bool) -> str:
    if title is not None:
        return str(title)
    if is_mixture:
        return f"Report on {words.count(len(groups), 'cluster')}"
    if target is None:
        return f"Report on {words.count(len(groups), 'class')}: {words.list_some(groups, 4)}"
    return f"Prediction of {target}"


def _describe_performance(performance: Performance, model: Any, groups: list[str]) -> list[str]:
    evaluation = performance.evaluation
    if evaluation is None:
        return []
    corrected = getattr(model, "corrected_error_", None)
    class_weighted = getattr(model, "class_weight", None) is not None
    sentences = words.describe_performance(evaluation, corrected, class_weighted=class_weighted)
    sentences.append(words.describe_missed(evaluation, groups))
    if performance.methods:
        sentences.append(words.describe_comparison(performance.methods, evaluation.n_rows))
        if sentences[-1] and class_weighted:
            sentences.append(words.WEIGHTED_CLASSES)
    elif performance.methods_note:  # why there are none
        sentences.append(performance.methods_note)
    sentences.append(performance.warning)
    return [sentence for sentence in sentences if sentence]


def _describe_clustering(clustering: Clustering) -> list[str]:
    sentences = []
    if clustering.followed is not None:
        sentences.append(cluster_words.describe_followed(clustering.followed))
    sentences += cluster_words.describe_clusters(clustering.profiles, clustering.n_noise)
    if clustering.quality is not None:
        sentences += cluster_words.describe_quality(clustering.quality, clustering.clusters)
    return sentences
