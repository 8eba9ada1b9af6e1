"""The data that the page draws."""

import json

import numpy as np

from opgd import (
    write_report,
)
from tests.report.helpers import read_page_data, unpack


def test_page_holds_the_scores_and_the_columns(summary, model, wine):
    page = summary.page
    assert page["n_drawn"] == page["n_rows"] == 178
    for axis, scores in zip(page["axes"], model.transform(wine.data).T, strict=True):
        assert np.allclose(unpack(axis), scores, atol=1e-5)
    for column in page["columns"]:
        assert np.allclose(unpack(column), wine.data[column["name"]], rtol=1e-6)
    assert np.array_equal(unpack(page["groupings"][0]["codes"]), wine.target)
    assert page["names"] is None
    json.dumps(page, allow_nan=False)


def test_many_rows_are_thinned_and_the_page_says_so(model, wine, tmp_path):
    path = write_report(model, wine.data, wine.target, path=tmp_path / "r.html", max_rows=50)
    page = read_page_data(path)
    assert page["n_drawn"] <= 50
    assert page["n_rows"] == 178
    assert f"{page['n_drawn']} of 178 rows" in path.read_text("utf-8")
