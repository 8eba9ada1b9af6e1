"""What differs between systems: the package works without what Windows does not have.

The other systems themselves are tested by the workflow; here their gaps are simulated.
"""

import ast
import errno
import os
import signal
import stat
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import opgd
from opgd import OPGDClassifier
from opgd._utils import files, memory
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


def test_memory_is_assumed_where_the_system_does_not_tell_it(elsewhere):
    assert memory.get_memory() == memory.ASSUMED_BYTES


def test_memory_is_that_of_the_container(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "CGROUP_LIMIT", tmp_path / "memory.max")
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.get)
    assert memory.get_memory() == 4096e3  # no such file
    for words, expected in [("max\n", 4096e3), ("8192\n", 8192.0), ("9" * 20, 4096e3)]:
        memory.CGROUP_LIMIT.write_text(words, "ascii")
        assert memory.get_memory() == expected


def test_a_read_only_file_is_refused_without_a_trace_where_it_cannot_be_replaced(
    elsewhere, monkeypatch
):
    path = elsewhere / "model"
    path.write_bytes(b"precious")
    path.chmod(stat.S_IREAD)

    def replace(source, target):
        assert Path(source).stat().st_mode & stat.S_IWRITE, "Windows would not delete it"
        raise PermissionError(errno.EACCES, "Access is denied", str(target))

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(PermissionError):
        files.write_atomically(path, b"new", overwrite=True)
    assert path.read_bytes() == b"precious"
    assert list(elsewhere.iterdir()) == [path]


def test_files_are_written_where_there_are_no_hard_links(elsewhere, monkeypatch):
    def link(*_):
        raise OSError(errno.EPERM, "no links")

    monkeypatch.setattr(os, "link", link)
    files.write_atomically(elsewhere / "new", b"new", overwrite=False)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        files.write_atomically(elsewhere / "new", b"newer", overwrite=False)
    assert (elsewhere / "new").read_bytes() == b"new"
    assert os.listdir(elsewhere) == ["new"]


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
