"""Columns that clusters reproduce."""

import numpy as np
import pytest

from opgd.inspection.followed_columns import find_followed_column


def find(codes, *columns):
    cells = np.column_stack(columns).astype(float)
    names = [f"c{j}" for j in range(len(columns))]
    return find_followed_column(codes, int(codes.max()) + 1, cells, names, None)


def test_a_column_that_determines_the_clusters_is_found(rng):
    codes = rng.integers(3, size=300)
    finer = np.where(rng.random(300) < 0.5, codes, codes + 3)
    found = find(codes, rng.normal(size=300), rng.integers(2, size=300), finer)
    assert (found.name, found.share, found.determines) == ("c2", 1.0, True)
    assert {int(value) % 3 for value in found.values} == {0, 1, 2}
    found = find(codes, 1.0 * (codes == 0))  # two clusters share a value
    assert (found.determines, found.values) == (False, ["1", "0", "0"])


@pytest.mark.parametrize("share", [0.005, 0.1])
def test_few_exceptions_are_allowed(rng, share):
    codes = rng.integers(2, size=400)
    column = np.where(np.arange(400) < share * 400, 1 - codes, codes).astype(float)
    column[:100:3] = np.nan
    assert (find(codes, column) is None) == (share > 0.02)
