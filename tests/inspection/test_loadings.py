"""Columns with nearly the same information."""

import numpy as np
import pytest

from opgd.inspection.loadings import find_correlated_pairs


def test_pairs_are_correlated_overall_or_within_groups(rng):
    groups = np.repeat([0, 1, -1], [150, 150, 20])
    X = rng.normal(size=(320, 5))
    X[:, 1] = -3 * X[:, 0] + 0.1 * rng.normal(size=320)  # overall
    X[:, 3] = X[:, 2] + 100 * (groups == 1)  # within groups
    X[:, 4] = 7.0
    found = find_correlated_pairs(X, [4, 3, 2, 1, 0], groups)
    assert {(pair.first, pair.second) for pair in found} == {(3, 2), (1, 0)}
    expected = np.corrcoef(X[:, 0], X[:, 1])[0, 1]
    overall = next(pair for pair in found if pair.second == 0)
    assert overall.correlation == pytest.approx(expected, abs=2e-3)
