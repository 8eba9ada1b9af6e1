"""Planes of the tour."""

import warnings

import numpy as np

from opgd.inspection.tour import compute_principal_axes, list_planes


def test_planes_of_pairs_of_axes_principal_components_and_discriminants(rng):
    codes = np.arange(90) % 3
    rows = rng.normal(size=(90, 5)) + 4 * np.eye(3, 5)[codes]
    axes, pca = rng.normal(size=(3, 5)), compute_principal_axes(rows)
    planes = {plane.name: plane.coefficients for plane in list_planes(rows, axes, pca, codes)}
    assert np.array_equal(planes["axes 1 and 3"], axes[[0, 2]])
    assert np.array_equal(planes["principal components 1 and 2"], pca)
    scores = rows @ planes["linear discriminants 1 and 2"].T
    centers = np.array([scores[codes == k].mean(axis=0) for k in range(3)])
    spread = (scores - centers[codes]).std(axis=0)
    assert np.ptp(centers / spread, axis=0).min() > 3
    assert len(planes) == 5


def test_parallel_axes_and_two_groups_have_fewer_planes(rng):
    rows, axis = rng.normal(size=(40, 4)), rng.normal(size=(1, 4))
    pca = compute_principal_axes(rows)
    names = [
        plane.name for plane in list_planes(rows, np.vstack([axis, axis]), pca, np.zeros(40, int))
    ]
    assert names == ["principal components 1 and 2"]
    names = [plane.name for plane in list_planes(rows, axis, pca, np.arange(40) % 2)]
    assert names == ["axis 1 and principal component 1", "principal components 1 and 2"]


def test_a_single_row_has_no_principal_axes_to_warn_about():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compute_principal_axes(np.ones((1, 3))).shape == (1, 3)
