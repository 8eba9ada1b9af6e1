"""The tour from principal components to the axes."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from opgd import (
    OPGDClassifier,
)
from opgd.inspection.estimators import standardize_rows
from opgd.inspection.tour import compute_principal_axes, make_tour
from tests.inspection.tours import tour_matrices


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True)


@pytest.fixture(scope="module")
def model(wine):
    return OPGDClassifier(n_components=2).fit(wine.data, wine.target)


def test_tour_goes_from_principal_components_to_the_scores(model, wine):
    rows = wine.data.to_numpy()
    standardized = standardize_rows(model, rows)
    coefficients = model.components_ * model._coordinates.scale
    tour, axes = make_tour(compute_principal_axes(standardized), coefficients)
    pca, scores = standardized @ axes.T, standardized @ coefficients.T

    def picture(t):
        first, second = tour_matrices(tour, t)
        return pca @ first + scores @ second

    assert np.allclose(picture(0), pca, atol=1e-12)
    center = model.components_ @ rows.mean(axis=0)
    assert np.allclose(picture(1), model.transform(wine.data) - center, atol=1e-9)
    steps = [np.abs(picture(t + 0.01) - picture(t)).max() for t in np.arange(0, 0.99, 0.01)]
    assert max(steps) < 3 * np.median(steps)  # no jump


@pytest.mark.parametrize("p", [2, 3, 4, 9])
def test_tour_begins_and_ends_exactly(p, rng):
    for _ in range(20):
        start = np.linalg.qr(rng.normal(size=(p, 2)))[0].T
        tour, _ = make_tour(start, rng.normal(size=(2, p)))
        assert np.allclose(tour_matrices(tour, 0), [np.eye(2), np.zeros((2, 2))])
        assert np.allclose(tour_matrices(tour, 1), [np.zeros((2, 2)), np.eye(2)])
        assert abs(tour.turns[1] - tour.turns[0]) <= np.pi / 2 + 1e-9


@pytest.mark.parametrize("p", [3, 4, 9])
def test_angles_grow_evenly_along_the_tour(p, rng):
    start = np.linalg.qr(rng.normal(size=(p, 2)))[0].T
    axes = rng.normal(size=(2, p))
    tour, start = make_tour(start, axes)
    for t in (0.3, 0.8):
        first, second = tour_matrices(tour, t)
        plane = np.linalg.qr((first.T @ start + second.T @ axes).T)[0]
        angles = np.arccos(np.clip(np.linalg.svd(start @ plane)[1], 0, 1))
        assert np.allclose(np.sort(angles), np.sort(t * tour.angles), atol=1e-6)


def test_tour_of_equal_and_of_perpendicular_planes():
    start = np.eye(4)[:2]
    for axes in (start, start[::-1], -start, np.eye(4)[2:], np.eye(4)[[2, 0]], np.eye(4)[1:3]):
        tour, own = make_tour(start, 3.0 * axes)
        first, second = tour_matrices(tour, 0.5)
        assert np.linalg.matrix_rank(first.T @ own + second.T @ (3.0 * axes)) == 2
        assert np.allclose(tour_matrices(tour, 1)[1], np.eye(2))
