"""The data that the page draws."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import OPGDClassifier, write_report
from opgd.report.summary import summarize
from tests.report.helpers import read_page_data, unpack


def test_page_holds_the_scores_and_the_columns(summary, model, wine):
    page = summary.page
    assert page["n_drawn"] == page["n_rows"] == 178
    centered = model.transform(wine.data) - model.transform(wine.data.mean().to_frame().T)
    for axis, scores in zip(page["axes"], centered.T, strict=True):
        assert np.allclose(unpack(axis), scores, atol=1e-5)
    for column in page["columns"]:
        assert np.allclose(unpack(column), wine.data[column["name"]], rtol=1e-6)
    assert np.array_equal(unpack(page["groupings"][0]["codes"]), wine.target)
    assert page["names"] is None
    json.dumps(page, allow_nan=False)


def test_many_rows_are_thinned_and_the_page_says_so(model, wine, tmp_path):
    path = write_report(model, wine.data, wine.target, path=tmp_path / "r.html", max_rows=50, cv=0)
    page = read_page_data(path)
    assert page["n_drawn"] <= 50
    assert page["n_rows"] == 178
    assert f"{page['n_drawn']} of 178 rows" in path.read_text("utf-8")


def test_missing_cells_are_marked_and_completed(wine):
    X = wine.data.to_numpy().copy()
    X[3, 2] = X[7, 2] = np.nan
    model = OPGDClassifier(n_components=2).fit(X, wine.target)
    page = summarize(model, X, wine.target, cv=0).page
    column = next(column for column in page["columns"] if column["name"] == "column 2")
    assert unpack(column["missing"]).tolist() == [3, 7]
    assert np.isfinite(unpack(column)).all()
    assert np.allclose(np.delete(unpack(column), [3, 7]), np.delete(X[:, 2], [3, 7]), rtol=1e-6)


def test_an_extreme_row_does_not_determine_the_frame(model, wine):
    X = wine.data.copy()
    X.iloc[3, :] += 500 * X.std()
    axis = summarize(model, X, wine.target, cv=0).page["axes"][0]
    low, high = axis["frame"]
    outside = (unpack(axis) < low) | (unpack(axis) > high)
    assert np.flatnonzero(outside).tolist() == [3]


def test_predictions_on_the_page_are_those_of_the_evaluation(summary, wine):
    page, y = summary.page, wine.target.to_numpy()
    predicted = unpack(page["groupings"][1]["codes"])
    assert np.mean(predicted != y) == pytest.approx(summary.evaluation.error)
    wrong = np.flatnonzero(unpack(page["groupings"][2]["codes"]) == 1)
    assert wrong.tolist() == sorted(row.row for row in summary.performance.wrong)


def test_test_rows_are_drawn_and_named_by_their_table(wine):
    X, y = wine.data.set_index(np.arange(178) // 2 + 500), wine.target.to_numpy()
    pipeline = make_pipeline(StandardScaler(), OPGDClassifier(2)).set_output(transform="pandas")
    pipeline.fit(X[:120], y[:120])
    page = summarize(pipeline, X[:120], y[:120], X_test=X[120:], y_test=y[120:]).page
    assert (page["n_rows"], page["n_train"]) == (178, 120)
    assert page["names"][:2] == ["500 (row 0)", "500 (row 1)"]
    assert page["names"][120] == "560 (row 0)"  # the position in the test set
    assert unpack(page["groupings"][3]["codes"]).tolist() == [0] * 120 + [1] * 58
    scores = pipeline.transform(X).iloc[:, 0]
    assert np.ptp(unpack(page["axes"][0]) - scores) < 1e-4
    cells = page["originals"][0]
    words = np.array(cells["words"])[unpack(cells["codes"])]
    assert np.allclose(words.astype(float), X[cells["name"]], rtol=1e-5)
