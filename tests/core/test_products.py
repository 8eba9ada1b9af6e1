"""Stacks of small products against one large product."""

import numpy as np
import pytest

from opgd.core import products
from opgd.core.products import rows_times, times_rows


@pytest.mark.parametrize("n_rows", [0, 1, 7, 100, 101, 1009])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("small", "most_cells"), [(1, 18), (500, 18), (500, 17), (10**9, 18)])
def test_stacks_give_the_product(n_rows, layout, dtype, small, most_cells, rng, monkeypatch):
    monkeypatch.setattr(products, "SMALL_PRODUCT", small)
    monkeypatch.setattr(products, "MOST_CELLS", most_cells)
    monkeypatch.setattr(products, "SHORT_PRODUCT", 0)
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


def test_only_thin_matrices_are_multiplied_in_stacks(rng, monkeypatch):
    shapes, matmul = [], np.matmul

    def seen(first, second, **out):
        shapes.append(first.shape)
        return matmul(first, second, **out)

    monkeypatch.setattr(np, "matmul", seen)
    for p, q in ((50, 9), (120, 120)):
        rows = rng.normal(size=(5000, p))
        rows_times(rows, rng.normal(size=(p, q)), np.empty((5000, q)))
        times_rows(rng.normal(size=(q, 5000)), rows)
    thin, thin_left, wide, wide_left = shapes
    assert thin[0] == thin_left[0] == 5
    assert len(wide) == 2
    assert wide_left[0] == 1
    shapes.clear()
    times_rows(rng.normal(size=(2, 10_000)), rng.normal(size=(10_000, 3)))
    assert shapes[0][0] * 2 * 3 > 500  # or NumPy would keep other threads waiting
