"""Intervals of paired differences, and which methods are marked as the best."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from opgd.comparison import estimate_mean, summarize_methods


def make_table(**values):
    """Results of methods on splits of 80 training and 20 held-out samples."""
    rows = [
        {"method": name, "split": split, "error": error, "n_train": 80, "n_test": 20}
        for name, errors in values.items()
        for split, error in enumerate(errors)
    ]
    return pd.DataFrame(rows)


def by_name(summaries):
    return {summary.name: summary for summary in summaries}


def test_interval_is_that_of_nadeau_and_bengio():
    differences = np.array([0.02, 0.05, 0.01, 0.04])
    mean, error, low, high = estimate_mean(differences, np.full(4, 0.25), 0.9)
    half = stats.t.ppf(0.95, 3) * np.sqrt((1 / 4 + 20 / 80) * differences.var(ddof=1))
    assert mean == pytest.approx(0.03)
    assert error == pytest.approx(half / stats.t.ppf(0.95, 3))
    assert (low, high) == pytest.approx((0.03 - half, 0.03 + half))


def test_without_overlap_the_interval_is_that_of_a_paired_t_test(rng):
    first, second = rng.normal(size=(2, 12))
    expected = stats.ttest_rel(first, second).confidence_interval(0.95)
    interval = estimate_mean(first - second, np.zeros(12))[2:]
    assert interval == pytest.approx((expected.low, expected.high))


def test_coverage_of_independent_differences_is_the_level(rng):
    draws = rng.normal(size=(4000, 8))
    intervals = [estimate_mean(row, np.zeros(8))[2:] for row in draws]
    assert np.mean([low <= 0 <= high for low, high in intervals]) == pytest.approx(0.95, abs=0.012)


def test_winners_are_the_best_and_those_not_significantly_worse():
    table = make_table(
        worse=[0.30, 0.31, 0.29, 0.30], best=[0.1, 0.12, 0.11, 0.1], near=[0.12, 0.1, 0.11, 0.11]
    )
    summaries = summarize_methods(table)
    assert [summary.name for summary in summaries] == ["best", "near", "worse"]
    assert [summary.winner for summary in summaries] == [True, True, False]
    assert summaries[0].difference == summaries[0].low == summaries[0].high == 0
    assert summaries[2].low > 0


def test_larger_balanced_accuracies_are_better():
    table = make_table(low=[0.5, 0.52, 0.51], high=[0.9, 0.91, 0.93])
    table["balanced_accuracy"] = table["error"]
    summaries = summarize_methods(table, "balanced_accuracy")
    assert [(summary.name, summary.winner) for summary in summaries] == [
        ("high", True),
        ("low", False),
    ]
    assert summaries[1].high < 0


def test_a_reference_changes_differences_but_not_winners():
    table = make_table(a=[0.1, 0.12, 0.11], b=[0.3, 0.33, 0.31])
    best, named = (by_name(summarize_methods(table, reference=name)) for name in ("best", "b"))
    assert named["a"].difference == pytest.approx(-best["b"].difference)
    assert [named[name].winner for name in "ab"] == [True, False]
    with pytest.raises(ValueError, match="'c' is not a method; methods are \\['a', 'b'\\]"):
        summarize_methods(table, reference="c")


def test_methods_without_all_splits_come_last_and_do_not_win():
    table = make_table(partial=[0.01, np.nan, np.nan], full=[0.2, 0.3, 0.1])
    full, partial = summarize_methods(table)
    assert (full.name, full.winner, partial.winner) == ("full", True, False)
    assert partial.difference == pytest.approx(0.01 - 0.2)
    assert partial.remark == "2 failed"
    assert (partial.n_splits, full.n_splits) == (1, 3)


def test_pairs_are_found_by_split_whatever_the_order_of_rows(rng):
    table = make_table(a=rng.random(5), b=rng.random(5))
    shuffled = table.sample(frac=1, random_state=0)
    expected, summaries = (by_name(summarize_methods(own)) for own in (table, shuffled))
    for name in "ab":
        assert summaries[name].low == pytest.approx(expected[name].low)


def test_all_failed_gives_no_winner():
    (summary,) = summarize_methods(make_table(a=[np.nan, np.nan]))
    assert not summary.winner
    assert summary.n_failed == 2


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (make_table(a=[1]).drop(columns="error"), "no column 'error'"),
        (make_table(a=[1]).drop(columns="n_test"), "no column 'n_test'"),
        (make_table(a=[1])[:0], "one row per method and split"),
        (pd.concat([make_table(a=[1, 2])] * 2), "one row per method and split"),
        (make_table(a=["much"]), "could not convert string to float: 'much'"),
    ],
)
def test_other_tables_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        summarize_methods(table)
