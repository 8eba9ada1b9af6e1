"""How certain clusters are."""

import numpy as np
import pytest

from opgd.inspection.cluster_quality import assess_clusters


def test_certain_rows_are_counted_and_k_means_is_compared(rng):
    codes = np.repeat([0, 1, -1], [50, 50, 7])
    X = rng.normal(size=(107, 3)) + 20 * codes[:, None]
    first = np.where(codes == 0, 0.99, 0.2)
    found = assess_clusters(np.column_stack([first, 1 - first]), codes, X, 2)
    assert (found.n_rows, found.certain) == (100, 0.5)
    assert found.uncertainty == pytest.approx((0.01 + 0.2) / 2)
    assert found.k_means == 1.0
    assert assess_clusters(np.ones((107, 1)), np.minimum(codes, 0), X, 1).k_means is None
    assert assess_clusters(np.ones((7, 1)), np.full(7, -1), X[:7], 1) is None
