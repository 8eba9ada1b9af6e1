"""A cluster on this machine: where it listens, and workers that die."""

import os
import signal
import threading
import time

import pytest

from opgd import OPGDClassifierCV
from opgd._model_selection import selection

pytest.importorskip("dask.array")
pytest.importorskip("distributed")

from opgd.dask import local_client
from tests._dask.test_engine import born_there, quick
from tests._dask.test_selection import (
    SETTINGS,
    assert_same_results,
    draw_samples,
    to_lazy,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def cluster():
    """Return the client of two workers; starting them takes longer than the tests."""
    with local_client(2, memory_limit="2GiB") as client:
        yield client


@pytest.fixture
def client(cluster):
    cluster.wait_for_workers(2)  # a killed one is replaced
    return cluster


def find_listening_addresses(pids):
    psutil = pytest.importorskip("psutil")
    return {
        connection.laddr.ip
        for process in map(psutil.Process, pids)
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }


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


def test_a_cluster_listens_to_this_machine_only_and_a_worker_that_dies_changes_nothing(client):
    X, y = born_there()
    here = quick().fit(X.compute(scheduler="sync"), y)
    whole = quick().fit(X, y)
    pids = list(client.run(os.getpid).values())
    listening = find_listening_addresses([os.getpid(), *pids])
    halved = fit_while_a_worker_dies(X, y, pids[0])
    assert pids[0] not in client.run(os.getpid).values()
    assert listening == {"127.0.0.1"}
    for there in (whole, halved):
        assert there.log_likelihood_ == pytest.approx(here.log_likelihood_, rel=1e-6)


def test_a_worker_that_dies_during_a_selection_changes_nothing(client, rng, monkeypatch):
    X, y = draw_samples(rng)
    settings = SETTINGS | {"n_components": 1, "cv": 0.3, "random_state": 0}
    here = OPGDClassifierCV(**settings).fit(X, y)
    n_calls, try_models = 0, selection.try_models
    victim = next(iter(client.run(os.getpid).values()))

    def kill_and_try_models(*args):
        nonlocal n_calls
        n_calls += 1
        if n_calls == 2:  # the samples are on the workers, and one setting was evaluated
            os.kill(victim, signal.SIGKILL)
        return try_models(*args)

    monkeypatch.setattr(selection, "try_models", kill_and_try_models)
    there = OPGDClassifierCV(**settings).fit(to_lazy(X), y)
    assert victim not in client.run(os.getpid).values()
    assert n_calls > 2
    assert_same_results(there, here)
