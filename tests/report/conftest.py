"""A fitted model and the summary of its report."""

import pytest
from sklearn.datasets import load_wine

from opgd import OPGDClassifier
from opgd.report.summary import summarize


@pytest.fixture(scope="module")
def browser():
    """The browser, for modules that require one."""
    from playwright.sync_api import sync_playwright

    from tests.report.browser import launch

    with sync_playwright() as driver:
        own = launch(driver)
        yield own
        own.close()


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True)


@pytest.fixture(scope="module")
def model(wine):
    return OPGDClassifier(n_components=2).fit(wine.data, wine.target)


@pytest.fixture(scope="module")
def summary(model, wine):
    return summarize(model, wine.data, wine.target)
