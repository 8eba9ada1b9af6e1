"""ComparisonDisplay."""

import numpy as np
import pandas as pd
import pytest

from opgd.plotting import ComparisonDisplay


def test_comparison_takes_failures_out():
    table = pd.DataFrame({"method": ["b", "a"] * 3, "error": [0.1, 0.2, 0.3, np.nan, 0.2, 0.4]})
    table = table.assign(split=np.arange(6) // 2, n_train=40, n_test=20)
    display = ComparisonDisplay.from_table(table, draw=False)
    assert [(own.name, own.n_failed) for own in display.summaries] == [("b", 0), ("a", 1)]
    with pytest.raises(ValueError, match="no column"):
        ComparisonDisplay.from_table(table, "seconds", draw=False)


@pytest.fixture
def table():
    """Three methods on four splits: the second is the best, the third not significantly worse."""
    errors = {"bad": [0.5, 0.52, 0.51, 0.5], "good": [0.1, 0.12, 0.1, 0.14]}
    errors["near"] = [0.12, 0.1, 0.11, 0.14]
    rows = [
        {"method": name, "split": split, "error": error, "seconds": 0.5}
        for name, values in errors.items()
        for split, error in enumerate(values)
    ]
    return pd.DataFrame(rows).assign(n_train=60, n_test=20)


def test_bars_are_intervals_of_the_difference_around_the_mean(plt, table):
    display = ComparisonDisplay.from_table(table)
    best, _, worst = display.summaries
    bars = [line.get_xdata() for line in display.ax_.lines]
    assert any(np.allclose(bar, [best.mean] * 2) for bar in bars)
    ends = best.mean + np.array([worst.low, worst.high])
    assert any(np.allclose(bar, ends) for bar in bars)
