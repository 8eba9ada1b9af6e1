"""The command called from tests, and small tables for it."""

import contextlib
import io
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

pl = pytest.importorskip("polars")
pytest.importorskip("typer")
pytest.importorskip("skops")

from opgd import OPGDClassifier  # noqa: E402
from opgd.cli import main  # noqa: E402

COMMAND = [sys.executable, "-m", "opgd.cli"]
WINE = load_wine(as_frame=True)
EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
if hasattr(signal, "SIGHUP"):  # not on Windows
    EXIT_CODES[signal.SIGHUP] = 129
ACCEPTS_NAN = OPGDClassifier().__sklearn_tags__().input_tags.allow_nan
"""Whether the estimators accept missing values."""
COLUMNS = ["alcohol", "ash", "hue", "proline", "flavanoids"]


@dataclass
class Done:
    code: int
    out: str
    err: str


def run(*arguments, stdin=b"", encoding="utf-8"):
    """Run the command in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, write_through=True) for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main([str(argument) for argument in arguments])
                code = 0
            except SystemExit as end:
                code = end.code or 0
    finally:
        sys.stdin = before
    printed = [stream.buffer.getvalue() for stream in (out, err)]
    return Done(code, *[text.decode(errors="replace") for text in printed])


def run_ok(*arguments, **more):
    """Run the command, which must not fail."""
    done = run(*arguments, **more)
    assert done.code == 0, done.err
    return done


def assert_refused(done, words):
    assert done.code == 2, done.err
    assert done.out == ""
    for word in words:
        assert word in done.err
    assert "Traceback" not in done.err
    assert "\x1b[31m" not in done.err


def assert_call_refused(arguments, words, folder):
    """Run a command that must be refused, and must leave the folder as it is."""
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert_refused(run(*arguments), words)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def join_words(words):
    """Return a test id."""
    return " ".join(words[:9])


def list_files():
    return sorted(path.name for path in Path().iterdir())


# wine, in the folder of the fixture `files`


def wine(**changes):
    """Return five columns and the label, with some cells changed."""
    table = WINE.data[COLUMNS].assign(kind=np.array(["red", "white", "rosé"])[WINE.target])
    return table.assign(**changes)


def fit(name="train.csv", *more, target="kind"):
    return run("fit", name, "--target", target, "--axes", 2, "-o", "own.opgd", *more)


# a small table, in the folder of the fixture `folder`


def make_small_table(n_rows=24):
    """Return three columns and a label, as text."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, 3)).round(2) + labels[:, None]
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=np.array(list("pqr"))[labels])
    return table.to_csv(index=False)


SMALL_TABLE = make_small_table()


def fit_small(table="good.csv", *more):
    return run("fit", table, "-t", "y", "--axes", 1, "-o", "own.opgd", *more)
