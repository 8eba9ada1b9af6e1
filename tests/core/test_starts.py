import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler

from opgd.core import starts
from opgd.core.coordinates import make_frame
from opgd.core.engines import RowEngine
from opgd.core.regularization import whiten_classes


def posed(X, y):
    frame = make_frame(RowEngine(X, y, None))
    classes = frame.moments(y.max() + 1)
    whitening = whiten_classes(frame, classes)
    return whitening.coordinates, whitening.regularize(classes)[0]


def cosine(a, b):
    return abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def test_lda_start_is_lda(iris):
    coordinates, moments = posed(*iris)
    components = coordinates.components(starts.lda_axes(moments, 2))
    expected = LinearDiscriminantAnalysis(solver="eigen").fit(*iris).scalings_[:, :2].T
    for own, theirs in zip(components, expected, strict=True):
        assert cosine(own, theirs) > 1 - 1e-9


def test_lda_start_goes_on_with_orthogonal_directions(iris):
    _, moments = posed(*iris)
    axes = starts.lda_axes(moments, 4)
    np.testing.assert_allclose(axes @ axes.T, np.eye(4), atol=1e-10)


def test_directions_after_lda_are_where_variances_differ_most(rng):
    X, y = rng.normal(size=(4000, 5)), np.repeat([0, 1], 2000)
    X[y == 1, 0] += 3
    X[y == 1, 3] *= 4
    X[y == 1, 1] *= 2
    coordinates, moments = posed(X, y)
    second, third = coordinates.components(starts.lda_axes(moments, 3))[1:]
    assert cosine(second, np.eye(5)[3]) > 0.99
    assert cosine(third, np.eye(5)[1]) > 0.99


def test_paper_start_is_an_eigenvector_of_the_papers_matrix(iris):
    X, y = StandardScaler().fit_transform(iris[0]), iris[1]
    coordinates, moments = posed(X, y)
    components = coordinates.components(
        starts.paper_axes(coordinates, moments, 3, total_weight=0.01, start_ridge=0)
    )
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    between = means.T @ means / 3
    within = np.mean([np.cov(X[y == k].T, bias=True) for k in range(3)], axis=0)
    matrix = np.linalg.solve(within, between) + 0.01 * (within + between)
    for own in components:
        assert cosine(matrix @ own, own) > 1 - 1e-9


def test_pca_start_is_pca_of_standardized_columns(iris):
    X = StandardScaler().fit_transform(iris[0])
    coordinates, _ = posed(X, iris[1])
    components = coordinates.components(starts.pca_axes(coordinates, 2))
    expected = np.linalg.svd(X)[2][:2]
    for own, theirs in zip(components, expected, strict=True):
        assert cosine(own, theirs) > 1 - 1e-9


def test_save_start_finds_differences_of_variance(rng):
    X, y = rng.normal(size=(4000, 5)), np.repeat([0, 1], 2000)
    X[y == 1, 2] *= 5
    coordinates, moments = posed(X, y)
    component = coordinates.components(starts.save_axes(moments, 1))[0]
    assert cosine(component, np.eye(5)[2]) > 0.99
