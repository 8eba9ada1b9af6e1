"""A fitted model and the summary of its report."""

import pytest
from sklearn.datasets import load_wine

from opgd import OPGDClassifier
from opgd.report.summary import summarize


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True)


@pytest.fixture(scope="module")
def model(wine):
    return OPGDClassifier(n_components=2).fit(wine.data, wine.target)


@pytest.fixture(scope="module")
def summary(model, wine):
    return summarize(model, wine.data, wine.target)
