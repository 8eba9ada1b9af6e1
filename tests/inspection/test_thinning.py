"""Fewer rows, by group."""

import numpy as np
import pytest

from opgd import OPGDClassifier
from opgd.inspection.thinning import thin
from tests.plotting.helpers import X, Y, arrays


@pytest.fixture(scope="module")
def model():
    return OPGDClassifier(n_components=3).fit(X, Y)


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
