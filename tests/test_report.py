"""The report's numbers, its text and its file; what a browser makes of it is tested elsewhere."""

import base64
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, log_loss

from opgd import (
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    OPGDSemiSupervised,
    write_report,
)
from opgd.baselines import LikelihoodRatioPursuit, ReducedRankLDA
from opgd.inspection.cross_validation import predict_held_out
from opgd.inspection.estimators import standardize_rows
from opgd.inspection.evaluation import compute_calibration, evaluate
from opgd.inspection.tour import compute_principal_axes, make_tour
from opgd.report.rows import pack_centered, pack_steps
from opgd.report.summary import summarise
from tests.tours import tour_matrices

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "{{7*7}}{% raw %}",
    '=HYPERLINK("x")',
    "\u202e\u05e9\u05dc\u05d5\u05dd\u2028\u2029 <!--<script>",
    "😀\ud800 \x00&amp;",
    "n" * 300,
]


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True)


@pytest.fixture(scope="module")
def model(wine):
    return OPGDClassifier(n_components=2).fit(wine.data, wine.target)


@pytest.fixture(scope="module")
def summary(model, wine):
    return summarise(model, wine.data, wine.target)


def unpacked(packed):
    raw = np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["type"])
    return raw if "offset" not in packed else packed["offset"] + packed["step"] * raw.astype(float)


def test_numbers_on_test_rows_are_scikit_learns(model, wine):
    X, y = wine.data[::3], wine.target[::3].to_numpy()
    found = summarise(model, wine.data, wine.target, X_test=X, y_test=y).evaluation
    assert found.source == "test"
    assert found.n_rows == len(y)
    assert np.array_equal(found.confusion, confusion_matrix(y, model.predict(X)))
    assert found.error == pytest.approx(1 - model.score(X, y))
    assert found.log_loss == pytest.approx(log_loss(y, model.predict_proba(X)))


def test_without_test_rows_each_row_is_left_out_once(summary):
    found = summary.evaluation
    assert found.source == "cv"
    assert found.confusion.sum() == found.n_rows == 178
    assert found.error == pytest.approx(1 - np.trace(found.confusion) / 178)
    assert 0 < found.error < 0.1  # the training rows themselves have no error
    assert summary.doubtful_left_out
    assert summary.n_doubtful >= 1


def test_training_rows_are_used_where_asked_or_needed(model, wine):
    found = summarise(model, wine.data, wine.target, cv=0).evaluation
    assert found.source == "training"
    assert found.error == 0
    X, y = wine.data.to_numpy(), wine.target.to_numpy().copy()
    y[0] = 7
    lonely = OPGDClassifier(n_components=2, shrinkage=0.5).fit(X, y)
    assert "fewer than two" in summarise(lonely, X, y).evaluation.note


@pytest.fixture
def pairs(rng):
    """Rows that are there twice, with labels that say nothing of them: codes and pairs."""
    X = np.repeat(rng.normal(size=(40, 2)), 2, axis=0)
    return X, np.repeat(rng.permutation(40) % 2, 2), np.repeat(np.arange(40), 2)


def test_groups_are_left_out_together(pairs):
    X, y, groups = pairs
    X = X + 100 * groups[:, None] ** 2  # a copy of the row, or none

    class Memory(ReducedRankLDA):
        """Knows the rows that it was fitted to."""

        def fit(self, X, y):
            self.seen = {tuple(row) for row in X}
            return super().fit(X, y)

        def predict_proba(self, X):
            known = [tuple(row) in self.seen for row in X]
            return np.column_stack([known, np.logical_not(known)]).astype(float)

    model = Memory().fit(X, y)
    alone, how = predict_held_out(model, X, y, y, 5)
    assert alone[:, 0].any()
    assert "5 folds was" in how
    together, how = predict_held_out(model, X, y, y, 5, groups)
    assert not together[:, 0].any()
    assert "5 folds of groups was" in how
    codes = np.where(np.arange(80) % 2, y, -1)  # rows without a label go with their group
    some, _ = predict_held_out(model, X, y, codes, 5, groups)
    assert not some[codes >= 0, 0].any()


def test_groups_that_cannot_be_left_out_are_told(pairs):
    X, y, groups = pairs
    model = ReducedRankLDA().fit(X, y)
    few, how = predict_held_out(model, X, y, y, 5, groups % 3)
    assert not np.isnan(few).any()
    assert "each of 3 folds of groups" in how
    for own, words in [(0 * groups, "of one group"), (y, "some class is only in groups")]:
        assert predict_held_out(model, X, y, y, 5, own)[0] is None
        assert words in predict_held_out(model, X, y, y, 5, own)[1]


def test_evaluation_counts_by_hand():
    probabilities = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.45, 0.55]])
    found = evaluate(probabilities, np.array([0, 1, 1, -1]), "test", "")
    assert found.confusion.tolist() == [[1, 0], [1, 1]]
    assert found.n_unknown == 1
    assert found.error == 0.5  # a label that is no class counts as wrong
    cut = np.finfo(float).eps
    assert found.log_loss == pytest.approx(-np.log([0.9, 0.4, 0.8, cut]).mean())
    assert found.recalls.tolist() == [1, 0.5]
    assert found.precisions.tolist() == [0.5, 1]
    assert found.confused_pairs() == [(1, 0, 1)]
    assert found.calibration["n_rows"] == [2, 1, 1]
    assert found.calibration["confidence"] == pytest.approx([0.575, 0.8, 0.9])
    assert found.calibration["accuracy"] == [0, 1, 1]
    assert found.calibration_error == pytest.approx((2 * 0.575 + 0.2 + 0.1) / 4)


def test_calibrated_predictions_have_little_calibration_error(rng):
    confidence = rng.uniform(0.5, 1, size=20000)
    table = compute_calibration(confidence, rng.random(20000) < confidence)
    assert np.allclose(table["accuracy"], table["confidence"], atol=0.03)
    few = compute_calibration(np.full(10, 0.75), np.arange(10) < 8)
    assert (few["low"], few["high"], few["n_rows"]) == ([0.7], [0.8], [10])
    assert few["accuracy_low"] + few["accuracy_high"] == pytest.approx([0.4902, 0.9433], abs=1e-4)


def test_tour_goes_from_principal_components_to_the_scores(model, wine):
    rows = wine.data.to_numpy()
    standardised = standardize_rows(model, rows)
    coefficients = model.components_ * model._coordinates.scale
    tour, axes = make_tour(compute_principal_axes(standardised), coefficients)
    pca, scores = standardised @ axes.T, standardised @ coefficients.T

    def picture(t):
        first, second = tour_matrices(tour, t)
        return pca @ first + scores @ second

    assert np.allclose(picture(0), pca, atol=1e-12)
    centre = model.components_ @ rows.mean(axis=0)
    assert np.allclose(picture(1), model.transform(wine.data) - centre, atol=1e-9)
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


def test_page_holds_the_scores_and_the_columns(summary, model, wine):
    page = summary.page
    assert page["n_drawn"] == page["n_rows"] == 178
    for axis, scores in zip(page["axes"], model.transform(wine.data).T, strict=True):
        assert np.allclose(unpacked(axis), scores, atol=1e-5)
    for column in page["columns"]:
        assert np.allclose(unpacked(column), wine.data[column["name"]], rtol=1e-6)
    assert np.array_equal(unpacked(page["groupings"][0]["codes"]), wine.target)
    assert page["names"] is None
    json.dumps(page, allow_nan=False)


def test_packing_keeps_digits_of_offset_columns():
    values = 1e9 + np.linspace(0, 1, 101)
    assert np.allclose(unpacked(pack_centered(values)), values, rtol=0, atol=1e-6)
    assert np.allclose(unpacked(pack_steps(values)), values, rtol=0, atol=1e-4)
    assert np.all(unpacked(pack_steps(np.full(3, 2.5))) == 2.5)


def test_many_rows_are_thinned_and_the_page_says_so(model, wine, tmp_path):
    path = write_report(model, wine.data, wine.target, path=tmp_path / "r.html", max_rows=50)
    page = embedded(path)
    assert page["n_drawn"] <= 50
    assert page["n_rows"] == 178
    assert f"{page['n_drawn']} of 178 rows" in path.read_text("utf-8")


def test_far_rows_are_farther_than_chance(summary, model, wine):
    typicality = model.typicality(wine.data)
    assert [own.row for own in summary.far] == sorted(
        np.flatnonzero(typicality * 178 < 1).tolist(), key=lambda row: typicality[row]
    )


def test_a_wrong_label_is_the_first_to_look_at(wine):
    y = wine.target.to_numpy().copy()
    y[5] = 2
    model = OPGDClassifier(n_components=2, shrinkage=0.1).fit(wine.data, y)
    first = summarise(model, wine.data, y).doubtful[0]
    assert first.row == 5
    assert (first.label, first.predicted) == (2, 0)


def test_loadings_are_standardised_coefficients(summary, model, wine):
    own = summary.loadings[0]
    spread = wine.data.to_numpy().std(axis=0)
    expected = model.components_[0] * spread
    assert np.allclose(own.coefficients, expected[own.columns])
    assert np.all(np.diff(np.abs(own.coefficients)) <= 0)


def test_report_on_a_mixture(wine):
    mixture = OPGDMixture((2, 3), random_state=0).fit(wine.data)
    found = summarise(mixture, wine.data, wine.target_names[wine.target])
    own = found.clusters
    assert found.evaluation is None
    assert own.sizes == np.bincount(mixture.labels_).tolist()
    assert own.n_moved == np.sum(mixture.labels_ != mixture.initial_labels_)
    assert np.array_equal(own.from_start.sum(axis=0), own.sizes)
    assert own.known.sum() == 178
    assert own.rand_index > 0.9
    assert [entry["n_clusters"] for entry in own.selection] == [2, 3]
    assert own.selection[own.chosen]["bic"] == min(entry["bic"] for entry in own.selection)
    other = summarise(mixture, wine.data[:50]).clusters
    assert other.from_start is None
    assert other.known is None


def make_models():
    X, y = load_iris(return_X_y=True)
    some = np.where(np.arange(150) % 3 == 0, y, -1)
    return {
        "search": (OPGDClassifierCV((1, 2), shrinkage=0, ridge=0.1, cv=3).fit(X, y), X, y),
        "one axis": (OPGDClassifier(n_components=1).fit(X, y), X, y),
        "one column": (OPGDClassifier().fit(X[:, :1], y), X[:, :1], y),
        "partly labelled": (OPGDSemiSupervised().fit(X, some), X, some),
        "two words": (OPGDClassifier().fit(X[:100], np.where(y, "b", "a")[:100]), X[:100], None),
        "full": (OPGDClassifier(covariance_type="full", n_subclasses=2).fit(X, y), X, y),
        "baseline": (ReducedRankLDA(2).fit(X, y), X, y),
        "mixture": (OPGDMixture(3, random_state=0).fit(X), X, None),
    }


@pytest.mark.filterwarnings("ignore")
def test_reports_on_all_kinds_of_models(tmp_path):
    for name, (model, X, y) in make_models().items():
        if name == "two words":
            y = np.repeat(["a", "b"], 50)
        path = write_report(model, X, y, path=tmp_path / f"{name}.html")
        assert len(embedded(path)["axes"]) == len(model.components_), name


def embedded(path):
    text = path.read_text("utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, flags=re.S).group(1))


@pytest.fixture(scope="module")
def hostile(wine, tmp_path_factory):
    names = pd.Index(HOSTILE, dtype=object)  # pyarrow has no lone surrogates
    X = wine.data.iloc[:, :6].set_axis(names, axis=1)
    X.index = [f"{HOSTILE[0]}{i}" for i in range(len(X))]
    y = np.array(HOSTILE[:3])[wine.target]
    model = OPGDClassifier(n_components=3).fit(X, y)
    path = tmp_path_factory.mktemp("report") / "hostile.html"
    return write_report(model, X, y, path=path, title=HOSTILE[0] + HOSTILE[1])


def test_hostile_names_stay_text(hostile):
    text = hostile.read_text("utf-8")
    own = text[: text.index("<script>")] + text[text.rindex("</script>") :]  # without scripts
    assert "<img" not in own
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;{{7*7}}{% raw %}" in own
    assert "49" not in re.search(r"<title>(.*?)</title>", own).group(1)
    data = re.search(r'id="data">(.*?)</script>', text, flags=re.S).group(1)
    assert not set("<>&\u2028\u2029") & set(data)
    page = json.loads(data)
    assert {column["name"] for column in page["columns"]} == set(HOSTILE)
    assert page["names"][3] == HOSTILE[0] + "3"


def test_page_asks_for_nothing_from_elsewhere(hostile):
    text = hostile.read_text("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', text).group(1)
    assert "http" not in policy
    assert policy.startswith("default-src &#39;none&#39;")
    own = re.sub(r"<script.*?</script>", "", text, flags=re.S)
    own = own.replace("src=x onerror", "")  # escaped, in a title
    assert not re.search(r"""(src|href)=(?!["'](#|data:,))""", own)
    assert text.count("plotly.js v") == 1


def test_same_model_gives_the_same_bytes(model, wine, tmp_path):
    paths = [
        write_report(model, wine.data, wine.target, path=tmp_path / f"{i}.html") for i in range(2)
    ]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_files_are_replaced_only_when_asked(model, wine, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_report(model, wine.data, wine.target, path=path)
    assert path.read_text() == "mine"
    write_report(model, wine.data, wine.target, path=path, overwrite=True)
    assert path.stat().st_size > 1e6
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write_report(model, wine.data, wine.target, path=tmp_path / "none" / "r.html")
    assert sorted(own.name for own in tmp_path.iterdir()) == ["report.html"]


def test_wrong_arguments_are_named(model, wine, tmp_path):
    path = tmp_path / "r.html"
    with pytest.raises(ValueError, match="needs y"):
        write_report(model, wine.data, path=path)
    with pytest.raises(ValueError, match="X_test and y_test"):
        write_report(model, wine.data, wine.target, X_test=wine.data, path=path)
    with pytest.raises(ValueError, match="inconsistent"):
        write_report(model, wine.data, wine.target[:5], path=path)
    with pytest.raises(TypeError, match="LogisticRegression"):
        write_report(LogisticRegression(), wine.data, wine.target, path=path)
    pursuit = LikelihoodRatioPursuit().fit(wine.data, wine.target)
    with pytest.raises(TypeError, match="no Gaussians on all of them"):
        write_report(pursuit, wine.data, wine.target, path=path)
    with pytest.raises(NotFittedError):
        write_report(OPGDClassifier(), wine.data, wine.target, path=path)
    mixture = OPGDMixture(2, random_state=0).fit(wine.data)
    with pytest.raises(ValueError, match="for classifiers"):
        write_report(mixture, wine.data, X_test=wine.data, y_test=wine.target, path=path)
    assert not path.exists()


def test_importing_the_package_needs_neither_plotly_nor_jinja2():
    code = "import sys, opgd; print(*{'plotly', 'jinja2', 'opgd.plotting'} & set(sys.modules))"
    own = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert own.stdout.strip() == ""


def test_without_plotly_the_extra_is_named(model, wine, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r"opgd\[report\]"):
        write_report(model, wine.data, wine.target, path=tmp_path / "r.html")


def test_fifty_thousand_rows_fit_into_fifteen_megabytes(rng, tmp_path):
    y = rng.integers(10, size=50_000)
    X = rng.normal(size=(50_000, 30)) + 3 * rng.normal(size=(10, 30))[y]
    model = OPGDClassifier(max_iter=2, tol=10.0).fit(X, y)
    path = write_report(model, X, y, path=tmp_path / "r.html")
    assert path.stat().st_size < 15e6
    assert len(embedded(path)["columns"]) == 30


def test_groups_are_left_out_together_and_must_be_known(tmp_path, rng):
    X, y = np.tile(rng.normal(size=(40, 3)), (3, 1)), np.tile(np.arange(40) % 2, 3)
    model, groups = OPGDClassifier(2).fit(X, y), np.tile(np.arange(40), 3)
    alone, together = (
        summarise(model, X, y, groups=own).evaluation.log_loss for own in (None, groups)
    )
    assert together > alone + 0.1  # a copy of a row gives its label away
    path = tmp_path / "r.html"
    with pytest.raises(ValueError, match="missing values"):
        write_report(model, X, y, path=path, groups=np.where(groups == 3, np.nan, groups))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        write_report(model, X, y, path=path, groups=groups[1:])
    with pytest.raises(ValueError, match="groups are for classifiers"):
        write_report(OPGDMixture(2).fit(X), X, path=path, groups=groups)
    assert not path.exists()
