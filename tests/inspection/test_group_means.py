"""Means by group."""

import numpy as np

from opgd.inspection.group_means import compute_group_means


def test_columns_without_variance_in_groups_separate_most(rng):
    codes = np.repeat([0, 1], 20)
    X = np.column_stack([rng.normal(size=40), np.full(40, 2.0), codes, 5.0 * codes])
    means = compute_group_means(X, codes, 2, ["noise", "constant", "share", "five"])
    assert means.are_shares.tolist() == [False, False, True, False]
    assert means.deviations[2] == 0.1  # not zero
    found = means.select_separating(4)
    assert found.names == ["five", "share", "noise", "constant"]
    assert found.means[:, 1].tolist() == [0, 1]
