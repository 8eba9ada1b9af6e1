"""Fits and predictions in concurrent threads: the same bits as one after the other."""

import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info

from opgd import OPGDClassifier, OPGDMixture, TableEncoder
from tests.hostile.outcomes import some_labels, table
from tests.hostile.registry import ESTIMATORS, clusters

N_THREADS = 8
SLOW = [name for name in ESTIMATORS if name.startswith(("OPGDMixture(", "OPGDSemi"))]
QUICK = [name for name in ESTIMATORS if name not in SLOW]

pytestmark = [
    pytest.mark.filterwarnings("ignore::opgd.DataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def together(actions):
    """Results of actions that begin at the same time, each in its thread."""
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


def settings():
    """Settings of the process that a fit may touch."""
    return {
        "BLAS": sorted((own["filepath"], own["num_threads"]) for own in threadpool_info()),
        "warnings": list(warnings.filters),
        "showwarning": warnings.showwarning,
        "errors": np.geterr(),
        "random": repr(np.random.get_state()),  # noqa: NPY002
    }


def answers(model, X):
    return [np.asarray(model.predict_proba(X)), np.asarray(model.predict(X))]


def fit_and_answer(name, X, y):
    model = clone(ESTIMATORS[name])
    return answers(model.fit(X, some_labels(model, y)), X)


def assert_same_bits(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert all(map(np.array_equal, one, other))


def groups_of_threads(names):
    return [names[i : i + N_THREADS] for i in range(0, len(names), N_THREADS)]


@pytest.mark.parametrize(
    "names",
    [
        *groups_of_threads(QUICK),
        *(pytest.param(names, marks=pytest.mark.slow) for names in groups_of_threads(SLOW)),
    ],
    ids=lambda names: names[0],
)
def test_fits_of_different_estimators_are_those_of_one_thread(names):
    X, y = table()
    serial = [fit_and_answer(name, X, y) for name in names]
    before = settings()
    found = together([lambda name=name: fit_and_answer(name, X, y) for name in names])
    assert settings() == before
    assert_same_bits(found, serial)


@pytest.mark.parametrize("name", ["OPGDClassifier", "OPGDMixture", "MixtureDiscriminantAnalysis"])
def test_fits_with_different_data_are_those_of_one_thread(name):
    tables = [(table()[0] + shift, table()[1]) for shift in np.arange(N_THREADS) / 7]
    serial = [fit_and_answer(name, *own) for own in tables]
    before = settings()
    found = together([lambda own=own: fit_and_answer(name, *own) for own in tables])
    assert settings() == before
    assert_same_bits(found, serial)


@pytest.mark.parametrize("name", ["OPGDClassifier", "OPGDMixture", "ReducedRankLDA"])
def test_one_estimator_answers_all_threads(name):
    X, y = table()
    model = clone(ESTIMATORS[name])
    model.fit(X, None if clusters(model) else y)
    parts = [X[i::N_THREADS] for i in range(N_THREADS)]
    serial = [answers(model, part) for part in parts]
    before = settings()
    found = together([lambda part=part: answers(model, part) for part in parts])
    assert settings() == before
    assert_same_bits(found, serial)


def test_one_estimator_fitted_by_all_threads_is_the_fit_of_one():
    """Attributes are stored together, so that they belong to one of the fits."""
    X, y = table()
    tables = [(X + shift, y) for shift in (0.0, 5.0)] * (N_THREADS // 2)
    expected = [OPGDClassifier().fit(*own) for own in tables[:2]]
    model = OPGDClassifier()
    together([lambda own=own: model.fit(*own) for own in tables])
    assert any(
        np.array_equal(model.means_, own.means_)
        and np.array_equal(model.predict_proba(X), own.predict_proba(X))
        for own in expected
    )


def test_encoders_in_threads_are_those_of_one_thread():
    pd = pytest.importorskip("pandas")
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.array(["u", "v", "w"])[y])
    serial = np.asarray(TableEncoder().fit_transform(frame))
    found = together([lambda: np.asarray(TableEncoder().fit_transform(frame))] * N_THREADS)
    assert all(np.array_equal(own, serial) for own in found)


def test_threads_of_an_estimator_inside_threads():
    X, y = table()
    serial = [own.fit(X, y).predict_proba(X) for own in (OPGDClassifier(n_jobs=2),)]
    found = together(
        [lambda: OPGDClassifier(n_jobs=2).fit(X, y).predict_proba(X)] * (N_THREADS // 2)
    )
    assert all(np.array_equal(own, serial[0]) for own in found)


def test_warnings_of_other_threads_are_not_lost():
    """Only warnings of scikit-learn about initial clusters are ignored."""
    X, _ = table()
    shown = []

    def warn():
        for _ in range(20):
            warnings.warn("from another thread", stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: shown.append(str(message))
        together([warn, lambda: OPGDMixture(3, random_state=0).fit(X)])
    assert shown.count("from another thread") == 20
