"""FeatureSelectionDisplay: numbers of features and loadings of the selected ones."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import OPGDClassifier, OPGDClassifierCV
from opgd.plotting import FeatureSelectionDisplay, LoadingsDisplay
from tests.plotting.helpers import X, Y


@pytest.fixture(scope="module")
def selected():
    scaler = StandardScaler().set_output(transform="pandas")
    search = OPGDClassifierCV(2, sparsity=(1, 4, 13), n_subclasses=1, ridge=0.1, cv=3)
    return make_pipeline(scaler, search).fit(X, Y)


def test_numbers_are_those_of_the_path_and_of_the_loadings(selected):
    search = selected[-1]
    display = FeatureSelectionDisplay.from_estimator(selected, draw=False)
    path = display.path
    np.testing.assert_array_equal(path.n_features, [1, 4, 13])
    np.testing.assert_array_equal(path.errors, search.sparsity_path_["mean_test_error"])
    n_selected = path.n_features[path.selected]
    assert display.columns == X.columns[search.feature_order_[:n_selected]].tolist()
    loadings = LoadingsDisplay.from_estimator(selected, draw=False)
    for name, row in zip(display.columns, display.loadings, strict=True):
        np.testing.assert_array_equal(row, loadings.coefficients[:, loadings.columns.index(name)])


def test_estimators_without_a_path_are_refused(selected):
    with pytest.raises(ValueError, match="OPGDClassifier has no sparsity_path_"):
        FeatureSelectionDisplay.from_estimator(OPGDClassifier(sparsity=3).fit(X, Y))
    with pytest.raises(ValueError, match="top"):
        FeatureSelectionDisplay.from_estimator(selected, top=0)
