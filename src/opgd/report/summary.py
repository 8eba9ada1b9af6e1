"""Everything a report shows, as plain numbers and words, before any HTML is made."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from opgd._utils.labels import label_array
from opgd._utils.validation import check_integer
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.cross_validation import predict_held_out
from opgd.inspection.estimators import (
    check_has_axes,
    check_rows,
    get_column_names,
    get_group_names,
    has_classes,
)
from opgd.inspection.evaluation import Evaluation, evaluate
from opgd.inspection.labels import encode_any, encode_classes
from opgd.inspection.loadings import AxisLoadings, select_largest_loadings
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

LONGEST_VALUE = 300


@dataclass(frozen=True)
class Summary:
    """A report before it is drawn."""

    title: str
    estimator: str
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
    doubtful: list[ListedRow]
    n_doubtful: int
    doubtful_left_out: bool  # whether probabilities are of rows left out
    far: list[ListedRow]
    clusters: Clusters | None
    known_classes: list[str]  # given with a mixture
    page: dict[str, Any]  # what the page draws


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
) -> Summary:
    """Compute everything that a report shows; see `write_report`."""
    check_has_axes(estimator)
    check_integer("cv", cv)
    check_integer("max_rows", max_rows, 1)
    is_mixture = not has_classes(estimator)
    _check_arguments(is_mixture, y, X_test, y_test, groups)
    rows = check_rows(estimator, X, y)
    check_consistent_length(rows, groups)
    probabilities = estimator.predict_proba(X)
    known, known_names = None, list[str]()
    evaluation, left_out = None, None
    if not is_mixture:
        labels = encode_classes(estimator, y)
        evaluation, left_out = _evaluate(
            estimator, rows, y, labels, probabilities, (X_test, y_test), cv, groups
        )
    else:
        labels = np.full(len(rows), -1, dtype=np.intp)
        if y is not None:
            known_names, known = encode_any(y)
    typicality = estimator.typicality(X)
    names = get_row_names(X, np.arange(len(rows)))
    by_model = PredictedRows(labels, probabilities, typicality, names)
    held_out = by_model if left_out is None else replace(by_model, probabilities=left_out)
    doubtful, n_doubtful = list_doubtful_labels(held_out)
    predicted = np.argmax(probabilities, axis=1)
    clusters = None
    if is_mixture:
        clusters = summarize_clusters(estimator, predicted, known, len(known_names))
    picture = Picture(
        rows=rows,
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
        is_mixture=is_mixture,
        n_rows=len(rows),
        n_features=rows.shape[1],
        n_axes=len(estimator.components_),
        groups=get_group_names(estimator),
        columns=get_column_names(estimator),
        facts=_list_facts(estimator),
        parameters=[(key, _cut(value)) for key, value in estimator.get_params(False).items()],
        shares=_to_floats(getattr(estimator, "component_shares_", None)),
        loadings=select_largest_loadings(estimator, rows),
        evaluation=evaluation,
        doubtful=doubtful,
        n_doubtful=n_doubtful,
        doubtful_left_out=left_out is not None,
        far=list_far_rows(by_model),
        clusters=clusters,
        known_classes=known_names,
        page=make_page_data(estimator, picture, max_rows),
    )


def _check_arguments(is_mixture: bool, y: Any, X_test: Any, y_test: Any, groups: Any) -> None:
    if is_mixture and groups is not None:
        raise ValueError("groups are for classifiers: no row of a mixture is left out.")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together: give both or neither.")
    if is_mixture and X_test is not None:
        raise ValueError("X_test and y_test are for classifiers; a mixture has no labels to test.")
    if not is_mixture and y is None:
        raise ValueError("A report on a classifier needs y, the labels of the rows of X.")


def _evaluate(
    estimator: Any,
    rows: AnyArray,
    y: Any,
    labels: IntArray,
    probabilities: FloatArray,
    test: tuple[Any, Any],
    cv: int,
    groups: Any,
) -> tuple[Evaluation | None, FloatArray | None]:
    """Evaluate on test rows, or on held-out rows, or on the training rows."""
    X_test, y_test = test
    if X_test is not None:
        test_labels = label_array(y_test)
        check_consistent_length(check_rows(estimator, X_test), test_labels)
        codes = encode_classes(estimator, test_labels)
        note = "rows given as test rows"
        return evaluate(estimator.predict_proba(X_test), codes, "test", note), None
    together = None if groups is None else _encode_groups(groups)
    left_out, how = predict_held_out(estimator, rows, label_array(y), labels, cv, together)
    labeled = labels >= 0
    if not labeled.any():
        return None, None
    if left_out is not None:
        return evaluate(left_out[labeled], labels[labeled], "cv", how), left_out
    return evaluate(probabilities[labeled], labels[labeled], "training", how), None


def _encode_groups(groups: Any) -> IntArray:
    codes = encode_any(groups)[1]
    if np.any(codes < 0):
        raise ValueError("groups has missing values; every row needs a group.")
    return codes


def _list_facts(estimator: Any) -> list[tuple[str, str]]:
    """List facts about the fit, in words."""
    facts = []
    if hasattr(estimator, "converged_"):
        ended = "converged" if estimator.converged_ else "not converged"
        facts.append(("Search", f"{ended} after {estimator.n_iter_} iterations"))
    if hasattr(estimator, "log_likelihood_"):
        facts.append(("Log-likelihood", f"{estimator.log_likelihood_:.6g}"))
    if hasattr(estimator, "best_params_"):
        chosen = ", ".join(f"{key} {value}" for key, value in estimator.best_params_.items())
        facts.append(("Chosen settings", chosen[:LONGEST_VALUE]))
        facts.append(("Score on rows left out", f"{estimator.best_score_:.3f}"))
        facts.append(("Temperature", f"{estimator.temperature_:.2f}"))
    return facts


def _to_floats(values: Any) -> list[float] | None:
    return None if values is None else [float(value) for value in values]


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"
