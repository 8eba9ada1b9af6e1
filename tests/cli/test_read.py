"""Tables of every form, bad tables, and tables damaged at random."""

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.helpers import (
    ACCEPTS_NAN,
    SMALL_TABLE,
    assert_refused,
    fit,
    fit_small,
    list_files,
    pl,
    run,
    run_ok,
)
from tests.fuzzing import cases, damaged_table

FORMS = {
    "comma.csv": lambda t, p: t.to_csv(p, index=False),
    "bom.csv": lambda t, p: t.to_csv(p, index=False, encoding="utf-8-sig"),
    "utf16.txt": lambda t, p: t.to_csv(p, index=False, encoding="utf-16"),
    "semicolon.csv": lambda t, p: t.to_csv(p, index=False, sep=";", decimal=","),
    "tab.tsv": lambda t, p: t.to_csv(p, index=False, sep="\t"),
    "index.csv": lambda t, p: t.to_csv(p),
    "quoted.csv": lambda t, p: t.to_csv(p, index=False, quoting=1, lineterminator="\r\n"),
    "mac.csv": lambda t, p: t.to_csv(p, index=False, lineterminator="\r"),
    "spaces.csv": lambda t, p: p.write_text(
        t.to_csv(index=False).replace(",", " , ") + "\n\n", "utf-8"
    ),
    "table.parquet": lambda t, p: pl.DataFrame(t.to_dict("list")).write_parquet(p),
    "table.arrow": lambda t, p: pl.DataFrame(t.to_dict("list")).write_ipc(p),
    "stream.arrow": lambda t, p: pl.DataFrame(t.to_dict("list")).write_ipc_stream(p),
}


@pytest.mark.parametrize("name", FORMS)
def test_tables_of_any_form_are_the_same(name, files):
    table = pd.read_csv("new.csv")
    FORMS[name](table, files / name)
    expected = run_ok("predict", "model.opgd", "new.csv")
    assert run_ok("predict", "model.opgd", name).out == expected.out
    assert pd.read_csv(io.StringIO(expected.out))["prediction"].nunique() == 3


GOOD = "a,b,y\n" + "".join(f"{i},{i * i % 7},{'pq'[i % 2]}\n" for i in range(20))


def changed(row):
    return GOOD.replace("4,2,p", row)


BAD_TABLES = {
    "empty": (b"", ["is empty"]),
    "blank": (b"\n\n \n", ["is empty"]),
    "header only": (b"a,b,y\n", ["no rows", "only a header"]),
    "no header": (b"1.5,2.5,0\n1,2,1\n", ["numbers in its first line", "names"]),
    "names twice": (b"a,a,y\n1,2,p\n", ["more than once", "'a'"]),
    "short row": (GOOD + "3,4\n", ["Row #22: Expected 3 columns, got 2"]),
    "long row": (GOOD + "3,4,p,5\n", ["Row #22: Expected 3 columns, got 4"]),
    "latin 1": ((GOOD + "1,2,ü\n").encode("latin-1"), ["UTF-8", "line 22", "0xfc"]),
    "binary": (b"a,b,y\n1,\0,p\n", ["zero bytes"]),
    "spreadsheet": (b"PK\x03\x04" + bytes(range(256)), ["spreadsheet", "CSV"]),
    "open quote": (b'a,b,y\n1,"2,p\n3,4,q\n', ["bad.csv"]),
    "no target": (b"a,b\n1,2\n3,4\n", ["no column 'y'", "--target", "'a', 'b'"]),
    "infinite": (changed("4,-inf,p"), ["infinity", "'b'", "row 5"]),
    "missing": (changed("?,NA,p"), ["2 columns", "row 5", "missing to drop 1 row", "--impute"]),
    "one class": (GOOD.replace("q", "p"), ["only one class", "'p'"]),
    "measurements": (
        "a,y\n" + "".join(f"{i},{i / 7}\n" for i in range(60)),
        ["60 different values", "label column"],
    ),
    "only the target": (b"y\np\nq\np\nq\n", ["No column", "left"]),
    "few rows": (b"a,b,y\n1,2,p\n3,4,p\n5,6,q\n7,7,q\n", ["5 folds (--cv)", "largest has 2"]),
}

if ACCEPTS_NAN:
    del BAD_TABLES["missing"]


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables_are_refused_in_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, words = BAD_TABLES[name]
    Path("bad.csv").write_bytes(data.encode() if isinstance(data, str) else data)
    done = fit("bad.csv", target="y")
    assert_refused(done, words)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


ODD_TABLES = {
    "words": (changed("4,two,p"), "not numbers and become missing, for example 'two'"),
    "dates": (changed("4,2021-03-04,p"), "become missing, for example '2021-03-04'"),
    "terminal codes": (changed("4,\x1b[31mred,p"), r"\x1b[31mred"),
    "no label": (changed("4,2,"), "Dropped 1 row without a label."),
    "thousands": (GOOD.replace(",2,", ',"1,234",'), "read as numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_TABLES)
def test_odd_tables_are_used_with_a_note(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, note = ODD_TABLES[name]
    Path("odd.csv").write_text(data, encoding="utf-8")
    done = fit("odd.csv", "--impute", "median", "--axes", 1, "--as", "a=number", target="y")
    assert done.code == 0, done.err
    assert note in done.err
    assert "\x1b" not in done.err


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
        data = damaged_table(rng, SMALL_TABLE)
        name = rng.choice(["hostile.csv", "hostile.txt", "hostile.tsv"])
        Path(name).write_bytes(data)
        command = rng.choice(["fit", "predict", "predict", "predict", "cluster"])
        more = rng.choice([[], [], ["--drop-missing"]])
        if command == "fit":
            done = fit_small(
                name, "--cv", "2", "--force", *more, *rng.choice([[], ["--impute", "mean"]])
            )
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
    counts = use_damaged_tables(cases("tables", 80))
    assert min(counts.values()) > 10, counts


@pytest.mark.slow
def test_damaged_tables_are_used_or_refused_in_words_for_long(model):
    counts = use_damaged_tables(cases("many tables"))
    print(f"tables: {counts[0]} used, {counts[2]} refused")  # noqa: T201


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
from opgd.cli import main
main(["cluster", "huge.csv", "-k", "2", "-o", "own.opgd"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_tables_larger_than_memory_end_in_a_sentence(folder):
    with open("huge.csv", "wb") as stream:  # sparse: takes no room
        stream.write(b"a,y\n")
        stream.truncate(2**36)
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "opgd: not enough memory.\n"
    assert list_files() == ["good.csv", "huge.csv"]


def test_files_that_must_not_be_read(folder, monkeypatch):
    if hasattr(os, "geteuid") and os.geteuid():
        Path("good.csv").chmod(0)
    else:  # root and Windows may read everything

        def refused(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(Path, "read_bytes", refused)
    assert_refused(fit_small(), ["Permission denied", "good.csv"])
    assert list_files() == ["good.csv"]


@pytest.mark.parametrize("name", ["wrong.csv", "wrong.tsv"])
@pytest.mark.parametrize("command", ["fit", "predict", "cluster", "report", "compare"])
def test_every_command_refuses_what_is_no_table(name, command, model):
    Path(name).write_bytes(b"a,b,c,y\n1,2,3,p\xff\n")
    before = list_files()
    done = run(*{
        "fit": ["fit", name, "-t", "y", "-o", "x"],
        "predict": ["predict", model, name, "-o", "x.csv"],
        "cluster": ["cluster", name, "-k", 2, "-o", "x"],
        "report": ["report", model, name, "-o", "x.html"],
        "compare": ["compare", name, "-t", "y", "-o", "x.csv"],
    }[command])  # fmt: skip
    assert_refused(done, [name, "UTF-8", "line 2", "0xff"])
    assert list_files() == before
