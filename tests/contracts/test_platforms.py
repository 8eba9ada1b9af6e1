"""What differs between systems: the package works without what Windows does not have.

The other systems themselves are tested by the workflow; here their gaps are simulated.
"""

import ast
import errno
import os
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import opgd
from opgd import OPGDClassifier
from opgd._utils import files
from opgd.files import copy_to_disk

SOURCES = sorted(Path(opgd.__file__).parent.rglob("*.py"))
ELSEWHERE = {"fcntl", "grp", "msvcrt", "posix", "pty", "pwd", "resource", "syslog", "termios"}
ELSEWHERE |= {"tty", "winreg", "_winapi", "nt"}
"""Modules of the standard library that not all systems have."""
POSIX_ONLY = ["sysconf", "geteuid", "getuid", "getloadavg", "fork", "killpg", "mkfifo", "fchmod"]
POSIX_ONLY += ["sched_getaffinity", "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY", "posix_fallocate"]
"""Names of ``os`` that Windows does not have."""
GUARDED = {"memory.py": {"sysconf"}}
"""Modules that use such names where they exist."""


def get_names(path):
    """Modules that a file imports, and attributes of ``os`` that it uses."""
    tree = ast.parse(path.read_text("utf-8"))
    imported, used = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used |= {node.attr} if node.value.id == "os" else set()
    return imported, used


def test_modules_use_what_all_systems_have():
    for path in SOURCES:
        imported, used = get_names(path)
        assert not imported & ELSEWHERE, path
        assert used & set(POSIX_ONLY) <= GUARDED.get(path.name, set()), path


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """A system without the names that only POSIX has, in an empty folder."""
    for name in POSIX_ONLY:
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.delattr(signal, "SIGHUP", raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(files, "KEEPS_PERMISSIONS", False)
    monkeypatch.setattr(tempfile, "TemporaryFile", tempfile.NamedTemporaryFile)  # as on Windows
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_rows_on_disk_outlive_a_file_that_is_deleted_when_it_is_closed(elsewhere):
    pytest.importorskip("pyarrow")
    rows = np.arange(12.0).reshape(4, 3)
    X = copy_to_disk([rows[:3], rows[3:]], 3, float, elsewhere)
    np.testing.assert_array_equal(X, rows)
    assert not os.listdir(elsewhere)


def test_dask_arrays_are_fitted(elsewhere):
    da = pytest.importorskip("dask.array")
    X, y = load_iris(return_X_y=True)
    model = OPGDClassifier(2).fit(da.from_array(X, chunks=(50, 4)), y)
    expected = OPGDClassifier(2).fit(X, y)
    np.testing.assert_allclose(model.components_, expected.components_, rtol=1e-6, atol=1e-9)


@pytest.fixture
def command():
    """The command, imported before the system is changed."""
    from tests.cli import helpers

    return helpers


def test_commands_run_and_write_lines_as_everywhere(command, elsewhere):
    command.WINE.data.assign(y=command.WINE.target).to_csv("wine.csv", index=False)
    call = ["fit", "wine.csv", "-t", "y", "--axes", 2, "-o", "wine.opgd"]
    command.run_ok(*call)
    command.run_ok(*call, "--force")
    command.run_ok("predict", "wine.opgd", "wine.csv", "-o", "labels.csv")
    assert b"\r" not in Path("labels.csv").read_bytes()
    assert sorted(os.listdir()) == ["labels.csv", "wine.csv", "wine.opgd"]


def test_a_closed_pipe_ends_the_command_in_silence(command, elsewhere, monkeypatch):
    def write(*_, **__):
        raise OSError(errno.EINVAL, "Invalid argument")  # BrokenPipeError on other systems

    Path("wine.csv").write_bytes(b"x,y\n1,2\n")
    monkeypatch.setattr("opgd.cli.tables.training.read_table", write)
    done = command.run("fit", "wine.csv", "-t", "y", "-o", "wine.opgd")
    assert (done.code, done.out, done.err) == (1, "", "")
