"""Sentences of the first screen."""

import numpy as np
import pytest

from opgd.comparison import summarize_methods
from opgd.inspection.evaluation import evaluate
from opgd.report.usual import OURS
from opgd.report.words import describe_comparison, describe_missed, describe_performance


@pytest.mark.parametrize(
    ("ours", "other", "n_rows", "words"),
    [
        ([0.1, 0.11, 0.1], [0.3, 0.32, 0.31], 300, "clearly higher"),
        ([0.1, 0.11, 0.1], [0.05, 0.2, 0.1], 300, "not certainly"),
        ([0.1, 0.2, 0.1], [0.1, 0.1, 0.1], 300, "not certain"),
        ([0.3, 0.31, 0.3], [0.1, 0.11, 0.1], 300, "a clear difference"),
        ([0.1, 0.1, 0.1], [0.3, 0.3, 0.3], 20, "too few"),
        ([0.04], [0.02], 90, "not a clear difference"),
        ([0.04], [0.02], 9000, "2.0 percentage points higher"),
    ],
)
def test_differences_are_called_clear_if_they_exceed_chance(ours, other, n_rows, words):
    n_splits = len(ours)
    table = {"method": [OURS] * n_splits + ["other"] * n_splits, "error": ours + other}
    table |= {"split": 2 * list(range(n_splits)), "n_train": [2] * 2 * n_splits}
    table |= {"n_test": [1] * 2 * n_splits}
    methods = summarize_methods(table, reference=OURS)
    assert words in describe_comparison(methods, n_rows)


def evaluate_counts(found, sizes):
    """Evaluate predictions that find the first rows of each class and take others for class 0."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    ranks = np.concatenate([np.arange(size) for size in sizes])
    predicted = np.where(ranks < np.array(found)[codes], codes, 0)
    return evaluate(np.eye(len(sizes))[predicted], codes, "cv", "")


def test_classes_that_the_model_misses_are_named():
    missed = describe_missed(evaluate_counts((90, 4, 3, 5, 0), (90, 9, 9, 9, 4)), list("abcde"))
    assert "c (3 of 9" in missed
    assert "b (4 of 9" in missed
    assert "d (" not in missed  # half of its rows are found
    assert "e (" not in missed  # has too few rows
    assert describe_missed(evaluate_counts((80, 6), (80, 12)), ["no", "yes"]) == ""


def test_weighted_errors_are_no_shares_of_rows():
    evaluation = evaluate_counts((90, 4), (90, 10))
    assert "21.3% of new rows" in describe_performance(evaluation, 0.213)[-1]
    assert "21.3%" not in describe_performance(evaluation, 0.213, class_weighted=True)[-1]
