"""Settings of the clustering experiments."""

import numpy as np
import pytest

from opgd.experiments.clustering import METHODS, OWN_METHODS, make_mixture


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_the_paper_have_its_settings(method, rng):
    mixture = make_mixture(method, rng.normal(size=(30, 3)), 2, 0)
    assert mixture.metric == "identity"
    assert mixture.regularization == mixture.shrinkage == 0


def test_other_methods_have_default_settings():
    for method in OWN_METHODS:
        mixture = make_mixture(method, np.eye(3), 2, 0)
        assert (mixture.regularization, mixture.shrinkage) == (1.0, "auto")
