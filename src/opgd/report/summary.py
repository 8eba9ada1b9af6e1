"""What a report says, as plain numbers and words: nothing here knows of HTML."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from opgd._base.gaussian import GaussianClassifier
from opgd._utils.labels import label_array
from opgd._utils.validation import check_integer
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.plotting._fitted import (
    check_has_axes,
    checked_rows,
    class_codes,
    column_names,
    encode_any,
    group_names,
)
from opgd.report.evaluation import Evaluation, evaluate, left_out_probabilities
from opgd.report.page_data import Picture, page_data
from opgd.report.rows import row_names
from opgd.report.tables import (
    Clusters,
    Judged,
    ListedRow,
    Loadings,
    clusters,
    doubtful_labels,
    far_rows,
    loadings,
)

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
    loadings: list[Loadings]
    evaluation: Evaluation | None
    doubtful: list[ListedRow]
    n_doubtful: int
    doubtful_left_out: bool  # whether probabilities are of rows left out
    far: list[ListedRow]
    clusters: Clusters | None
    known_classes: list[str]  # given with a mixture
    page: dict[str, Any]  # what the page draws


def summarise(
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
    is_mixture = not isinstance(estimator, GaussianClassifier)
    _check_given(is_mixture, y, X_test, y_test, groups)
    rows = checked_rows(estimator, X, y)
    check_consistent_length(rows, groups)
    probabilities = estimator.predict_proba(X)
    known, known_names = None, list[str]()
    evaluation, left_out = None, None
    if not is_mixture:
        labels = class_codes(estimator, y)
        evaluation, left_out = _evaluated(
            estimator, rows, y, labels, probabilities, (X_test, y_test), cv, groups
        )
    else:
        labels = np.full(len(rows), -1, dtype=np.intp)
        if y is not None:
            known_names, known = encode_any(y)
    typicality = estimator.typicality(X)
    names = row_names(X, np.arange(len(rows)))
    judged = Judged(labels, probabilities, typicality, names)
    doubted = Judged(labels, probabilities if left_out is None else left_out, typicality, names)
    doubtful, n_doubtful = doubtful_labels(doubted)
    predicted = np.argmax(probabilities, axis=1)
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
        groups=group_names(estimator),
        columns=column_names(estimator),
        facts=_facts(estimator),
        parameters=[(key, _short(value)) for key, value in estimator.get_params(False).items()],
        shares=_plain(getattr(estimator, "component_shares_", None)),
        loadings=loadings(estimator, rows),
        evaluation=evaluation,
        doubtful=doubtful,
        n_doubtful=n_doubtful,
        doubtful_left_out=left_out is not None,
        far=far_rows(judged),
        clusters=clusters(estimator, predicted, known, len(known_names)) if is_mixture else None,
        known_classes=known_names,
        page=page_data(estimator, picture, max_rows),
    )


def _check_given(is_mixture: bool, y: Any, X_test: Any, y_test: Any, groups: Any) -> None:
    if is_mixture and groups is not None:
        raise ValueError("groups are for classifiers: no row of a mixture is left out.")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together: give both or neither.")
    if is_mixture and X_test is not None:
        raise ValueError("X_test and y_test are for classifiers; a mixture has no labels to test.")
    if not is_mixture and y is None:
        raise ValueError("A report on a classifier needs y, the labels of the rows of X.")


def _evaluated(
    estimator: Any,
    rows: AnyArray,
    y: Any,
    labels: IntArray,
    probabilities: FloatArray,
    test: tuple[Any, Any],
    cv: int,
    groups: Any,
) -> tuple[Evaluation | None, FloatArray | None]:
    """Numbers on test rows, or on rows left out in turn, or on the training rows."""
    X_test, y_test = test
    if X_test is not None:
        test_labels = label_array(y_test)
        check_consistent_length(checked_rows(estimator, X_test), test_labels)
        codes = class_codes(estimator, test_labels)
        note = "rows given as test rows"
        return evaluate(estimator.predict_proba(X_test), codes, "test", note), None
    together = None if groups is None else _group_codes(groups)
    left_out, how = left_out_probabilities(estimator, rows, label_array(y), labels, cv, together)
    labelled = labels >= 0
    if not labelled.any():
        return None, None
    if left_out is not None:
        return evaluate(left_out[labelled], labels[labelled], "cv", how), left_out
    return evaluate(probabilities[labelled], labels[labelled], "training", how), None


def _group_codes(groups: Any) -> IntArray:
    codes = encode_any(groups)[1]
    if np.any(codes < 0):
        raise ValueError("groups has missing values; every row needs a group.")
    return codes


def _facts(estimator: Any) -> list[tuple[str, str]]:
    """What is worth knowing of the fit, in words."""
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


def _plain(values: Any) -> list[float] | None:
    return None if values is None else [float(value) for value in values]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"
