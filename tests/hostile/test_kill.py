"""kill -9 at random moments: what has its name is whole, and the same call completes it."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import load_wine

from opgd import load_model

pytest.importorskip("typer")
pytest.importorskip("skops")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here"),
]
KILLS = int(os.environ.get("OPGD_KILLS", "10"))
PLAIN = "import sys; from opgd.cli import main; main(sys.argv[1:])"
SLOW_DISK = """
import os, time
def slow(step):
    def slowed(*arguments):
        time.sleep(0.4)
        result = step(*arguments)
        time.sleep(0.4)
        return result
    return slowed
os.fsync, os.link, os.replace = map(slow, (os.fsync, os.link, os.replace))
"""
"""Moments at which a file is being written are rare otherwise."""


def command(*arguments, slow_disk=False):
    code = (SLOW_DISK if slow_disk else "") + PLAIN
    return [sys.executable, "-c", code, *map(str, arguments)]


def completed(call):
    begin = time.monotonic()
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - begin


def is_killed_after(seconds, call):
    """Whether it was still running."""
    process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return process.returncode == -signal.SIGKILL


def moments(duration, seed):
    """Random moments without end, half of them in the last quarter, where files are written."""
    rng = random.Random(seed)
    while True:
        yield rng.uniform(0.0, 1.0) * duration
        yield rng.uniform(0.75, 1.02) * duration


@pytest.mark.parametrize("force", [False, True])
def test_a_killed_fit_leaves_a_whole_model_or_none(force, tmp_path):
    wine = load_wine(as_frame=True)
    wine.data.assign(y=wine.target).to_csv(tmp_path / "wine.csv", index=False)
    rows, path = wine.data, tmp_path / "model.opgd"
    options = ["-t", "y", "--axes", 2, "--cv", 2, "-o", path, *["--force"] * force]
    call = command("fit", tmp_path / "wine.csv", *options, slow_disk=True)
    duration = completed(call)
    whole, expected = path.read_bytes(), load_model(path).predict_proba(rows)
    n_killed = 0
    for seconds in moments(duration, str(force)):
        if n_killed == KILLS:
            break
        if force:
            path.write_bytes(whole)
        else:
            path.unlink(missing_ok=True)
        n_killed += is_killed_after(seconds, call)
        assert not force or path.exists()
        if path.exists():
            assert path.read_bytes() == whole
            assert np.array_equal(load_model(path).predict_proba(rows), expected)
        others = {own.name for own in tmp_path.iterdir()} - {"wine.csv", "model.opgd"}
        assert all(name.startswith(".opgd-") and name.endswith(".tmp") for name in others)
        for name in others:
            (tmp_path / name).unlink()
    if not force:
        path.unlink(missing_ok=True)
    completed(call)
    assert path.read_bytes() == whole
