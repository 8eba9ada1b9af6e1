"""ProjectionDisplay: its arrays, and what its legend says."""

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.datasets import load_digits

from opgd import DataWarning, OPGDClassifier, OPGDSemiSupervised
from opgd.plotting import ProjectionDisplay
from tests.plotting.helpers import WINE, X, Y, arrays, legend_texts


def test_scores_are_those_of_transform(model):
    display = arrays(model, X, Y, axes=(2, 0))
    np.testing.assert_allclose(display.scores, model.transform(X)[:, [2, 0]])
    assert [display.names[code] for code in display.codes] == list(Y)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_ellipses_are_those_of_the_models_covariances(full, level):
    display = arrays(full, X, Y, level=level)
    for covariance, lengths, angle in zip(
        full.projected_variances_, display.ellipse_lengths, display.ellipse_angles, strict=True
    ):
        eigenvalues = np.linalg.eigvalsh(covariance)[::-1]
        radius = chi2.ppf(level, 2)
        np.testing.assert_allclose(lengths**2, radius * eigenvalues)
        area = np.pi * radius * np.sqrt(np.linalg.det(covariance))
        assert np.pi * lengths.prod() == pytest.approx(area)
        longer = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
        np.testing.assert_allclose(covariance @ longer, eigenvalues[0] * longer, atol=1e-10)


def test_ellipses_hold_the_stated_share_of_rows_of_the_model(full, rng):
    display = arrays(full, X, level=0.8)
    drawn = rng.multivariate_normal(display.means[0], display.covariances[0], 20000)
    angle = np.radians(display.ellipse_angles[0])
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    places = (drawn - display.means[0]) @ turn.T / display.ellipse_lengths[0]
    assert np.mean(np.sum(places**2, axis=1) < 1) == pytest.approx(0.8, abs=0.015)


def test_regions_of_two_axes_are_the_models_predictions():
    rows = X.iloc[:, [0, 6]].to_numpy()
    for options in (
        {},
        {"covariance_type": "full", "n_subclasses": 2},
        {"priors": [0.8, 0.1, 0.1]},
    ):
        model = OPGDClassifier(n_components=2, **options).fit(rows, Y)
        regions = arrays(model, rows, Y, decision_regions=True).regions
        points = np.stack([axis.ravel() for axis in np.meshgrid(*regions.grid)], axis=1)
        back = np.linalg.solve(model.components_, points.T).T
        expected = np.searchsorted(model.classes_, model.predict(back))
        assert np.mean(expected == regions.codes.ravel()) > 0.9999  # rounding on borders


def test_errors_are_those_of_all_axes():
    rows, labels = load_digits(return_X_y=True)
    rows = rows[:, rows.std(axis=0) > 1]
    model = OPGDClassifier(n_components=3, ridge=0.1).fit(rows, labels)
    display = arrays(model, rows, labels, max_rows=500)
    wrong = model.predict(rows) != labels
    assert display.n_wrong == wrong.sum()
    assert np.array_equal(display.wrong, wrong[display.rows])


def test_labels_of_no_class_are_kept_apart(model):
    some = np.where(np.arange(len(Y)) % 3 == 0, Y, "unheard of")
    display = arrays(model, X, some)
    assert np.array_equal(display.codes < 0, some == "unheard of")
    assert not np.any(display.wrong[display.codes < 0])
    partly = np.where(np.arange(len(Y)) % 5 == 0, WINE.target, -1)
    semi = OPGDSemiSupervised().fit(X, partly)
    assert np.array_equal(arrays(semi, X, partly).codes, partly)
    minus = OPGDClassifier().fit(X, WINE.target - 1)  # here -1 is a class
    assert np.array_equal(arrays(minus, X, WINE.target - 1).codes, WINE.target)


def test_mixtures_take_any_labels(mixture):
    assert np.array_equal(arrays(mixture, X).codes, mixture.labels_)
    mixed = [None if i % 2 else label for i, label in enumerate(Y)]
    display = arrays(mixture, X, mixed)
    assert display.kind == "label"
    assert np.array_equal(display.codes, np.where(np.arange(len(Y)) % 2, -1, WINE.target))


def test_arrows_are_regressions_of_scores_on_columns(model):
    display = arrays(model, X, Y, arrows=4)
    assert len(display.arrows.names) == 4
    scores = model.transform(X)
    for name, shift in zip(display.arrows.names, display.arrows.shifts, strict=True):
        slopes = [np.polyfit(X[name], scores[:, a], 1)[0] for a in (0, 1)]
        np.testing.assert_allclose(shift, np.array(slopes) * X[name].std(ddof=0))


def test_arrows_have_different_directions(model):
    display = arrays(model, X, Y, arrows=13)
    steps = display.arrows.shifts / np.diff(display.limits, axis=0)
    units = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    angles = np.degrees(np.arccos(np.clip(units @ units.T, -1, 1)))
    assert angles[np.triu_indices(len(angles), 1)].min() > 8.9
    omitted = sum(map(len, display.arrows.similar))
    assert len(display.arrows.names) + omitted <= 13
    assert omitted > 0


def test_one_extreme_row_is_outside_the_plot(plt, model):
    rows = X.copy()
    rows.iloc[5] += 40 * X.std()
    display = ProjectionDisplay.from_estimator(model, rows, Y)
    assert np.flatnonzero(display.frame.is_outside).tolist() == [5]
    assert "outside the plot\n(1 row)" in legend_texts(display.ax_)
    everything = arrays(model, rows, Y, frame="all")
    assert everything.n_outside == 0
    assert np.all(np.diff(everything.limits, axis=0) > np.diff(display.limits, axis=0))


def test_numbers_along_the_axes_count_from_the_center_of_the_training_data(plt, model):
    moved = OPGDClassifier(n_components=2).fit(X + 1000, Y)
    display = ProjectionDisplay.from_estimator(moved, X + 1000, Y)
    np.testing.assert_allclose(display.origin, moved.components_ @ (X.mean() + 1000), rtol=1e-9)
    display.figure_.canvas.draw()
    for axis, origin, scores in [
        (display.ax_.xaxis, display.origin[0], display.scores[:, 0]),
        (display.ax_.yaxis, display.origin[1], display.scores[:, 1]),
    ]:
        texts = [text.get_text() for text in axis.get_ticklabels()]
        numbers = [float(text.replace("\u2212", "-")) for text in texts]
        np.testing.assert_allclose(axis.get_ticklocs() - origin, numbers, atol=1e-6)
        assert np.abs(scores - origin).max() < 20


def test_labels_that_are_not_classes_are_reported():
    names = np.array(["a", "b", "c"])[np.unique(Y, return_inverse=True)[1]]
    with pytest.warns(DataWarning, match="y has 'a', the classes are"):
        ProjectionDisplay.from_estimator(OPGDClassifier(2).fit(X, Y), X, names, draw=False)
