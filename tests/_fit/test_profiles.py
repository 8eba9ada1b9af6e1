"""Profiles of clusters."""

import numpy as np

from opgd._fit.profiles import profile_clusters


def test_difference_without_deviations_is_told_in_words():
    X = np.column_stack([np.repeat([0.0, 1.0], 5), np.arange(10.0)])
    labels = np.repeat([0, 1], 5)
    log_joints = np.where(labels[:, None] == [0, 1], 0.0, -1.0)
    first, second = profile_clusters(X, labels, log_joints, ["basic", "age"])
    assert np.isneginf(first.differences[0])
    assert np.isposinf(second.differences[0])
    assert "basic 0 (constant here, another constant in other clusters)" in str(first)
    assert "inf" not in str(first) + str(second)
    assert "age 7 (+3.5 sd)" in str(second)
