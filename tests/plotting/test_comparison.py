"""ComparisonDisplay."""

import numpy as np
import pandas as pd
import pytest

from opgd.plotting import (
    ComparisonDisplay,
)


def test_comparison_takes_failures_out():
    table = pd.DataFrame({"method": ["b", "a"] * 3, "error": [0.1, 0.2, 0.3, np.nan, 0.2, 0.4]})
    display = ComparisonDisplay.from_table(table, draw=False)
    assert display.methods == ["b", "a"]
    assert display.n_failed == [0, 1]
    np.testing.assert_allclose(display.quartiles[0], [0.1, 0.15, 0.2, 0.25, 0.3])
    with pytest.raises(ValueError, match="no column"):
        ComparisonDisplay.from_table(table, "seconds", draw=False)
