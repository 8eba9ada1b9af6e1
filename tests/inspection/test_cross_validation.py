"""Predictions of held-out rows, alone and in groups."""

import numpy as np
import pytest

from opgd.baselines import ReducedRankLDA
from opgd.inspection.cross_validation import predict_held_out


@pytest.fixture
def pairs(rng):
    """Rows that are there twice, with labels that say nothing of them: codes and pairs."""
    X = np.repeat(rng.normal(size=(40, 2)), 2, axis=0)
    return X, np.repeat(rng.permutation(40) % 2, 2), np.repeat(np.arange(40), 2)


def test_groups_are_left_out_together(pairs):
    X, y, groups = pairs
    X = X + 100 * groups[:, None] ** 2  # a copy of the row, or none

    class Memory(ReducedRankLDA):
        """Knows the rows that it was fitted to."""

        def fit(self, X, y):
            self.seen = {tuple(row) for row in X}
            return super().fit(X, y)

        def predict_proba(self, X):
            known = [tuple(row) in self.seen for row in X]
            return np.column_stack([known, np.logical_not(known)]).astype(float)

    model = Memory().fit(X, y)
    alone, how = predict_held_out(model, X, y, y, 5)
    assert alone[:, 0].any()
    assert "5-fold cross-validation" in how
    together, how = predict_held_out(model, X, y, y, 5, groups)
    assert not together[:, 0].any()
    assert "5-fold cross-validation by group" in how
    codes = np.where(np.arange(80) % 2, y, -1)  # rows without a label go with their group
    some, _ = predict_held_out(model, X, y, codes, 5, groups)
    assert not some[codes >= 0, 0].any()


def test_groups_that_cannot_be_left_out_are_told(pairs):
    X, y, groups = pairs
    model = ReducedRankLDA().fit(X, y)
    few, how = predict_held_out(model, X, y, y, 5, groups % 3)
    assert not np.isnan(few).any()
    assert "3-fold cross-validation by group" in how
    for own, words in [(0 * groups, "belong to one group"), (y, "a class occurs only in groups")]:
        assert predict_held_out(model, X, y, y, 5, own)[0] is None
        assert words in predict_held_out(model, X, y, y, 5, own)[1]
