"""Axes of refits matched with those of a fit."""

import numpy as np

from opgd.inspection.bootstrap import match_axes


def test_axes_are_matched_by_correlation():
    correlation = np.array([[0.1, -0.9, 0.2], [0.8, 0.85, 0.0]])
    places, signs = match_axes(correlation)
    assert places.tolist() == [1, 0]
    assert signs.tolist() == [-1, 1]
    assert match_axes(correlation[:, :1])[0].tolist() == [-1, 0]
