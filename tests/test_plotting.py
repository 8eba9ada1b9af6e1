"""Displays: the arrays first, then that drawing them works and says what it should."""

import functools
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.pipeline import make_pipeline

from opgd import OPGDClassifier, OPGDClassifierCV, OPGDMixture, OPGDSemiSupervised, compare
from opgd.baselines import (
    CommonPrincipalComponents,
    FlexibleDiscriminantAnalysis,
    GaussianMixturePursuit,
    KernelDiscriminantAnalysis,
    KernelNaiveBayes,
    LikelihoodRatioPursuit,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from opgd.inspection.bootstrap import match_axes
from opgd.inspection.palette import COLORS
from opgd.inspection.text import shorten
from opgd.inspection.thinning import thin
from opgd.plotting import (
    ComparisonDisplay,
    ComponentsDisplay,
    ConvergenceDisplay,
    LoadingsDisplay,
    PairsDisplay,
    ProjectionDisplay,
    loadings_table,
)
from opgd.plotting._scatter import spread_out
from opgd.plotting._styles import class_styles

WINE = load_wine(as_frame=True)
X, Y = WINE.data, WINE.target_names[WINE.target]
HOSTILE = [
    "$x_1^2$", "_hidden", "__", "cost $5", r"\frac{$}{", "new\nline", "", "שלום", "😀", "中文",
    "\ud800", "\u202eabc", "a" * 99 + "1", "a" * 99 + "2",
]  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return OPGDClassifier(n_components=3).fit(X, Y)


@pytest.fixture(scope="module")
def full():
    return OPGDClassifier(n_components=2, covariance_type="full", n_subclasses=2).fit(X, Y)


@pytest.fixture(scope="module")
def mixture():
    return OPGDMixture(range(1, 5), random_state=0).fit(X)


@pytest.fixture
def plt():
    """matplotlib on no screen; every figure is drawn once and closed."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")  # pages that ran in this process may have left some
    yield plt
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


def arrays(estimator, *args, **options):
    return ProjectionDisplay.from_estimator(estimator, *args, draw=False, **options)


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


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


def test_diagonal_models_have_upright_ellipses(model):
    display = arrays(model, X, Y)
    assert np.all(np.isin(display.ellipse_angles.round(8), [0, 90]))
    np.testing.assert_allclose(display.covariances[:, 0, 0], model.projected_variances_[:, 0])


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


def test_rows_are_thinned_by_class(model):
    codes = np.repeat([0, 1, 2], [9000, 990, 10])
    rows = thin(codes, 100)
    assert np.bincount(codes[rows]).tolist() == [90, 9, 1]
    assert np.array_equal(rows, thin(codes, 100))
    assert np.array_equal(thin(codes, None), np.arange(10000))
    counts = np.bincount(thin(np.arange(50) % 25, 25) % 25, minlength=25)
    assert counts.tolist() == [1] * 25
    with pytest.raises(ValueError, match="3 groups"):
        thin(codes, 2)
    display = arrays(model, X, Y, max_rows=50)
    assert len(display.scores) <= 50
    assert display.n_rows == 178
    np.testing.assert_allclose(display.scores, model.transform(X)[display.rows, :2])


def test_axis_labels_carry_shares(model, mixture):
    share = f"{100 * model.component_shares_[0]:.0f} %"
    assert arrays(model, X, Y).axis_labels[0] == f"axis 1 ({share} of the likelihood gain)"
    assert "of the objective gain" in arrays(mixture, X).axis_labels[1]
    assert arrays(ReducedRankLDA().fit(X, Y), X, Y).axis_labels == ["axis 1", "axis 2"]


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


def test_standardised_coefficients_ignore_units(model):
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


def test_axes_are_matched_by_correlation():
    correlation = np.array([[0.1, -0.9, 0.2], [0.8, 0.85, 0.0]])
    places, signs = match_axes(correlation)
    assert places.tolist() == [1, 0]
    assert signs.tolist() == [-1, 1]
    assert match_axes(correlation[:, :1])[0].tolist() == [-1, 0]


def test_bootstrap_intervals_hold_the_truth_and_narrow_with_rows(rng):
    def table(n_rows):
        labels = np.repeat([0, 1], n_rows // 2)
        rows = rng.normal(size=(n_rows, 3))
        rows[:, 0] += 2 * labels
        model = OPGDClassifier(n_components=1, shrinkage=1.0).fit(rows, labels)
        return loadings_table(model, rows, labels, n_bootstrap=40, random_state=0)

    small, large = table(100), table(1600)
    truth = np.array([1.0, 0.0, 0.0])  # unit variances within classes, which differ in one column
    for own in (small, large):
        assert np.all(own["coefficient_low"] <= own["coefficient_high"])
        slack = 0.05
        assert np.all(own["coefficient_low"] - slack < truth)
        assert np.all(truth < own["coefficient_high"] + slack)
    widths = [(own["correlation_high"] - own["correlation_low"]).mean() for own in (small, large)]
    assert widths[1] < 0.5 * widths[0]


@pytest.mark.parametrize("kind", ["classifier", "cv", "semi", "mixture", "baseline"])
def test_bootstrap_of_every_kind_of_estimator(kind):
    rows, labels = load_iris(return_X_y=True)
    partly = np.where(np.arange(150) % 3 == 0, labels, -1)
    estimator = {
        "classifier": OPGDClassifier(),
        "cv": OPGDClassifierCV((1, 2), shrinkage=0, ridge=0, cv=2),
        "semi": OPGDSemiSupervised(),
        "mixture": OPGDMixture((2, 3), random_state=0),
        "baseline": SlicedAverageVariance(n_components=2),
    }[kind].fit(rows, partly if kind == "semi" else labels)
    own = partly if kind == "semi" else labels
    one, two = (loadings_table(estimator, rows, own, n_bootstrap=5, random_state=1) for _ in "ab")
    pd.testing.assert_frame_equal(one, two)
    assert one.notna().all(axis=None)
    assert len(one) == estimator.components_.size
    inside = one["correlation"].between(one["correlation_low"] - 0.2, one["correlation_high"] + 0.2)
    assert inside.mean() > 0.7


def test_sizes_and_scores(model, mixture):
    panels = ComponentsDisplay.from_estimator(model, X, Y, draw=False).panels
    likelihoods, shares, errors = (panel.curves[0] for panel in panels)
    np.testing.assert_allclose(likelihoods.values, model.component_log_likelihoods_)
    assert shares.values.sum() == pytest.approx(1)
    assert errors.values[-1] == pytest.approx(1 - model.score(X, Y))
    panel = ComponentsDisplay.from_mixture(mixture, draw=False).panels[0]
    assert [curve.name for curve in panel.curves] == ["BIC", "ICL"]
    assert panel.chosen == (mixture.n_clusters_, mixture.selection_["bic"].min())
    values = ComponentsDisplay.from_eigenvalues(mixture, draw=False).panels[0].curves[0].values
    np.testing.assert_allclose(values, mixture.eigenvalues_)


def test_scores_of_cross_validation():
    search = OPGDClassifierCV((1, 2, 3), ridge=(0, 0.1), shrinkage=0, cv=3).fit(X, Y)
    panel = ComponentsDisplay.from_cv(search, draw=False).panels[0]
    curve, table = panel.curves[0], search.cv_results_
    for size, value in zip(curve.sizes, curve.values, strict=True):
        assert value == table["mean_test_score"][table["param_n_components"] == size].max()
    assert panel.chosen == (search.n_components_, search.best_score_)
    splits = [table[f"split{i}_test_score"][search.best_index_] for i in range(3)]
    chosen = curve.standard_errors[curve.sizes == search.n_components_][0]
    assert chosen == pytest.approx(np.std(splits, ddof=1) / np.sqrt(3))


def test_comparison_takes_failures_out():
    table = pd.DataFrame({"method": ["b", "a"] * 3, "error": [0.1, 0.2, 0.3, np.nan, 0.2, 0.4]})
    display = ComparisonDisplay.from_table(table, draw=False)
    assert display.methods == ["b", "a"]
    assert display.n_failed == [0, 1]
    np.testing.assert_allclose(display.quartiles[0], [0.1, 0.15, 0.2, 0.25, 0.3])
    with pytest.raises(ValueError, match="no column"):
        ComparisonDisplay.from_table(table, "seconds", draw=False)


def test_styles_repeat_no_pair_of_colour_and_marker():
    styles = class_styles(200)
    assert len(set(styles)) == 200
    assert [style.colour for style in styles[:10]] == COLORS
    assert len({style.marker for style in styles[:10]}) == 10


def test_long_names_lose_their_middle():
    assert shorten("abc", 5) == "abc"
    assert shorten("abcdefgh", 5) == "ab…gh"
    assert len(shorten("x" * 99)) == 28
    assert np.diff(np.sort(spread_out(np.array([1.0, 1.0, 1.0, 5.0]), 0.5))).min() >= 0.5 - 1e-12


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: arrays(m, X, Y, axes=(0, 3)), ValueError, "axes"),
        (lambda m: arrays(m, X, Y, axes=(0, 0)), ValueError, "different"),
        (lambda m: arrays(m, X, Y, axes=(0, 1, 2)), ValueError, "PairsDisplay"),
        (lambda m: arrays(m, X, Y, level=1.0), ValueError, "level"),
        (lambda m: arrays(m, X, Y[:-1]), ValueError, "inconsistent"),
        (lambda m: arrays(m, X, Y, axes=0, arrows=2), ValueError, "two axes"),
        (lambda m: arrays(make_pipeline(m), X, Y), TypeError, "last step"),
        (lambda m: arrays(RegularizedDiscriminantAnalysis(), X, Y), TypeError, "has axes"),
        (lambda m: loadings_table(m, X, n_bootstrap=2), ValueError, "labels y"),
        (lambda m: ComponentsDisplay.from_eigenvalues([1, 0.0]), ValueError, "positive"),
        (lambda m: PairsDisplay.from_estimator(m, X, axes=[1]), ValueError, "two axes"),
    ],
)
def test_what_cannot_be_drawn_is_refused(model, call, error, words):
    with pytest.raises(error, match=words):
        call(model)


@pytest.mark.parametrize(
    "draw",
    [
        lambda own: ProjectionDisplay.from_estimator(own, X, Y, draw=False),
        lambda own: PairsDisplay.from_estimator(own, X, Y, draw=False),
        lambda own: LoadingsDisplay.from_estimator(own, X, draw=False),
        lambda own: ComponentsDisplay.from_estimator(own, X, Y, draw=False),
        lambda own: loadings_table(own, X),
    ],
    ids=["projection", "pairs", "loadings", "components", "table"],
)
@pytest.mark.parametrize(
    "kind",
    [
        FlexibleDiscriminantAnalysis,
        GaussianMixturePursuit,
        KernelDiscriminantAnalysis,
        KernelNaiveBayes,
        LikelihoodRatioPursuit,
    ],
    ids=lambda own: own.__name__,
)
def test_baselines_without_gaussians_on_axes_are_refused_in_words(kind, draw):
    with pytest.raises(TypeError, match=rf"^{kind.__name__} (is|has) .*axes"):
        draw(fitted(kind))


@functools.cache
def fitted(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind().fit(X, Y)


def test_every_display_draws(plt, model, full, mixture):
    search = OPGDClassifierCV((1, 2), shrinkage=0, ridge=0, cv=0.3, random_state=0).fit(X, Y)
    table = compare(X, Y, ["LDA", "RDA"], cv=3, random_state=0, verbose=0)
    cpc = CommonPrincipalComponents(2).fit(X.to_numpy(), Y)
    displays = [
        ProjectionDisplay.from_estimator(model, X, Y, arrows=3, mark_errors=True),
        ProjectionDisplay.from_estimator(full, X, Y, decision_regions=True),
        ProjectionDisplay.from_estimator(mixture, X, Y, decision_regions=True),
        ProjectionDisplay.from_estimator(mixture, X, axes=0),
        ProjectionDisplay.from_estimator(cpc, X.to_numpy(), Y, legend=False, gaussians=False),
        ProjectionDisplay.from_estimator(OPGDClassifier(1).fit(X, Y), X, Y),
        PairsDisplay.from_estimator(model, X, Y),
        LoadingsDisplay.from_estimator(model, X, top=3),
        ComponentsDisplay.from_estimator(model, X, Y),
        ComponentsDisplay.from_cv(search),
        ComponentsDisplay.from_mixture(mixture),
        ComponentsDisplay.from_eigenvalues(mixture),
        ConvergenceDisplay.from_estimator(model),
        ComparisonDisplay.from_table(table),
        ComparisonDisplay.from_table(table, "seconds"),
    ]
    assert len(plt.get_fignums()) == len(displays)
    for display in displays:
        display.figure_.canvas.draw()
        plt.close(display.figure_)
        assert display.plot() is display  # again, on a figure of its own


def test_legend_says_what_is_drawn_and_covers_nothing(plt, full):
    display = ProjectionDisplay.from_estimator(
        full, X, Y, level=0.75, mark_errors=True, decision_regions=True, arrows=2, max_rows=100
    )
    words = " ".join(legend_texts(display.ax_))
    for part in ("class_0", "75 %", f"({display.n_wrong} of 178 rows)", "standard deviations"):
        assert part in words
    assert display.ax_.get_title() == f"{len(display.scores)} of 178 rows drawn"
    display.figure_.canvas.draw()
    box = display.ax_.get_legend().get_window_extent()
    assert box.x0 >= display.ax_.get_window_extent().x1
    assert box.x1 <= display.figure_.bbox.x1


def test_axes_of_the_caller_are_used(plt, model):
    figure, grid = plt.subplots(2, 3)
    display = ProjectionDisplay.from_estimator(model, X, Y, ax=grid[0, 0])
    assert display.ax_ is grid[0, 0]
    assert display.figure_ is figure
    ComponentsDisplay.from_estimator(model, X, Y, ax=grid[1])
    with pytest.raises(ValueError, match="2 axes for 3 panels"):
        LoadingsDisplay.from_estimator(model, ax=grid[0, 1:])


def test_hostile_names_are_shown_literally(plt, rng):
    labels = np.repeat(np.array(HOSTILE, dtype=object), 12)
    rows = 5 * rng.normal(size=(len(HOSTILE), 4)).repeat(12, axis=0) + rng.normal(
        size=(len(labels), 4)
    )
    frame = pd.DataFrame(rows, columns=["$a$_b", "_c", "x" * 300, "😀 $"])
    model = OPGDClassifier(n_components=2).fit(frame, labels)
    display = ProjectionDisplay.from_estimator(
        model, frame, labels, arrows=4, decision_regions=True
    )
    shown = legend_texts(display.ax_)
    assert sorted(display.names) == sorted(HOSTILE)
    for part in (r"\$x_1^2\$", "_hidden", "__", r"cost \$5", "new line", "(empty)", "[D800]"):
        assert part in shown, part
    assert sum(name.startswith("aaa") for name in shown) == 2
    assert len(set(shown)) == len(shown)
    strip = ProjectionDisplay.from_estimator(model, frame, labels, axes=1)
    pairs = PairsDisplay.from_estimator(model, frame, labels)
    loadings = LoadingsDisplay.from_estimator(model, frame)
    assert "_c" in [text.get_text() for text in loadings.ax_.get_yticklabels()]
    assert all(len(own.columns[2]) == 300 for own in [loadings])
    for own in (display, strip, pairs, loadings):
        own.figure_.canvas.draw()


def test_many_classes_have_a_legend_in_columns(plt, rng):
    labels = np.arange(70).repeat(6)
    rows = 9 * rng.normal(size=(70, 3)).repeat(6, axis=0) + rng.normal(size=(420, 3))
    model = OPGDClassifier(n_components=2, shrinkage=1.0, max_iter=0, init="lda").fit(rows, labels)
    display = ProjectionDisplay.from_estimator(model, rows, labels)
    texts = legend_texts(display.ax_)
    assert texts[59:61] == ["59", "and 10 more"]
    assert "90 %" in texts[-1]


def test_arrays_need_no_matplotlib_and_drawing_names_the_extra():
    program = """
import sys
sys.modules["matplotlib"] = None
from sklearn.datasets import load_iris
from opgd import OPGDClassifier
from opgd.plotting import ConvergenceDisplay, PairsDisplay, ProjectionDisplay
X, y = load_iris(return_X_y=True)
model = OPGDClassifier().fit(X, y)
ProjectionDisplay.from_estimator(model, X, y, arrows=2, decision_regions=True, draw=False)
PairsDisplay.from_estimator(model, X, y, draw=False)
try:
    ConvergenceDisplay.from_estimator(model)
except ImportError as error:
    assert "opgd[plot]" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
