"""DriftDisplay."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression

from opgd import OPGDClassifier
from opgd.plotting import DriftDisplay

pytest.importorskip("matplotlib").use("Agg")


@pytest.fixture(scope="module")
def wine():
    data = load_wine(as_frame=True)
    return data.data, data.target_names[data.target]


def test_the_largest_shifts_come_first(wine):
    X, y = wine
    model = OPGDClassifier().fit(X, y)
    moved = X.assign(hue=X["hue"] + 0.5)
    display = DriftDisplay.from_estimator(model, moved, draw=False)
    assert display.features["feature"][0] == "hue"
    assert np.all(np.diff(np.abs(display.features["shift"])) <= 0)


def test_three_panels_are_drawn(wine):
    from matplotlib import pyplot

    X, y = wine
    display = DriftDisplay.from_estimator(OPGDClassifier().fit(X, y), X[y == y[0]])
    assert [panel.get_title() for panel in display.axes_] == ["columns", "axes", "classes"]
    assert len(display.axes_[0].patches) == 12
    assert [label.get_text() for label in display.axes_[2].get_yticklabels()] == np.unique(
        y
    ).tolist()
    pyplot.close(display.figure_)


def test_other_estimators_are_refused(wine):
    with pytest.raises(TypeError, match="LogisticRegression"):
        DriftDisplay.from_estimator(LogisticRegression(), wine[0])
