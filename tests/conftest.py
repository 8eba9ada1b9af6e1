"""Where the data are, and numbers that tests draw from."""

import gc
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

BESIDE = Path(__file__).resolve().parents[2] / "shared"


def pytest_configure(config):
    if "OPGD_DATA" not in os.environ and (BESIDE / "data").is_dir():
        os.environ["OPGD_DATA"] = str(BESIDE / "data")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without searching for garbage, and never search in what was collected."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


@pytest.fixture(scope="session")
def reference():
    """The folder of values printed by independent programs."""
    return Path(__file__).resolve().parent / "reference"


@pytest.fixture(scope="session")
def load():
    """A data set of the paper by name: X, y and the table's other columns by name."""
    folder = Path(os.environ.get("OPGD_DATA", ""))
    if not os.environ.get("OPGD_DATA") or not folder.is_dir():
        pytest.skip("set OPGD_DATA to the folder with the paper's data sets")

    def read(name):
        with gzip.open(folder / f"{name}.csv.gz", "rt") as lines:
            header, *rows = (line.rstrip("\n").split(",") for line in lines)
        columns = dict(zip(header, np.array(rows).T, strict=True))
        others = {key: columns.pop(key) for key in ("speaker", "split") if key in columns}
        y = columns.pop("target")
        return np.column_stack([own.astype(float) for own in columns.values()]), y, others

    return read
