"""Stacks of small products against one large product."""

import numpy as np
import pytest

from opgd.core import products
from opgd.core.products import rows_times, times_rows


@pytest.mark.parametrize("n_rows", [0, 1, 7, 100, 101, 1009])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("small", [1, 500, 10**9])
def test_stacks_give_the_product(n_rows, layout, dtype, small, rng, monkeypatch):
    monkeypatch.setattr(products, "SMALL_PRODUCT", small)
    rows = np.asarray(
        rng.normal(size=(2 * n_rows, 6)).astype(dtype), order="F" if layout == "F" else "C"
    )
    rows = rows[::2] if layout == "strided" else rows[:n_rows]
    matrix, left = rng.normal(size=(6, 3)).astype(dtype), rng.normal(size=(3, n_rows)).astype(dtype)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    out = np.full((n_rows, 3), np.nan, dtype)
    assert rows_times(rows, matrix, out) is out
    np.testing.assert_allclose(out, rows @ matrix, atol=tolerance)
    product = times_rows(left, rows)
    assert product.dtype == dtype
    np.testing.assert_allclose(product, left @ rows, atol=tolerance * max(n_rows, 1))
