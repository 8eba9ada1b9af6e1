"""Files and tables that are written: formulas, links, full disks, closed pipes."""

import contextlib
import csv
import errno
import io
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.helpers import COMMAND, WINE, assert_refused, fit, list_files, pl, run, run_ok, wine


def test_readers_that_leave_early_are_no_failure(files):
    many = pd.concat([wine()] * 50)  # more than a pipe holds
    many.to_csv("many.csv", index=False)
    call = [*COMMAND, "predict", "model.opgd", "many.csv"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors cannot be counted")
def test_readers_that_leave_early_cost_no_descriptor(monkeypatch):
    from opgd.cli.tables.write import _write_to_stdout

    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        before = os.listdir("/proc/self/fd")
        _write_to_stdout(b"nobody reads this")
        assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize("is_terminal", [True, False])
def test_tables_on_the_terminal_have_no_control_sequences(is_terminal, monkeypatch):
    from opgd.cli.tables.write import _write_to_stdout

    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    table = "row,prediction\n1,\x1b[2Jcleared\n2,Straße\n"
    _write_to_stdout(table.encode())
    expected = table.replace("\x1b", "\\x1b") if is_terminal else table
    assert stream.buffer.getvalue().decode() == expected


def test_files_are_replaced_by_force_only(files):
    Path("out.csv").write_text("mine", encoding="utf-8")
    assert run("predict", "model.opgd", "new.csv", "-o", "out.csv").code == 2
    assert Path("out.csv").read_text(encoding="utf-8") == "mine"
    run_ok("predict", "model.opgd", "new.csv", "-o", "out.csv", "--force")
    assert len(pd.read_csv("out.csv")) == 89


def test_text_like_a_formula_is_made_harmless(files):
    labels = np.array(['=HYPERLINK("x")', "+cmd", "@sum"])
    wine(kind=labels[WINE.target], n=-WINE.target - 0.5).to_csv("own.csv", index=False)
    assert fit("own.csv", "--ignore", "n").code == 0
    done = run_ok("predict", "own.opgd", "own.csv", "--proba", "--keep", "n")
    assert "apostrophe" in done.err
    found = pd.read_csv(io.StringIO(done.out))
    assert set(found["prediction"]) <= {f"'{label}" for label in labels}
    assert found["n"].tolist() == (-WINE.target - 0.5).tolist()
    raw = pd.read_csv(io.StringIO(run_ok("predict", "own.opgd", "own.csv", "--raw").out))
    assert set(raw["prediction"]) <= set(labels)
    run_ok("predict", "own.opgd", "own.csv", "-o", "own-p.parquet")
    assert set(pl.read_parquet("own-p.parquet")["prediction"]) <= set(labels)


FORMULAS = ["=1+1", "@sum(a)", "+cmd", "-cmd|x", "\tx", "\uff1d1", "\uff0b1+1", "\n=1"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_in_cells_and_header_are_made_harmless(formula, model):
    table = pd.read_csv("good.csv").assign(**{"k=": formula}).rename(columns={"k=": f"{formula}h"})
    pl.DataFrame(table.to_dict("list")).write_parquet("new.parquet")
    for ending, separator in (("csv", ","), ("tsv", "\t")):
        out = f"p.{ending}"
        run_ok("predict", model, "new.parquet", "-o", out, "--keep", f"{formula}h", "--keep", "a")
        found = pd.read_csv(out, sep=separator)
        assert f"'{formula}h" in found
        assert set(found[f"'{formula}h"]) == {f"'{formula}"}
        assert found["a"].tolist() == table["a"].tolist()  # numbers stay numbers


CALLS = {
    "fit": ["fit", "good.csv", "-t", "y", "--axes", "1", "-o"],
    "cluster": ["cluster", "good.csv", "--ignore", "y", "-k", "2", "-o"],
    "report": ["report", "model.opgd", "good.csv", "--cv", "0", "-o"],
}


@pytest.mark.skipif(os.name == "nt", reason="pipes, devices and permissions of POSIX")
@pytest.mark.parametrize("command", [*CALLS, "predict"])
def test_only_regular_files_are_replaced_and_by_force_only(command, model):
    call = CALLS.get(command, ["predict", "model.opgd", "good.csv", "-o"])
    ending = ".csv" if command == "predict" else ""
    for name, kind in make_others(ending).items():
        before = os.lstat(name)
        assert_refused(run(*call, name, "--force"), [f"Cannot save to '{name}': it is a {kind}"])
        assert os.path.samestat(os.lstat(name), before)
    assert Path("mine").read_text(encoding="utf-8") == "precious"
    assert not Path("nowhere").exists()
    own = Path(f"own{ending}")
    own.write_text("old", encoding="utf-8")
    own.chmod(0o600)
    assert_refused(run(*call, own), [f"'{own}': the file exists already", "--force"])
    run_ok(*call, own, "--force")
    assert own.read_bytes() != b"old"
    assert own.stat().st_mode & 0o777 == 0o600


def make_others(ending):
    """Files that are no regular ones, with the words for them."""
    Path("mine").write_text("precious", encoding="utf-8")
    special = "pipe, socket or device"
    others = {"to-file": "symbolic link", "to-nothing": "symbolic link", "pipe": special}
    Path(f"to-file{ending}").symlink_to("mine")
    Path(f"to-nothing{ending}").symlink_to("nowhere")
    os.mkfifo(f"pipe{ending}")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"socket{ending}")
    with contextlib.suppress(PermissionError):  # of root only
        os.mknod(f"device{ending}", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        others["device"] = special
    return {f"{name}{ending}": kind for name, kind in (others | {"socket": special}).items()}


@pytest.mark.parametrize("labels", ["own.csv", "./own.csv", "../{}/own.csv"])
def test_two_outputs_are_two_files(labels, model):
    labels = labels.format(Path.cwd().name)
    call = ["cluster", "good.csv", "--ignore", "y", "-k", "2", "-o", "own.csv", "--labels", labels]
    assert_refused(run(*call), ["given for two outputs"])
    assert not Path("own.csv").exists()


def keep_column(series):
    """Predictions with a column that is copied."""
    frame = pl.read_csv("good.csv").with_columns(series.alias("kept"))
    frame.write_parquet("kept.parquet")
    return run("predict", "model.opgd", "kept.parquet", "--keep", "kept", "-q")


@pytest.mark.parametrize("prefix", ["", "\n", "\ufeff", "\u200b"])
@pytest.mark.parametrize("sign", "=@\uff1d\uff0b")
@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, "enum"])
def test_no_column_type_brings_formulas_along(kind, sign, prefix, model):
    formula = f"{prefix}{sign}1+1"
    kind = pl.Enum([formula]) if kind == "enum" else kind
    done = keep_column(pl.Series([formula] * pl.read_csv("good.csv").height, dtype=kind))
    assert done.code == 0, done.err
    cells = [row[1] for row in csv.reader(io.StringIO(done.out, newline=""))][1:]
    assert set(cells) == {f"'{formula}"}


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, b"\xff\x00"], ids=["list", "struct", "binary"])
def test_columns_that_csv_cannot_hold_are_refused_by_name(value, model):
    series = pl.Series([value] * pl.read_csv("good.csv").height)
    assert_refused(keep_column(series), ["Column 'kept' has values of type", "parquet"])
    for option in ("--target", "--groups"):
        others = [] if option == "--target" else ["--target", "y"]
        done = run("fit", "kept.parquet", option, "kept", *others, "-o", "own.opgd", "-q")
        assert_refused(done, ["Column 'kept' has values of type", "convert them"])


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("command", [*CALLS, "predict"])
def test_full_disks_end_in_a_sentence_and_leave_nothing(command, force, model, monkeypatch):
    target = "p.csv" if command == "predict" else "own"
    if force:
        Path(target).write_text("precious", encoding="utf-8")
    before = list_files()
    call = CALLS.get(command, ["predict", model, "good.csv", "-o"])
    monkeypatch.setattr("os.fsync", full)
    done = run(*call, target, *(["--force"] if force else []))
    assert done.code == 1
    assert [line for line in done.err.splitlines() if "warning" not in line] == [
        "opgd: cannot write: No space left on device."
    ]
    assert list_files() == before
    assert not force or Path(target).read_text(encoding="utf-8") == "precious"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "model.opgd", "good.csv"],
        pytest.param(["info", "model.opgd", "--json"], marks=pytest.mark.slow),
    ],
)
def test_a_full_standard_output_is_told(arguments, model):
    with open("/dev/full", "wb") as stream:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=stream, stderr=subprocess.PIPE, text=True
        )
    assert done.stderr == "opgd: cannot write: No space left on device.\n"
    assert done.returncode == 1
