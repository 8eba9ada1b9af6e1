"""Hexagonal bins."""

import numpy as np

from opgd.inspection.hexagons import bin_hexagons


def test_every_row_is_in_the_hexagon_with_the_nearest_center(rng):
    points, codes = rng.normal(size=(600, 2)), rng.integers(0, 3, 600)
    limits = np.array([[-2.0, -2.0], [2.0, 2.0]])
    hexagons = bin_hexagons(points, codes, limits)
    inside = np.all(np.abs(points) <= 2, axis=1)
    assert hexagons.counts.sum() == inside.sum()
    scale = hexagons.corners.max(axis=0) / [np.sqrt(0.75), 1.0]  # of a regular hexagon
    distances = np.linalg.norm((points[inside, None] - hexagons.centers) / scale, axis=2)
    nearest = np.argmin(distances, axis=1)
    assert distances.min(axis=1).max() <= 1 + 1e-9  # no farther than the corners
    np.testing.assert_array_equal(np.bincount(nearest), hexagons.counts)
    largest = np.argmax(hexagons.counts)
    shares = np.bincount(codes[inside][nearest == largest]) / hexagons.counts[largest]
    assert shares[hexagons.codes[largest]] == shares.max() == hexagons.shares[largest]
