"""Sentences of the first screen."""

import numpy as np
import pytest

from opgd.inspection.comparison import summarize_methods
from opgd.inspection.evaluation import evaluate
from opgd.inspection.tables import ListedRow
from opgd.report.usual import OURS
from opgd.report.words import (
    describe_comparison,
    describe_missed,
    describe_performance,
    describe_reason,
    describe_row_names,
    describe_unlisted,
)


def make_methods(ours, other):
    methods = {OURS: ours, "other": other}
    table = {"method": [], "split": [], "error": []}
    for name, errors in methods.items():
        table["method"] += [name] * len(errors)
        table["split"] += list(range(len(errors)))
        table["error"] += errors
    return summarize_methods(table, reference=OURS)


@pytest.mark.parametrize(
    ("ours", "other", "n_rows", "words"),
    [
        ([0.1, 0.11, 0.1], [0.3, 0.32, 0.31], 300, "the error of other (31.0%) is clearly higher"),
        ([0.1, 0.11, 0.1], [0.05, 0.2, 0.1], 300, "(11.7%) is higher, but not certainly"),
        (
            [0.1, 0.2, 0.1],
            [0.1, 0.1, 0.1],
            300,
            "Other has the lowest error (10.0% against 13.3% of",
        ),
        ([0.1, 0.2, 0.1], [0.1, 0.1, 0.1], 300, "3 folds the difference is not certain"),
        ([0.3, 0.31, 0.3], [0.1, 0.11, 0.1], 300, "a clear difference"),
        ([0.1, 0.2, 0.1], [0.1, 0.2, 0.1], 300, "the error of other (13.3%) is equal"),
        ([0.1, 0.1, 0.1], [0.3, 0.3, 0.3], 20, "too few to compare"),
        ([0.04], [0.02], 90, "90 test rows this is not a clear difference"),
        ([0.04], [0.02], 9000, "2.0 percentage points higher than that of the best other method"),
    ],
)
def test_differences_are_called_clear_if_they_exceed_chance(ours, other, n_rows, words):
    sentence = describe_comparison(make_methods(ours, other), n_rows)
    assert words in sentence
    assert ("not a clear" in sentence) == (n_rows == 90)


def test_row_numbers_of_an_index_are_not_positions():
    assert "0 to 7, for 3 rows" in describe_row_names(["0", "7", "3"], 3)
    assert "counting data rows from 0" in describe_row_names(None, 3)
    assert describe_row_names(["a", "1"], 2) == "Row names are those of the table's index."


@pytest.mark.parametrize(
    ("label", "probabilities", "typicality", "reason"),
    [
        (1, (0.002, 0.998), 0.5, "label yes, predicted no with 99.8%"),
        (1, (0.4, 0.6), 0.5, "close decision: predicted no with 60.0%, yes 40.0%"),
        (
            -1,
            (None, 0.9),
            1e-4,
            "label unknown to the model, predicted no with 90.0%; far from all",
        ),
    ],
)
def test_reasons_to_check_a_row_are_given(label, probabilities, typicality, reason):
    row = ListedRow(0, None, label, 0, *probabilities, typicality)
    assert describe_reason(row, ["no", "yes"], 100).startswith(reason)


def evaluate_counts(found, sizes, source="test"):
    """Evaluate predictions that find the first rows of each class and take others for class 0."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    ranks = np.concatenate([np.arange(size) for size in sizes])
    predicted = np.where(ranks < np.array(found)[codes], codes, 0)
    return evaluate(np.eye(len(sizes))[predicted], codes, source, "")


@pytest.mark.parametrize(
    ("found", "source", "words"),
    [
        (3, "test", "Of the 12 test rows of class yes, 3 are found (recall 25%); if missing"),
        (1, "cv", "Of the 12 rows of class yes, 1 is found (recall 8%); if missing"),
        (0, "training", "Of the 12 rows of class yes, none is found (recall 0%); if missing"),
        (6, "test", ""),
    ],
)
def test_a_class_that_the_model_misses_is_named(found, source, words):
    evaluation = evaluate_counts((80, found), (80, 12), source)
    sentence = describe_missed(evaluation, ["no", "yes"])
    assert sentence.startswith(words)
    assert bool(sentence) == bool(words)
    unlisted = describe_unlisted(evaluation, ["no", "yes"])
    assert (f"class yes are not listed: the model finds {found} of its 12" in unlisted) == bool(
        words
    )


def test_weighted_errors_are_no_shares_of_rows():
    evaluation = evaluate_counts((90, 4), (90, 10), "cv")
    optimistic = "this is optimistic: 21.3% of new rows are expected to be misclassified."
    assert describe_performance(evaluation, 0.213)[-1].endswith(optimistic)
    weighted = describe_performance(evaluation, 0.213, class_weighted=True)
    assert weighted[-1].endswith("this is optimistic.")


def test_few_of_many_missed_classes_are_named():
    evaluation = evaluate_counts((90, 4, 3, 2, 1, 0), (90, 9, 9, 9, 9, 4))
    groups = list("abcdef")
    assert describe_missed(evaluation, groups).startswith(  # f has too few rows
        "Fewer than half of the test rows are found of the classes e (1 of 9, recall 11%), "
        "d (2 of 9, recall 22%), c (3 of 9, recall 33%) and b (4 of 9, recall 44%); if"
    )
    assert describe_unlisted(evaluation, groups).startswith(
        "Rows of the classes f, e, d and 2 more are not listed: the model finds fewer than half "
        "of their test rows, so"
    )
    tiny = evaluate_counts((90, 0), (90, 4))
    assert describe_missed(tiny, groups) == ""
    assert "finds 0 of its 4 test rows" in describe_unlisted(tiny, groups)
