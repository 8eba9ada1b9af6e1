"""Labels are placed without overlaps."""

import numpy as np
import pytest

from opgd.inspection.label_placement import estimate_label_sizes, place_labels

BOUNDS = np.array([[0.0, 0.0], [300.0, 200.0]])


def count_overlaps(centers, sizes):
    gaps = np.abs(centers[:, None] - centers) - 0.5 * (sizes[:, None] + sizes)
    return int(np.all(gaps < 0, axis=2).sum() - len(sizes)) // 2


@pytest.mark.parametrize("spread", [0.1, 10.0, 60.0])
def test_labels_do_not_overlap_and_are_inside(spread, rng):
    names = [f"class {k}" for k in range(20)]
    sizes = estimate_label_sizes(names, 9)
    anchors = np.clip([150, 100] + spread * rng.normal(size=(20, 2)), *BOUNDS)
    placed = place_labels(anchors, sizes, BOUNDS)
    assert count_overlaps(anchors, sizes) > 0
    assert count_overlaps(placed.centers, sizes) == 0
    assert np.all(placed.centers - sizes / 2 >= BOUNDS[0])
    assert np.all(placed.centers + sizes / 2 <= BOUNDS[1])
    covered = np.all(np.abs(placed.centers - anchors) <= sizes / 2, axis=1)
    assert np.all(covered | placed.has_leader)


def test_labels_with_enough_room_stay_at_their_points():
    anchors = np.array([[50.0, 50], [150, 100], [250, 150]])
    placed = place_labels(anchors, np.full((3, 2), 20.0), BOUNDS)
    np.testing.assert_array_equal(placed.centers, anchors)
    assert not placed.has_leader.any()
    blocked = place_labels(
        anchors, np.full((3, 2), 20.0), BOUNDS, occupied=(anchors[:1], np.full((1, 2), 20.0))
    )
    assert np.abs(blocked.centers[0] - anchors[0]).max() >= 20
