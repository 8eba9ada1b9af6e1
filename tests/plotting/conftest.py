"""Fitted models, and matplotlib on no screen."""

import pytest

from opgd import OPGDClassifier, OPGDMixture
from tests.plotting.helpers import X, Y


@pytest.fixture(scope="module")
def model():
    return OPGDClassifier(n_components=3).fit(X, Y)


@pytest.fixture(scope="module")
def full():
    return OPGDClassifier(n_components=2, covariance_type="full", n_subclasses=2).fit(X, Y)


@pytest.fixture(scope="module")
def mixture():
    return OPGDMixture(range(1, 5), random_state=0).fit(X)


@pytest.fixture
def plt():
    """matplotlib on no screen; every figure is drawn once and closed."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")  # pages that ran in this process may have left some
    yield plt
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")
