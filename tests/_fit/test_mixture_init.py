"""First mixtures from linkages."""

import numpy as np
import pytest
from scipy.cluster import hierarchy

from opgd._fit.mixture_init import cut_tree


@pytest.mark.parametrize("n_rows", [2, 7, 120])
@pytest.mark.parametrize("decimals", [1, 12])  # with ties between distances, and without
def test_cut_trees_are_those_of_scipy(n_rows, decimals, rng):
    tree = hierarchy.ward(rng.normal(size=(n_rows, 3)).round(decimals))
    heights = np.append(tree[:, 2], np.inf)
    for n_clusters in range(1, n_rows):
        last = n_rows - n_clusters - 1  # of the merges
        if heights[last] == heights[last + 1]:
            continue  # either of two equal merges may come first
        expected = hierarchy.cut_tree(tree, [n_clusters])[:, 0]
        np.testing.assert_array_equal(cut_tree(tree, n_clusters), expected)
