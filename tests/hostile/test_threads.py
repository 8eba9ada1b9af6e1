"""Fits and predictions in concurrent threads: the same bits as one after the other."""

import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_info

from opgd import OPGDClassifier, OPGDClassifierCV, OPGDMixture, OPGDSemiSupervised
from opgd.baselines import MixtureDiscriminantAnalysis, ReducedRankLDA

ESTIMATORS = [
    OPGDClassifier(),
    OPGDClassifier(n_jobs=2),
    OPGDClassifierCV((1, 2), shrinkage=0, ridge=0, n_subclasses=1, cv=2),
    OPGDMixture(3, random_state=0),
    OPGDSemiSupervised(calibrate=False),
    ReducedRankLDA(),
    MixtureDiscriminantAnalysis(n_subclasses=2),
    OPGDClassifier(covariance_type="full"),
]
X, y = load_iris(return_X_y=True)
pytestmark = [
    pytest.mark.filterwarnings("ignore::opgd.DataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def run_together(actions):
    """Return results of actions that begin at the same time, each in its thread."""
    start = threading.Barrier(len(actions))

    def run(action):
        start.wait()
        return action()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # so that threads alternate often
    try:
        with ThreadPoolExecutor(len(actions)) as pool:
            return list(pool.map(run, actions))
    finally:
        sys.setswitchinterval(interval)


def read_settings():
    """Return settings of the process that a fit may touch."""
    return {
        "BLAS": sorted((own["filepath"], own["num_threads"]) for own in threadpool_info()),
        "errors": np.geterr(),
        "random": repr(np.random.get_state()),  # noqa: NPY002
    }


def assert_threads_change_nothing(actions):
    expected, before = [action() for action in actions], read_settings()
    for found, values in zip(run_together(actions), expected, strict=True):
        assert np.array_equal(found, values)
    assert read_settings() == before


def test_fits_of_different_estimators_are_those_of_one_thread():
    assert_threads_change_nothing(
        [lambda own=own: clone(own).fit(X, y).predict_proba(X) for own in ESTIMATORS]
    )


def test_fits_to_different_data_are_those_of_one_thread():
    for model in (OPGDClassifier(), OPGDMixture(3, random_state=0)):
        assert_threads_change_nothing(
            [lambda k=k: clone(model).fit(X + k / 7, y).predict_proba(X + k / 7) for k in range(8)]  # noqa: B023
        )


def test_one_estimator_answers_all_threads():
    for model in (OPGDClassifier().fit(X, y), OPGDMixture(3, random_state=0).fit(X)):
        assert_threads_change_nothing(
            [lambda k=k: model.predict_proba(X[k::8]) for k in range(8)]  # noqa: B023
        )


def test_one_estimator_fitted_by_all_threads_is_the_fit_of_one():
    """Attributes are stored together, so that they belong to one of the fits."""
    tables = [X, X + 5.0] * 4
    expected = [OPGDClassifier().fit(table, y).predict_proba(X) for table in tables[:2]]
    model = OPGDClassifier()
    run_together([lambda table=table: model.fit(table, y) for table in tables])
    assert any(np.array_equal(model.predict_proba(X), posteriors) for posteriors in expected)


def test_warnings_of_other_threads_are_not_lost():
    """Only warnings of scikit-learn about initial clusters are ignored."""
    shown = []

    def warn():
        for _ in range(20):
            warnings.warn("from another thread", stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: shown.append(str(message))
        run_together([warn, lambda: OPGDMixture(3, random_state=0).fit(X)])
    assert shown.count("from another thread") == 20
