"""How good a classifier is on held-out rows, which rows are wrong, and how others compare."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from opgd._utils.labels import to_label_array
from opgd.comparison import MethodSummary, summarize_methods
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.cross_validation import plan_folds, predict_held_out
from opgd.inspection.curves import ClassCurves, trace_curves
from opgd.inspection.estimators import check_rows, is_calibrated
from opgd.inspection.evaluation import Evaluation, evaluate
from opgd.inspection.labels import encode_any, encode_classes
from opgd.inspection.tables import ListedRow, PredictedRows
from opgd.inspection.wrong_rows import list_wrong_rows
from opgd.report.rows import get_row_names
from opgd.report.usual import Contest, compare_with_usual
from opgd.report.words import MIN_COMPARED, describe_overconfidence, is_imbalanced, join


@dataclass(frozen=True)
class LabeledData:
    """Rows with labels, and the table they come from."""

    X: Any  # features, as the estimator takes them
    rows: AnyArray  # the same as an array
    y: Any
    codes: IntArray  # class indices, -1 without a class
    table: Any  # before the steps of a pipeline

    @classmethod
    def make(cls, estimator: Any, X: Any, y: Any, table: Any) -> "LabeledData":
        """Check rows and labels, and encode the labels."""
        labels = to_label_array(y)
        rows = check_rows(estimator, X)
        check_consistent_length(rows, labels)
        return cls(X, rows, labels, encode_classes(estimator, labels), table)


@dataclass(frozen=True)
class Performance:
    """Results on held-out rows."""

    evaluation: Evaluation | None
    held_out: FloatArray | None  # probabilities of the training rows by cross-validation
    wrong: list[ListedRow]  # of a test set all, otherwise without those of missed classes
    n_wrong: int  # with those of missed classes
    curves: list[ClassCurves] | None
    methods: list[MethodSummary] | None
    methods_note: str  # how methods were compared, or why they were not
    warning: str  # that probabilities are too extreme, or ""

    @property
    def n_to_check(self) -> int:
        """Number of misclassified rows without those of classes that the model misses."""
        return self.n_wrong - (0 if self.evaluation is None else self.evaluation.n_missed)

    @property
    def imbalanced(self) -> bool:
        """Whether the largest class has several times as many rows as the smallest."""
        return self.evaluation is not None and is_imbalanced(self.evaluation)

    @property
    def comparable(self) -> bool:
        """Whether enough rows were tested to call a difference between methods clear."""
        return self.evaluation is not None and self.evaluation.n_rows >= MIN_COMPARED


def assess(
    estimator: Any,
    train: LabeledData,
    test: LabeledData | None,
    *,
    cv: int,
    groups: Any,
    steps: Any,
    comparison: Any,
) -> Performance:
    """Evaluate on the test set if there is one, else by cross-validation or on the training set."""
    if test is not None:
        probabilities, source, note = estimator.predict_proba(test.X), "test", "test rows"
        evaluated, held_out = test, None
        names = get_row_names(test.table, np.arange(len(test.rows)))
    else:
        held_out, note = predict_held_out(
            estimator,
            train.rows,
            train.y,
            train.codes,
            cv,
            None if groups is None else _encode_groups(groups),
            None if steps is None else (steps, train.table),
        )
        source, evaluated = "training" if held_out is None else "cv", train
        probabilities = estimator.predict_proba(train.X) if held_out is None else held_out
        names = get_row_names(train.table, np.arange(len(train.rows)))
    chosen = np.flatnonzero((evaluated.codes >= 0) | (test is not None))
    if not len(chosen):
        return Performance(None, None, [], 0, None, None, "", "")
    evaluation = evaluate(probabilities[chosen], evaluated.codes[chosen], source, note)
    typicality = estimator.typicality(evaluated.X)
    predicted = PredictedRows(evaluated.codes, probabilities, typicality, names)
    if test is None:  # rows without a label are not wrong
        unlabeled = (evaluated.codes < 0)[:, None]
        predicted = replace(predicted, probabilities=np.where(unlabeled, np.nan, probabilities))
    curves = None
    if len(estimator.classes_) == 2 or is_imbalanced(evaluation):
        curves = trace_curves(probabilities[chosen], evaluated.codes[chosen])
    # without a test set the list is one of possible label errors, too
    omitted = [] if test is not None else evaluation.missed_classes
    wrong, n_wrong = list_wrong_rows(predicted, omitted)
    methods, how = None, ""
    if not isinstance(comparison, str | None):
        methods = summarize_methods(comparison)
    elif comparison is not None:
        contest = _make_contest(estimator, train, test, probabilities, cv, groups, steps)
        methods, how = _run_contest(contest, source)
    warning = describe_overconfidence(evaluation, methods, is_calibrated(estimator))
    return Performance(evaluation, held_out, wrong, n_wrong, curves, methods, how, warning)


def _make_contest(
    estimator: Any,
    train: LabeledData,
    test: LabeledData | None,
    probabilities: FloatArray,
    cv: int,
    groups: Any,
    steps: Any,
) -> Contest | None:
    """Return the held-out rows of the evaluation, None if there are none."""
    n_train = len(train.rows)
    if test is not None:
        codes = np.concatenate([train.codes, test.codes])
        split = np.arange(n_train), np.arange(n_train, len(codes))
        unknown = np.full((n_train, probabilities.shape[1]), np.nan)
        rows = np.vstack([train.rows, test.rows])
        return Contest(rows, rows.shape[1], codes, [split], np.vstack([unknown, probabilities]))
    group_codes = None if groups is None else _encode_groups(groups)
    splits, _ = plan_folds(train.rows, train.codes, len(estimator.classes_), cv, group_codes)
    if splits is None:
        return None
    X = train.rows if steps is None else train.table
    return Contest(X, train.rows.shape[1], train.codes, splits, probabilities, steps)


def _run_contest(contest: Contest | None, source: str) -> tuple[list[MethodSummary] | None, str]:
    if contest is None or source == "training":
        return None, "Other methods were not fitted, because no rows were held out."
    if contest.is_too_large:
        return None, "Other methods were not fitted, because the table is large."
    rows = "test rows" if source == "test" else "folds"
    note = f"All were fitted and tested on the same {rows}, with fixed settings."
    methods, omitted = compare_with_usual(contest)
    if omitted:
        note += f" Fits of {join(omitted)} would take long on this table and were omitted."
    return methods, note


def _encode_groups(groups: Any) -> IntArray:
    codes = encode_any(groups)[1]
    if np.any(codes < 0):
        raise ValueError("groups has missing values; every sample needs a group.")
    return codes
