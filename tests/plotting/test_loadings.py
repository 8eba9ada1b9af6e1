"""LoadingsDisplay: coefficients and correlations."""

import warnings

import numpy as np
from sklearn.datasets import load_iris

from opgd import OPGDClassifier
from opgd.plotting import (
    LoadingsDisplay,
    loadings_table,
)
from tests.plotting.helpers import X, Y


def test_structure_loadings_are_correlations(model):
    display = LoadingsDisplay.from_estimator(model, X, draw=False)
    scores = model.transform(X)
    expected = np.corrcoef(scores.T, X.T)[:3, 3:]
    np.testing.assert_allclose(display.correlations, expected, atol=1e-10)
    table = loadings_table(model, X)
    np.testing.assert_allclose(table["correlation"], expected.ravel(), atol=1e-10)
    np.testing.assert_allclose(table["coefficient"], model.components_.ravel())
    assert table["column"].tolist() == 3 * list(X.columns)


def test_correlations_survive_an_offset_and_a_constant_column(model):
    moved = X.to_numpy() + 1e7
    moved[:, 2] = 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        far = OPGDClassifier(n_components=2).fit(moved, Y)
    own = LoadingsDisplay.from_estimator(far, moved, draw=False).correlations
    assert np.array_equal(np.isnan(own), np.tile(np.arange(13) == 2, (2, 1)))
    near = moved - 1e7
    expected = np.corrcoef((near @ far.components_.T).T, np.delete(near, 2, axis=1).T)[:2, 2:]
    np.testing.assert_allclose(np.delete(own, 2, axis=1), expected, atol=1e-6)


def test_standardized_coefficients_ignore_units(model):
    rows, labels = load_iris(return_X_y=True)
    units = np.array([1e-6, 1e-2, 1e3, 1e6])
    one, other = (
        LoadingsDisplay.from_estimator(OPGDClassifier(2).fit(own, labels), draw=False)
        for own in (rows, rows * units)
    )
    np.testing.assert_allclose(one.coefficients, other.coefficients, atol=1e-3)
    own = LoadingsDisplay.from_estimator(model, top=5, draw=False)
    expected = model.components_ * X.to_numpy().std(axis=0)
    np.testing.assert_allclose(own.coefficients, expected, rtol=1e-10)
    sizes = np.take_along_axis(np.abs(own.coefficients), own.order, axis=1)
    assert own.order.shape == (3, 5)
    assert np.all(np.diff(sizes, axis=1) <= 0)
