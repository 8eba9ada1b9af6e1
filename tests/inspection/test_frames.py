"""Limits of scatter plots."""

import numpy as np
import pytest

from opgd.inspection.frames import choose_frame


def test_one_extreme_row_does_not_determine_the_limits(rng):
    points, codes = rng.normal(size=(500, 2)), np.arange(500) % 5
    points[:, 0] += codes
    points[7] = -80, 10
    frame = choose_frame(points, codes)
    assert np.flatnonzero(frame.is_outside).tolist() == [7]
    others = choose_frame(np.delete(points, 7, axis=0), np.delete(codes, 7))
    np.testing.assert_allclose(frame.limits, others.limits)
    assert others.n_outside == 0
    assert frame.find_directions(points[[7]]).tolist() == [0]  # to the left
    moved = frame.move_inside(points[[7]])
    assert np.all((moved > frame.limits[0]) & (moved < frame.limits[1]))
    assert choose_frame(points, codes, kind="all").n_outside == 0


@pytest.mark.parametrize("draw", ["normal", "uniform", "logistic"])
def test_nothing_is_cut_off_without_extreme_points(draw, rng):
    points = getattr(rng, draw)(size=(1000, 2))
    frame = choose_frame(points, np.zeros(1000, dtype=int))
    assert frame.n_outside == 0
    np.testing.assert_allclose(frame.limits[1] - frame.limits[0], 1.08 * np.ptp(points, axis=0))


def test_small_groups_far_away_are_inside(rng):
    points, codes = rng.normal(size=(1000, 1)), np.zeros(1000, dtype=int)
    points[:8] += 60
    codes[:8] = 1
    assert choose_frame(points, codes).n_outside == 0
    assert choose_frame(points, np.zeros(1000, dtype=int)).n_outside == 8


def test_constant_scores_have_limits():
    points, codes = np.zeros((10, 1)), np.zeros(10, dtype=int)
    assert choose_frame(points, codes).limits.ravel().tolist() == [-0.5, 0.5]
    with pytest.raises(ValueError, match="frame must be"):
        choose_frame(points, codes, kind="none")
