"""Errors and signals that end the command."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.helpers import EXIT_CODES, fit, fit_small, list_files, main, pl, run

WITHOUT = """
import sys
from opgd.cli import main
for package in ("pandas", "typer"):
    sys.modules[package] = None
    sys.modules.pop("opgd.cli.app", None)
    try:
        main(["report", "model.opgd", "new.csv", "-o", "x.html"])
    except SystemExit as end:
        print(end.code)
"""


def test_the_command_without_its_packages_names_the_extra(files):
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.stdout.split() == ["2", "2"]
    wanted = "opgd: The command line needs {}: the extra 'cli' is missing; see Installation.\n"
    assert done.stderr == wanted.format("pandas") + wanted.format("typer")


@pytest.mark.parametrize("error", [ZeroDivisionError("oh"), np.linalg.LinAlgError("oh")])
def test_failures_that_are_not_the_users_are_told_apart(error, files, monkeypatch):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr("opgd.cli.tables.training.read_table", broken)
    done = fit()
    assert done.code == 1
    assert f"unexpected failure: {type(error).__name__}: oh" in done.err
    assert "Traceback" not in done.err


@pytest.fixture
def usual_interrupts():
    """Default handling of SIGINT and SIGHUP, which processes in the background begin without."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends the process there")
@pytest.mark.usefixtures("usual_interrupts")
@pytest.mark.parametrize(
    ("step", "force"),
    [("os.fsync", False), ("os.fsync", True), ("os.link", False), ("os.replace", True)],
)
@pytest.mark.parametrize("number", EXIT_CODES)
def test_signals_while_files_are_written(number, step, force, model, monkeypatch):
    if force:
        Path("own.opgd").write_text("precious", encoding="utf-8")
    before = list_files()
    monkeypatch.setattr(step, lambda *_: os.kill(os.getpid(), number))
    handler = signal.getsignal(signal.SIGTERM)
    done = fit_small("good.csv", *(["--force"] if force else []))
    assert done.code == EXIT_CODES[number]
    assert done.err == ""
    assert list_files() == before
    assert not force or Path("own.opgd").read_text(encoding="utf-8") == "precious"
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.skipif(sys.platform == "win32", reason="other limits and words")
@pytest.mark.parametrize(
    "call",
    [
        ["predict", "model.opgd", "x" * 300 + ".csv"],
        ["predict", "model.opgd", "good.csv", "-o", "x" * 300 + ".csv"],
        ["predict", "model.opgd", "good.csv", "-o", "/".join(["d" * 200] * 30) + ".csv"],
        ["info", "x" * 300],
        ["report", "model.opgd", "good.csv", "-o", "x" * 300],
    ],
)
def test_long_paths_are_refused_in_one_short_line(call, model):
    done = run(*call)
    assert done.code == 2
    assert "too long" in done.err
    assert len(done.err) < 200


@pytest.mark.parametrize("call", [["info", "model.opgd"], ["predict", "model.opgd", "good.csv"]])
@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_closed_streams_are_no_failure(call, closed, model, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))
        patch.setattr(sys, "stderr", error := io.StringIO())
        patch.setattr(sys, closed, None)
        with pytest.raises(SystemExit) as end:
            main(call)
        assert getattr(sys, closed) is None
    lost = closed == "stdout" and call[0] == "predict"
    assert end.value.code == (2 if lost else 0)
    assert ("Standard output is closed" in error.getvalue()) == lost


@pytest.mark.parametrize("words", ["1\u0662", "\u0661", "\u00b2", "9" * 5000])
def test_labels_of_other_digits_are_text(words, model):
    table = pl.read_csv("good.csv", infer_schema=False)
    labels = pl.when(pl.col("y") == table["y"][0]).then(pl.lit(words)).otherwise(pl.lit("1"))
    table.with_columns(labels.alias("y")).write_csv("own.csv")
    fit_small("own.csv")
    done = run("predict", "own.opgd", "own.csv")
    assert done.code == 0, done.err
    assert words in done.out
