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


def test_other_estimators_are_refused(wine):
    with pytest.raises(TypeError, match="LogisticRegression"):
        DriftDisplay.from_estimator(LogisticRegression(), wine[0])
