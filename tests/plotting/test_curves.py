"""RocDisplay and PrecisionRecallDisplay."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.svm import LinearSVC

from opgd.baselines import ReducedRankLDA
from opgd.plotting import PrecisionRecallDisplay, RocDisplay

DISPLAYS = [RocDisplay, PrecisionRecallDisplay]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X, y = X[:, :3], np.array(["x", "y", "z"])[y]
    return ReducedRankLDA().fit(X[::2], y[::2]), X[1::2], y[1::2]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    y = np.array(["malignant", "benign"])[y]
    return ReducedRankLDA().fit(X[::2, :5], y[::2]), X[1::2, :5], y[1::2]


def test_areas_are_scikit_learns(wine, rng):
    model, X, y = wine
    weights, posteriors = rng.exponential(size=len(y)), model.predict_proba(X)
    options = {"draw": False, "sample_weight": weights}
    roc = RocDisplay.from_estimator(model, X, y, **options).curves
    precision = PrecisionRecallDisplay.from_estimator(model, X, y, **options).curves
    for k, label in enumerate(model.classes_):
        scores = (y == label, posteriors[:, k])
        assert roc[k].area == pytest.approx(roc_auc_score(*scores, sample_weight=weights))
        expected = average_precision_score(*scores, sample_weight=weights)
        assert precision[k].area == pytest.approx(expected)
        assert roc[k].share == pytest.approx(np.average(y == label, weights=weights))


@pytest.mark.parametrize("display", DISPLAYS)
def test_of_two_classes_the_second_is_shown(display, cancer):
    curves = display.from_estimator(*cancer, draw=False).curves
    assert [curve.label for curve in curves] == ["malignant"]
    curves = display.from_estimator(*cancer, labels=["benign"], draw=False).curves
    assert [curve.label for curve in curves] == ["benign"]


@pytest.mark.parametrize("display", DISPLAYS)
def test_curves_are_drawn_with_their_areas(display, wine):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    drawn = display.from_estimator(*wine)
    entries = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert entries == [f"{curve.label} ({curve.area:.3f})" for curve in drawn.curves]
    for line, curve in zip(drawn.ax_.get_lines(), drawn.curves, strict=False):
        np.testing.assert_array_equal(line.get_ydata(), curve.y)
    pyplot.close(drawn.figure_)


def test_classifiers_of_scikit_learn_can_be_compared(cancer):
    _, X, y = cancer
    model = LogisticRegression(max_iter=5000).fit(X, y)
    (curve,) = RocDisplay.from_estimator(model, X, y, draw=False).curves
    assert curve.area == pytest.approx(roc_auc_score(y, model.decision_function(X)))


def test_what_has_no_curve_is_refused(wine, cancer):
    model, X, y = wine
    with pytest.raises(ValueError, match="unknown"):
        RocDisplay.from_estimator(model, X, y, labels=["w"], draw=False)
    with pytest.raises(ValueError, match="two classes"):
        RocDisplay.from_estimator(model, X[y == "x"], y[y == "x"], draw=False)
    with pytest.raises(ValueError, match="'x'"):
        RocDisplay.from_estimator(model, X[y != "x"], y[y != "x"], labels=["x"], draw=False)
    with pytest.raises(TypeError, match="LinearSVC"):
        RocDisplay.from_estimator(LinearSVC().fit(*cancer[1:]), *cancer[1:], draw=False)
