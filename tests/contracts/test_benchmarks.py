"""The page of the public benchmark is that of its results."""

import numpy as np
import pytest

pytest.importorskip("psutil")
pytest.importorskip("benchmarks")  # not in source distributions

from benchmarks import public, selection
from benchmarks.data import Recipe


def test_the_public_page_is_what_the_results_give():
    raw = selection.read_raw()
    page = public.PAGE.read_text("utf-8")
    assert public.fill_page(page, raw) == page, "run python -m benchmarks public-benchmark"
    ours = (raw["method"] == "opgd") & (raw["table"] == "more/rice")
    assert public.fill_page(page, raw.assign(error=raw["error"] + 0.2 * ours)) != page
    gone = (raw["table"] == "glass") & (raw["seed"] == 3)
    with pytest.raises(ValueError, match="Results of OPGD are not complete"):
        public.fill_page(page, raw[~gone])


def test_rows_do_not_depend_on_where_they_are_made():
    recipe = Recipe(n_columns=4, n_classes=3)
    X, labels = recipe.made(250, 100)
    np.testing.assert_array_equal(X[100:200], recipe.rows(1, 100))
    np.testing.assert_array_equal(labels[200:], recipe.labels(2, 50))
    many, codes = recipe.made(30_000, 30_000)
    np.testing.assert_allclose(many[codes == 2].mean(axis=0), recipe.means[2], atol=0.06)
    np.testing.assert_allclose(many[codes == 2].std(axis=0), recipe.spreads[2], atol=0.06)
