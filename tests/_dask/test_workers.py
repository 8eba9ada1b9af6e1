"""A cluster on this machine whose workers die."""

import os
import signal
import threading
import time

import pytest

pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from tests._dask.test_engine import born_there, quick  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def cluster():
    """Return the client of two workers; starting them takes longer than the tests."""
    settings = {"host": "127.0.0.1", "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(n_workers=2, memory_limit="2GiB", **settings) as client:
        yield client


@pytest.fixture
def client(cluster):
    cluster.wait_for_workers(2)  # a killed one is replaced
    return cluster


def fit_while_a_worker_dies(X, y, pid):
    killed = threading.Event()

    def kill():
        time.sleep(0.5)
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # on Windows both end it at once
        killed.set()

    threading.Thread(target=kill).start()
    model = quick().fit(X, y)
    while not killed.is_set():  # it was too quick for the thread: once more, without one worker
        time.sleep(0.05)
        model = quick().fit(X, y)
    return model


def test_a_worker_that_dies_changes_nothing(client):
    X, y = born_there()
    here = quick().fit(X.compute(scheduler="sync"), y)
    whole = quick().fit(X, y)
    pids = list(client.run(os.getpid).values())
    halved = fit_while_a_worker_dies(X, y, pids[0])
    assert pids[0] not in client.run(os.getpid, on_error="ignore").values()
    for there in (whole, halved):
        assert there.log_likelihood_ == pytest.approx(here.log_likelihood_, rel=1e-6)
