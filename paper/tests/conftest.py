"""Where the data are."""

import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ROOT.parent / "shared" / "data"


def pytest_configure(config):
    if "OPGD_DATA" not in os.environ and BESIDE.is_dir():
        os.environ["OPGD_DATA"] = str(BESIDE)
    mpl.use("Agg")


@pytest.fixture
def data():
    """Skip tests of the paper's data sets where these are not."""
    if not Path(os.environ.get("OPGD_DATA", "no such folder")).is_dir():
        pytest.skip("set OPGD_DATA to the folder with the paper's data sets")


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


@pytest.fixture(scope="session")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="session")
def wine():
    return load_wine(return_X_y=True)
