"""FeatureSelectionDisplay: numbers of features and loadings of the selected ones."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import OPGDClassifier, OPGDClassifierCV
from opgd.inspection.feature_selection import FeaturePath
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


def test_panels_are_drawn_on_axes_of_the_caller(plt, selected):
    figure, panels = plt.subplots(1, 2)
    display = FeatureSelectionDisplay.from_estimator(selected, top=2, ax=panels)
    assert display.axes_ == list(panels)
    assert display.figure_ is figure
    assert [text.get_text() for text in panels[1].get_yticklabels()] == display.columns[:2]
    assert f"2 of {len(display.columns)}" in panels[1].get_title()
    with pytest.raises(ValueError, match="for 2 panels"):
        display.plot(panels[0])


def test_many_features_and_components_are_drawn(plt, rng):
    sizes = np.array([2, 7, 40])
    display = FeatureSelectionDisplay(
        path=FeaturePath(sizes, 1 / sizes, 0.1 / sizes, selected=2, n_available=40),
        columns=[f"$x_{j}$" for j in range(40)],
        loadings=rng.normal(size=(40, 25)),
    )
    display.plot()
    assert display.ax_.get_xscale() == "log"
    assert "30 of 40" in display.axes_[1].get_title()
    assert "20 of 25" in display.axes_[1].get_xlabel()


def test_estimators_without_a_path_are_refused(selected):
    with pytest.raises(ValueError, match="OPGDClassifier has no sparsity_path_"):
        FeatureSelectionDisplay.from_estimator(OPGDClassifier(sparsity=3).fit(X, Y))
    with pytest.raises(ValueError, match="top"):
        FeatureSelectionDisplay.from_estimator(selected, top=0)
