"""The walk-through of the user guide, as a new user types it."""

import os
import re
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from docs._ext.pages import find_blocks, find_commands, run_python
from tests.cli.helpers import ACCEPTS_NAN, COMMAND, Done, run
from tests.messy.write import FOLDER

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "user_guide"
PAGE = GUIDE / "command_line.md"


def shape(line):
    """A line of output without its numbers, which differ between machines."""
    return " ".join(re.sub(r"\d+(\.\d+)?", "#", line).split())


def follow(page, folder, monkeypatch):
    """Run a page, compare what its commands print, and return their words."""
    monkeypatch.delenv("COLUMNS", raising=False)  # of the terminal in which the tests run
    monkeypatch.chdir(folder)
    program = folder / "bin" / "opgd"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    seen, namespace = set(), {"__name__": "page"}
    for block in find_blocks(page.read_text("utf-8")):
        if block.language == "python":
            list(run_python(block, namespace, page.name))
            continue
        for command, shown in find_commands(block):
            words = shlex.split(command)
            seen |= set(words)
            if "|" in words:  # the command itself, in a shell
                call = subprocess.run(command, shell=True, capture_output=True, text=True)
                done = Done(call.returncode, call.stdout, call.stderr)
            else:
                assert words[0] == "opgd"
                done = run(*words[1:])
            assert done.code == (2 if "which the model needs" in block.code else 0), done.err
            printed = [shape(text) for text in (done.out + done.err).splitlines()]
            for line in shown:
                assert shape(line) in printed, f"{line!r} is not in what {command} printed"
    return seen


@pytest.mark.skipif(os.name == "nt", reason="pipes of a POSIX shell")
@pytest.mark.skipif(not ACCEPTS_NAN, reason="estimators do not accept missing values")
def test_the_page_on_real_tables_does_what_it_says(tmp_path, monkeypatch):
    for path in FOLDER.glob("*.csv"):
        shutil.copy(path, tmp_path)
    seen = follow(GUIDE / "real_tables.md", tmp_path, monkeypatch)
    assert {"fit", "info", "predict", "--scores", "report", "cluster", "--dry-run"} <= seen
    predictions = pd.read_csv("predictions.csv")
    assert np.all(np.isfinite(predictions.filter(like="probability_")))
    assert pd.read_csv("scores.csv")["customer_id"].str.startswith("C-").all()
    assert "</html>" in Path("churn.html").read_text("utf-8")


@pytest.mark.skipif(os.name == "nt", reason="pipes of a POSIX shell")
def test_the_page_does_what_it_says(tmp_path, monkeypatch):
    seen = follow(PAGE, tmp_path, monkeypatch)
    assert {"fit", "predict", "--scores", "report", "cluster", "info", "compare"} <= seen
    predictions = pd.read_csv("predictions.csv")
    truth = pd.read_csv("demo/wine-test.csv")["label"]
    assert predictions["row"].tolist() == list(range(1, 46))
    assert (predictions["prediction"] == truth).mean() > 0.9
    classes = predictions.filter(like="probability_").to_numpy()
    np.testing.assert_allclose(classes.sum(axis=1), 1)
    assert pd.read_csv("scores.csv")["label"].equals(truth)
    assert len(pd.read_csv("clusters.csv")["cluster"].unique()) == 3
    assert "</html>" in Path("wine.html").read_text("utf-8")
    assert not Path("none.csv").exists()
    assert not list(tmp_path.glob(".opgd*"))
