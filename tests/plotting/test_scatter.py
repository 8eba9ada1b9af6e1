"""Pieces of scatter plots."""

import numpy as np

from opgd.plotting._scatter import spread_out


def test_names_at_arrows_are_spread_out():
    assert np.diff(np.sort(spread_out(np.array([1.0, 1.0, 1.0, 5.0]), 0.5))).min() >= 0.5 - 1e-12
