"""The command among faults: hostile tables, full disks, signals, links, very wide tables."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pl = pytest.importorskip("polars")
pytest.importorskip("typer")
pytest.importorskip("safetensors")

from opgd import load_model  # noqa: E402
from tests.fuzzing import cases, damaged_table  # noqa: E402
from tests.test_cli import COMMAND, assert_refused, ran, run  # noqa: E402

GROUPS = 3


def small_table(n_rows=24):
    """Three columns and a label, as text."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows) % GROUPS
    X = rng.normal(size=(n_rows, 3)).round(2) + labels[:, None]
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=np.array(list("pqr"))[labels])
    return table.to_csv(index=False)


GOOD = small_table()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(GOOD)
    return tmp_path


@pytest.fixture
def model(folder):
    ran("fit", "good.csv", "-t", "y", "--axes", 1, "-o", "model.opgd")
    return "model.opgd"


def names():
    return sorted(own.name for own in Path().iterdir())


def fit(table="good.csv", *more):
    return run("fit", table, "-t", "y", "--axes", 1, "-o", "own.opgd", *more)


# random damage to tables


def assert_said_in_words(done, text):
    """Done, or refused in words; a failure of ours would be exit code 1."""
    assert done.code in (0, 2), f"{done.err}\n{text!r}"
    assert "Traceback" not in done.err
    assert "\x1b" not in done.err
    if done.code:
        assert done.out == ""
        assert done.err.startswith(("opgd: ", "Usage: "))


def use_damaged_tables(generators):
    counts = {0: 0, 2: 0}
    for rng in generators:
        data = damaged_table(rng, GOOD)
        name = rng.choice(["hostile.csv", "hostile.txt", "hostile.tsv"])
        Path(name).write_bytes(data)
        command = rng.choice(["fit", "predict", "predict", "predict", "cluster", "transform"])
        more = rng.choice([[], [], ["--drop-missing"]])
        if command == "fit":
            done = fit(name, "--cv", "2", "--force", *more, *rng.choice([[], ["--impute", "mean"]]))
        elif command == "cluster":
            ways = [*more, "--ignore", "y", "--seed", 0]
            done = run("cluster", name, "-k", 2, "-o", "own.opgd", "--force", *ways)
        else:
            done = run(command, "model.opgd", name, *more, "--keep", "y")
        assert_said_in_words(done, data)
        counts[done.code] += 1
        assert not list(Path().glob(".opgd*"))
    return counts


def test_damaged_tables_are_used_or_refused_in_words(model):
    counts = use_damaged_tables(cases("tables", 300))
    assert min(counts.values()) > 20, counts


@pytest.mark.slow
def test_damaged_tables_are_used_or_refused_in_words_for_long(model):
    counts = use_damaged_tables(cases("many tables"))
    print(f"tables: {counts[0]} used, {counts[2]} refused")  # noqa: T201


# tables that are too much


def wide_table(n_columns, n_rows=12):
    rng = np.random.default_rng(1)
    labels = np.arange(n_rows) % 2
    X = rng.integers(0, 9, size=(n_rows, n_columns)) + labels[:, None]
    lines = [",".join(f"x{j}" for j in range(n_columns)) + ",y"]
    lines += [",".join(map(str, row)) + "," + "pq"[k] for row, k in zip(X, labels, strict=True)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("n_columns", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_very_many_columns(n_columns, folder):
    Path("wide.csv").write_text(wide_table(n_columns))
    begin = time.monotonic()
    done = fit("wide.csv", "--cv", "2", "--quiet")
    assert done.code == 0, done.err
    ran("predict", "own.opgd", "wide.csv", "-o", "p.csv")
    assert time.monotonic() - begin < n_columns / 1000  # seconds; a square would take hours
    assert len(pd.read_csv("p.csv")) == 12
    broken = Path("wide.csv").read_text().replace("x7,", "x8,", 1)
    Path("wide.csv").write_text(broken)
    assert_refused(run("predict", "own.opgd", "wide.csv"), ["more than once", "'x8'"])


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
from opgd.cli import main
main(["fit", "huge.csv", "-t", "y", "-o", "own.opgd"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_tables_larger_than_memory_end_in_a_sentence(folder):
    with open("huge.csv", "wb") as stream:  # sparse: takes no room
        stream.write(b"a,y\n")
        stream.truncate(2**36)
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "opgd: there is not enough memory for this.\n"
    assert names() == ["good.csv", "huge.csv"]


def test_files_that_must_not_be_read(folder, monkeypatch):
    if os.geteuid():
        Path("good.csv").chmod(0)
    else:  # root may read everything

        def refused(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(Path, "read_bytes", refused)
    assert_refused(fit(), ["Permission denied", "good.csv"])
    assert names() == ["good.csv"]


@pytest.mark.parametrize("name", ["wrong.csv", "wrong.tsv"])
@pytest.mark.parametrize("command", ["fit", "predict", "cluster", "report", "compare"])
def test_every_command_refuses_what_is_no_table(name, command, model):
    Path(name).write_bytes(b"a,b,c,y\n1,2,3,p\xff\n")
    before = names()
    done = run(*{
        "fit": ["fit", name, "-t", "y", "-o", "x"],
        "predict": ["predict", model, name, "-o", "x.csv"],
        "cluster": ["cluster", name, "-k", 2, "-o", "x"],
        "report": ["report", model, name, "-o", "x.html"],
        "compare": ["compare", name, "-t", "y", "-o", "x.csv"],
    }[command])  # fmt: skip
    assert_refused(done, [name, "UTF-8", "line 2", "0xff"])
    assert names() == before


# formulas

FORMULAS = ["=1+1", "@sum(a)", "+cmd", "-cmd|x", "\tx", "\uff1d1", "\uff0b1+1", "\n=1"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_in_cells_and_header_are_made_harmless(formula, model):
    table = pd.read_csv("good.csv").assign(**{"k=": formula}).rename(columns={"k=": f"{formula}h"})
    pl.DataFrame(table.to_dict("list")).write_parquet("new.parquet")
    for ending, separator in (("csv", ","), ("tsv", "\t")):
        out = f"p.{ending}"
        ran("predict", model, "new.parquet", "-o", out, "--keep", f"{formula}h", "--keep", "a")
        found = pd.read_csv(out, sep=separator)
        assert f"'{formula}h" in found
        assert set(found[f"'{formula}h"]) == {f"'{formula}"}
        assert found["a"].tolist() == table["a"].tolist()  # numbers stay numbers


# outputs


def links():
    Path("mine").write_text("precious")
    Path("to-file").symlink_to("mine")
    Path("to-nothing").symlink_to("nowhere")
    return ["mine", "to-file", "to-nothing"]


CALLS = {
    "fit": ["fit", "good.csv", "-t", "y", "--axes", "1", "-o"],
    "cluster": ["cluster", "good.csv", "--ignore", "y", "-k", "2", "-o"],
    "report": ["report", "model.opgd", "good.csv", "--cv", "0", "-o"],
}


@pytest.mark.parametrize("command", CALLS)
def test_links_and_files_are_replaced_by_force_only(command, model):
    for name in links():
        assert_refused(run(*CALLS[command], name), [f"'{name}' already", "--force"])
    assert Path("mine").read_text() == "precious"
    assert not Path("nowhere").exists()
    ran(*CALLS[command], "to-file", "--force")
    assert not Path("to-file").is_symlink()  # the link is replaced, not what it leads to
    assert Path("mine").read_text() == "precious"


def test_columns_of_the_model_can_be_kept(model):
    done = ran("predict", model, "good.csv", "--keep", "b", "--keep", "y")
    found, table = pd.read_csv(io.StringIO(done.out)), pd.read_csv("good.csv")
    assert found["b"].tolist() == table["b"].tolist()
    assert found["y"].tolist() == table["y"].tolist()


def test_predictions_do_not_go_through_links(model):
    Path("mine.csv").write_text("precious")
    Path("link.csv").symlink_to("mine.csv")
    assert_refused(run("predict", model, "good.csv", "-o", "link.csv"), ["--force"])
    ran("predict", model, "good.csv", "-o", "link.csv", "--force")
    assert Path("mine.csv").read_text() == "precious"


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("command", [*CALLS, "predict"])
def test_full_disks_end_in_a_sentence_and_leave_nothing(command, force, model, monkeypatch):
    target = "p.csv" if command == "predict" else "own"
    if force:
        Path(target).write_text("precious")
    before = names()
    call = CALLS.get(command, ["predict", model, "good.csv", "-o"])
    monkeypatch.setattr("os.fsync", full)
    done = run(*call, target, *(["--force"] if force else []))
    assert done.code == 1
    assert [line for line in done.err.splitlines() if "warning" not in line] == [
        "opgd: cannot write: No space left on device."
    ]
    assert names() == before
    assert not force or Path(target).read_text() == "precious"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "arguments", [["predict", "model.opgd", "good.csv"], ["info", "model.opgd", "--json"]]
)
def test_a_full_standard_output_is_told(arguments, model):
    with open("/dev/full", "wb") as stream:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=stream, stderr=subprocess.PIPE, text=True
        )
    assert done.stderr == "opgd: cannot write: No space left on device.\n"
    assert done.returncode == 1


# signals

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture
def usual_interrupts():
    """Python's own handling of SIGINT, which processes in the background begin without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_interrupts")
@pytest.mark.parametrize(
    ("step", "force"),
    [("os.fsync", False), ("os.fsync", True), ("os.link", False), ("os.replace", True)],
)
@pytest.mark.parametrize("number", CODES)
def test_signals_while_files_are_written(number, step, force, model, monkeypatch):
    if force:
        Path("own.opgd").write_text("precious")
    before = names()
    monkeypatch.setattr(step, lambda *_: os.kill(os.getpid(), number))
    handler = signal.getsignal(signal.SIGTERM)
    done = fit("good.csv", *(["--force"] if force else []))
    assert done.code == CODES[number]
    assert done.err == ""
    assert names() == before
    assert not force or Path("own.opgd").read_text() == "precious"
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize("number", CODES)
def test_a_signal_during_a_fit_leaves_nothing(number, folder):
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(3000, 40)), columns=[f"x{j}" for j in range(40)])
    table.assign(id=np.arange(3000), y=rng.integers(0, 6, 3000)).to_csv("long.csv", index=False)
    call = [*COMMAND, "fit", "long.csv", "-t", "y", "-o", "m.opgd"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(call, **pipes) as process:
        assert b"counts the rows" in process.stderr.readline()  # the last words before the fit
        time.sleep(0.5)
        assert process.poll() is None, "the fit was over before it could be ended"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == CODES[number]
    assert (out, err) == (b"", b"")
    assert names() == ["good.csv", "long.csv"]


# reports


def test_reports_of_hostile_names_hold_no_markup(folder):
    evil = "</script><img src=x onerror=alert(1)>"
    table = (
        pd.read_csv("good.csv").rename(columns={"a": evil}).assign(y=lambda own: own["y"] + evil)
    )
    table.to_csv("evil.csv", index=False)
    ran("fit", "evil.csv", "-t", "y", "--axes", 1, "-o", "own.opgd")
    ran("report", "own.opgd", "evil.csv", "--cv", 0, "--title", evil, "-o", "evil.html")
    assert "<img src=x" not in Path("evil.html").read_text("utf-8")


def test_answers_are_the_librarys(model):
    """The fuzz above is worth nothing if good tables are not read right."""
    done = ran("predict", model, "good.csv", "--json", "-o", "p.csv")
    table = pd.read_csv(io.StringIO(GOOD))
    expected = load_model(model).predict(table[["a", "b", "c"]])
    assert pd.read_csv("p.csv")["prediction"].tolist() == expected.tolist()
    assert json.loads(done.out)["rows"] == len(table)
