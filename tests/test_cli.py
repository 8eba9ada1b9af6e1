"""The command as a new user meets it: what it does, what it says, and what it leaves behind."""

import contextlib
import io
import json
import os
import re
import shlex
import stat
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from opgd import load_model
from opgd._model_file.container import pack, unpack
from opgd.baselines import (
    FlexibleDiscriminantAnalysis,
    GaussianMixturePursuit,
    KernelDiscriminantAnalysis,
    KernelNaiveBayes,
    LikelihoodRatioPursuit,
    RegularizedDiscriminantAnalysis,
)
from opgd.model_file import load_notes, save_model

pl = pytest.importorskip("polars")
pytest.importorskip("typer")
pytest.importorskip("safetensors")

from opgd.cli import main  # noqa: E402
from opgd.cli.console import ProgressBar, Terminal  # noqa: E402
from opgd.cli.tables.write import _write_to_stdout  # noqa: E402

PAGE = Path(__file__).resolve().parents[1] / "docs" / "user_guide" / "command_line.md"
COMMAND = [sys.executable, "-m", "opgd.cli"]
WINE = load_wine(as_frame=True)
COLUMNS = ["alcohol", "ash", "hue", "proline", "flavanoids"]


@dataclass
class Done:
    code: int
    out: str
    err: str


def run(*arguments, stdin=b""):
    """The command in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main([str(own) for own in arguments])
                code = 0
            except SystemExit as end:
                code = end.code or 0
    finally:
        sys.stdin = before
    said = [own.buffer.getvalue().decode() for own in (out, err)]
    return Done(code, *said)


def ran(*arguments, **more):
    done = run(*arguments, **more)
    assert done.code == 0, done.err
    return done


def wine(**changes):
    """Five columns and the label, with some cells changed."""
    table = WINE.data[COLUMNS].assign(kind=np.array(["red", "white", "rosé"])[WINE.target])
    return table.assign(**changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables and models that tests only read."""
    folder = tmp_path_factory.mktemp("cli")
    table = wine()
    table.iloc[::2].to_csv(folder / "train.csv", index=False)
    table.iloc[1::2].to_csv(folder / "new.csv", index=False)
    ran("fit", folder / "train.csv", "-t", "kind", "--axes", 2, "-o", folder / "model.opgd")
    return folder


@pytest.fixture
def files(folder, tmp_path, monkeypatch):
    """The same by name, in a folder that may be written."""
    monkeypatch.chdir(tmp_path)
    for own in folder.iterdir():
        (tmp_path / own.name).symlink_to(own)
    return tmp_path


def fit(name="train.csv", *more, target="kind"):
    return run("fit", name, "--target", target, "--axes", 2, "-o", "own.opgd", *more)


# the walk-through


def blocks():
    return re.findall(r"^```console\n(.*?)^```", PAGE.read_text("utf-8"), flags=re.S | re.M)


def shape(line):
    """A line of output without its numbers, which differ between machines."""
    return " ".join(re.sub(r"\d+(\.\d+)?", "#", line).split())


def test_the_page_does_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "bin" / "opgd"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    seen = set()
    for block in blocks():
        printed = []
        for line in block.splitlines():
            if not line.startswith("$ "):
                assert shape(line) in printed, f"{line!r} is not in what {seen} printed"
                continue
            words = shlex.split(line[2:])
            seen |= set(words)
            if "|" in words:  # the command itself, in a shell
                call = subprocess.run(line[2:], shell=True, capture_output=True, text=True)
                done = Done(call.returncode, call.stdout, call.stderr)
            else:
                assert words[0] == "opgd"
                done = run(*words[1:])
            assert done.code == (2 if "opgd: " in block else 0), done.err
            printed = [shape(own) for own in (done.out + done.err).splitlines()]
    assert {"fit", "predict", "transform", "report", "cluster", "info", "demo", "compare"} <= seen
    predictions = pd.read_csv("predictions.csv")
    truth = pd.read_csv("demo/wine-test.csv")["label"]
    assert predictions["row"].tolist() == list(range(1, 46))
    assert (predictions["prediction"] == truth).mean() > 0.9
    classes = predictions.filter(like="probability_").to_numpy()
    np.testing.assert_allclose(classes.sum(axis=1), 1)
    assert pd.read_csv("scores.csv")["label"].equals(truth)
    assert len(pd.read_csv("clusters.csv")["cluster"].unique()) == 3
    assert "</html>" in Path("wine.html").read_text("utf-8")
    python = textwrap.dedent("\n".join(re.findall(r"^    .*$", PAGE.read_text("utf-8"), re.M)))
    exec(python, {"table": pd.read_csv("demo/wine-test.csv")})
    assert not Path("mixed.opgd").exists()
    assert not list(tmp_path.glob(".opgd*"))


def test_the_real_command_reads_and_writes_streams(files):
    with open("new.csv", "rb") as table:
        done = subprocess.run(
            [*COMMAND, "predict", "model.opgd", "-"], stdin=table, capture_output=True
        )
    assert done.returncode == 0
    assert done.stderr == b""
    model = load_model("model.opgd")
    expected = model.predict(pd.read_csv("new.csv")[COLUMNS])
    assert pd.read_csv(io.BytesIO(done.stdout))["prediction"].tolist() == expected.tolist()


def test_readers_that_leave_early_are_no_failure(files):
    many = pd.concat([wine()] * 300)
    many.to_csv("many.csv", index=False)
    call = [*COMMAND, "predict", "model.opgd", "many.csv"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors cannot be counted")
def test_readers_that_leave_early_cost_no_descriptor(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        before = os.listdir("/proc/self/fd")
        _write_to_stdout(b"nobody reads this")
        assert os.listdir("/proc/self/fd") == before


# new rows


def test_columns_are_found_by_name(files):
    plain = ran("predict", "model.opgd", "new.csv")
    table = pd.read_csv("new.csv")[["kind", *COLUMNS[::-1]]].assign(more=1.0)
    table.to_csv("other.csv", index=False)
    other = ran("predict", "model.opgd", "other.csv")
    assert other.out == plain.out
    assert "does not use: 'more'" in other.err
    assert plain.err == ""


def test_models_of_arrays_take_columns_in_their_order(files):
    model = load_model("model.opgd")
    rows = pd.read_csv("new.csv")[COLUMNS]
    save_model(model.fit(rows.to_numpy(), WINE.target.iloc[1::2]), "bare.opgd")
    rows.to_csv("rows.csv", index=False)
    done = ran("predict", "bare.opgd", "rows.csv")
    assert "in their order" in done.err
    found = pd.read_csv(io.StringIO(done.out))["prediction"]
    assert found.tolist() == model.predict(rows.to_numpy()).tolist()
    assert run("predict", "bare.opgd", "new.csv").code == 2


def test_rows_left_out_keep_the_numbers_of_the_others(files):
    table = pd.read_csv("new.csv")
    table.loc[[0, 3], "hue"] = np.nan
    table.to_csv("holes.csv", index=False)
    refused = run("predict", "model.opgd", "holes.csv")
    assert refused.code == 2
    for words in ("hue", "2 of 89 rows", "rows 1, 4", "--drop-missing leaves 2 rows out"):
        assert words in refused.err
    done = ran("transform", "model.opgd", "holes.csv", "--drop-missing", "--keep", "kind")
    found = pd.read_csv(io.StringIO(done.out))
    assert found["row"].tolist()[:4] == [2, 3, 5, 6]
    assert found["kind"].tolist() == table["kind"].drop([0, 3]).tolist()
    expected = load_model("model.opgd").transform(table[COLUMNS].drop([0, 3]))
    np.testing.assert_allclose(found[["axis_1", "axis_2"]], expected)


def test_values_for_missing_cells_stay_with_the_model(files):
    table = wine()
    table.loc[[2, 5], "ash"] = np.nan
    table.to_csv("holes.csv", index=False)
    refused = fit("holes.csv")
    for words in ("ash", "2 of 178 rows", "rows 3, 6", "--drop-missing", "--impute median"):
        assert words in refused.err
    assert ran("fit", "holes.csv", "-t", "kind", "--axes", 2, "--impute", "median", "-o", "f.opgd")
    values = load_notes("f.opgd")["preprocessing"]["imputation"]["values"]
    assert values == table[COLUMNS].median().to_dict()
    done = ran("predict", "f.opgd", "holes.csv")
    assert "2 missing cells filled by the model's median" in done.err
    expected = load_model("f.opgd").predict(table[COLUMNS].fillna(values))
    assert pd.read_csv(io.StringIO(done.out))["prediction"].tolist() == expected.tolist()
    left = ran("fit", "holes.csv", "-t", "kind", "--axes", 2, "--drop-missing", "-o", "d.opgd")
    assert "2 rows with missing cells left out" in left.err
    assert load_notes("d.opgd")["training"]["rows"] == 176


# tables

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
    expected = ran("predict", "model.opgd", "new.csv")
    assert ran("predict", "model.opgd", name).out == expected.out
    assert pd.read_csv(io.StringIO(expected.out))["prediction"].nunique() == 3


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["1", "2", "10"], int),
        (["-1", "0", "1"], int),
        (["001", "002", "010"], str),
        (["1.0", "2.0", "3.0"], str),
        (["None", "True", "rosé"], str),
        (["+", "-", "="], str),
    ],
)
def test_labels_of_text_come_back_as_they_were(labels, kind, files):
    table = wine(kind=np.array(labels)[WINE.target])
    table.to_csv("own.csv", index=False)
    assert fit("own.csv").code == 0
    assert all(type(label) is kind for label in load_model("own.opgd").classes_.tolist())
    done = ran("predict", "own.opgd", "own.csv", "--raw")
    found = pd.read_csv(io.StringIO(done.out), dtype=str, keep_default_na=False)["prediction"]
    assert set(found) == set(labels)
    assert (found == table["kind"]).mean() > 0.9
    ran("report", "own.opgd", "own.csv", "-o", "own.html", "--cv", 0)


@pytest.mark.parametrize("labels", [[1, 2, 3], [1.0, 2.0, 3.0], [True, False, False]])
def test_labels_of_parquet_keep_their_type(labels, files):
    table = pl.DataFrame(wine().to_dict("list"))
    table = table.with_columns(pl.Series("kind", np.array(labels)[WINE.target]))
    table.write_parquet("own.parquet")
    assert fit("own.parquet").code == 0
    assert load_model("own.opgd").classes_.dtype == np.array(labels).dtype
    ran("predict", "own.opgd", "own.parquet", "-o", "own-out.parquet")
    assert pl.read_parquet("own-out.parquet")["prediction"].dtype == table["kind"].dtype
    ran("report", "own.opgd", "own.parquet", "-o", "own.html", "--cv", 0)
    wine(kind=[labels[i] for i in WINE.target]).to_csv("text.csv", index=False)
    ran("report", "own.opgd", "text.csv", "-o", "text.html", "--cv", 0)


def test_columns_of_truth_values_and_patterns(files):
    table = wine(b=WINE.target == 1, i=np.arange(178) % 7, junk1="x", junk2="y")
    table.to_csv("own.csv", index=False)
    done = fit("own.csv", "--ignore", "junk*", "--json")
    assert done.code == 0
    assert json.loads(done.out)["columns"] == [*COLUMNS, "b", "i"]
    used = fit("own.csv", "--use", "b", "--use", "ash", "--json", "--force")
    assert json.loads(used.out)["columns"] == ["b", "ash"]


def test_counters_of_rows_are_pointed_out(files):
    wine(id=np.arange(178)).to_csv("own.csv", index=False)
    assert "'id' counts the rows" in fit("own.csv").err
    assert "counts the rows" not in fit("train.csv", "--force").err


def test_weights_and_groups(files):
    table = wine(w=1.0 + (WINE.target == 0), g=np.arange(178) % 6)
    table.to_csv("own.csv", index=False)
    done = run(
        *["fit", "own.csv", "-t", "kind", "--axes", "1,2", "--shrinkage", "0", "--ridge", "0,0.1"],
        *["--cv", 3, "--weights", "w", "--groups", "g", "-o", "own.opgd", "--json"],
    )
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert facts["columns"] == COLUMNS
    assert "3 splits of groups" in facts["training"]["estimated_by"]
    assert facts["warnings"] == []
    priors = facts["priors"][facts["classes"].index("red")]
    assert priors == pytest.approx(2 * 59 / (178 + 59))


def test_one_setting_is_judged_by_groups_left_out_too(files, rng):
    numbers = rng.normal(size=(12, 4)).repeat(10, axis=0) + rng.normal(scale=1e-3, size=(120, 4))
    labels = np.repeat(rng.permutation(list("ab" * 6)), 10)  # of the group, and of nothing else
    table = pd.DataFrame(numbers, columns=list("wxyz"))
    table.assign(kind=labels, g=np.arange(12).repeat(10)).to_csv("own.csv", index=False)
    more = ["--subclasses", 6, "--json", "--force"]
    with_leak = json.loads(fit("own.csv", "--ignore", "g", *more).out)["training"]
    assert with_leak["error"] == 0
    facts = json.loads(fit("own.csv", "--groups", "g", *more).out)["training"]
    assert facts["error"] > 0.2
    assert "5 folds of groups" in facts["estimated_by"]
    page = fit("own.csv", "--groups", "g", "--subclasses", 6, "--force").out
    assert "5 folds of groups" in " ".join(page.split())


def test_an_error_of_training_rows_says_why(files):
    wine(g=np.where(WINE.target == 0, 9, np.arange(178) % 6)).to_csv("own.csv", index=False)
    done = fit("own.csv", "--groups", "g", "--json")
    how = json.loads(done.out)["training"]["estimated_by"]
    assert how.startswith("the training rows themselves: some class is only in groups")


# models of every kind

OTHER_DENSITIES = [
    FlexibleDiscriminantAnalysis,
    GaussianMixturePursuit,
    KernelDiscriminantAnalysis,
    KernelNaiveBayes,
    LikelihoodRatioPursuit,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", OTHER_DENSITIES, ids=lambda own: own.__name__)
def test_models_without_gaussians_answer_what_they_can(kind, files):
    new = pd.read_csv("new.csv")
    model = kind().fit(new[COLUMNS], new["kind"])
    save_model(model, "kind.opgd")
    answers = pd.read_csv(io.StringIO(ran("predict", "kind.opgd", "new.csv").out))
    assert answers["prediction"].tolist() == model.predict(new[COLUMNS]).tolist()
    assert "typicality" not in answers
    done = run("transform", "kind.opgd", "new.csv")
    if hasattr(model, "transform"):
        scores = pd.read_csv(io.StringIO(done.out)).filter(like="axis_")
        np.testing.assert_allclose(scores, model.transform(new[COLUMNS]), rtol=1e-12)
    else:
        assert_refused(done, ["no axes"])
    done = run("report", "kind.opgd", "new.csv", "-t", "kind", "-o", "r.html")
    assert_refused(done, [kind.__name__, "no axes with Gaussians"])
    assert not Path("r.html").exists()


# bad input

GOOD = "a,b,y\n" + "".join(f"{i},{i * i % 7},{'pq'[i % 2]}\n" for i in range(20))


def changed(row):
    return GOOD.replace("4,2,p", row)


BAD_TABLES = {
    "empty": (b"", ["is empty"]),
    "blank": (b"\n\n \n", ["is empty"]),
    "header only": (b"a,b,y\n", ["no rows", "only a header"]),
    "no header": (b"1.5,2.5,0\n1,2,1\n", ["numbers in its first line", "names"]),
    "names twice": (b"a,a,y\n1,2,p\n", ["more than once", "'a'"]),
    "short row": (GOOD + "3,4\n", ["line 22", "2 cells", "has 3"]),
    "long row": (GOOD + "3,4,p,5\n", ["line 22", "4 cells", "has 3"]),
    "latin 1": ((GOOD + "1,2,ü\n").encode("latin-1"), ["UTF-8", "line 22", "0xfc"]),
    "binary": (b"a,b,y\n1,\0,p\n", ["zero bytes"]),
    "spreadsheet": (b"PK\x03\x04" + bytes(range(256)), ["spreadsheet", "CSV"]),
    "open quote": (b'a,b,y\n1,"2,p\n3,4,q\n', ["bad.csv"]),
    "no target": (b"a,b\n1,2\n3,4\n", ["no column 'y'", "--target", "'a', 'b'"]),
    "words": (changed("4,two,p"), ["b", "1 of 20", "'two'", "row 5", "--ignore 'b'"]),
    "dates": (changed("4,2021-03-04,p"), ["'2021-03-04'", "--ignore 'b'"]),
    "infinite": (changed("4,-inf,p"), ["infinite", "b", "'-inf'", "row 5"]),
    "missing": (changed("?,NA,p"), ["2 columns", "row 5", "missing leaves 1 row", "--impute"]),
    "no label": (changed("4,2,"), ["'y'", "no label", "row 5", "--drop-missing"]),
    "one class": (GOOD.replace("q", "p"), ["one class only", "'p'"]),
    "measurements": (
        "a,y\n" + "".join(f"{i},{i / 7}\n" for i in range(60)),
        ["60 different values", "column of labels"],
    ),
    "only the target": (b"y\np\nq\np\nq\n", ["No column", "left"]),
    "few rows": (b"a,b,y\n1,2,p\n3,4,p\n5,6,q\n7,7,q\n", ["5 folds (--cv)", "largest has 2"]),
    "thousands": ("a;y\n1,5;p\n1.234;p\n2,5;q\n3,5;q\n", ["'1,5'", "--ignore 'a'"]),
    "commas": ("a\ty\n1,234\tp\n2,345\tp\n5\tq\n6\tq\n", ["'1,234'", "2 of 4 rows"]),
    "terminal codes": (changed("4,\x1b[31mred,p"), [r"\x1b[31mred"]),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables_are_refused_in_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, words = BAD_TABLES[name]
    Path("bad.csv").write_bytes(data.encode() if isinstance(data, str) else data)
    done = fit("bad.csv", target="y")
    assert_refused(done, words)
    assert [own.name for own in tmp_path.iterdir()] == ["bad.csv"]


def assert_refused(done, words):
    assert done.code == 2, done.err
    assert done.out == ""
    for word in words:
        assert word in done.err
    assert "Traceback" not in done.err
    assert "\x1b[31m" not in done.err


BAD_CALLS = [
    (["fit", "none.csv", "-t", "kind", "-o", "x"], ["no file 'none.csv'"]),
    (["fit", ".", "-t", "kind", "-o", "x"], ["folder"]),
    (["fit", "model.opgd", "-t", "kind", "-o", "x"], ["'.opgd'", ".csv", ".parquet"]),
    (["fit", "fake.parquet", "-t", "kind", "-o", "x"], ["fake.parquet", "Parquet"]),
    (["fit", "fake.arrow", "-t", "kind", "-o", "x"], ["fake.arrow", "Arrow"]),
    (["fit", "dates.parquet", "-t", "kind", "-o", "x"], ["when", "a date '2020-01-01'"]),
    (["fit", "train.csv", "-t", "kind", "-o", "model.opgd"], ["--force"]),
    (["fit", "train.csv", "-t", "kind", "-o", "train.csv", "--force"], ["is read"]),
    (["fit", "train.csv", "-t", "kind", "-o", "none/x"], ["no such folder"]),
    (["fit", "train.csv", "-t", "kind", "-o", "."], ["folder"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--axes", "six"], ["--axes", "'six'"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--axes", "9"], ["--axes=9", "5 columns"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--axes", "2", "--ridge", "7"], ["ridge"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--cv", "1"], ["--cv"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--impute", "zero"], ["--impute", "median"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--ignore", "hu"], ["'hu'", "--ignore"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--weights", "w"], ["'w'", "--weights"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--covariance", "round"], ["--covariance"]),
    (["fit", "train.csv", "-o", "x"], ["--target"]),
    (["predict", "train.csv", "new.csv"], ["Cannot load 'train.csv'"]),
    (["predict", "none.opgd", "new.csv"], ["none.opgd", "no such file"]),
    (["predict", "model.opgd", "lacking.csv"], ["lacks the column 'hue'"]),
    (["predict", "model.opgd", "new.csv", "-o", "x.xlsx"], [".csv, .tsv or .parquet"]),
    (["predict", "model.opgd", "new.csv", "-o", "model.opgd", "--force"], ["is read"]),
    (["predict", "model.opgd", "new.csv", "--json"], ["--json", "-o FILE"]),
    (["predict", "model.opgd", "new.csv", "--keep", "none"], ["'none'", "--keep"]),
    (["report", "model.opgd", "strange.csv", "-o", "x"], ["does not know", "'beer'", "1 of 89"]),
    (["report", "model.opgd", "new.csv", "-t", "none", "-o", "x"], ["'none'"]),
    (["report", "model.opgd", "new.csv", "-t", "Kind", "-o", "x"], ["did you mean 'kind'?"]),
    (["report", "rda.opgd", "new.csv", "-t", "kind", "-o", "x"], ["no axes"]),
    (["transform", "rda.opgd", "new.csv"], ["no axes"]),
    (["cluster", "train.csv", "-k", "3", "-o", "x"], ["kind", "--ignore 'kind'"]),
    (["cluster", "train.csv", "--ignore", "kind", "-k", "many", "-o", "x"], ["-k", "'many'"]),
    (["cluster", "train.csv", "--ignore", "kind", "-k", "500", "-o", "x"], ["-k", "89 rows"]),
    (["compare", "train.csv", "-t", "kind", "--methods", "SVM"], ["SVM", "LDA"]),
    (["demo", "cats"], ["'cats'", "digits, wine"]),
    (["nothing"], ["nothing"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=lambda own: " ".join(own[:9]))
def test_bad_calls_are_refused_in_words(arguments, words, files):
    new = pd.read_csv("new.csv")
    new.drop(columns="hue").to_csv("lacking.csv", index=False)
    new.assign(kind=["beer", *new["kind"][1:]]).to_csv("strange.csv", index=False)
    for name in ("fake.parquet", "fake.arrow"):
        Path(name).write_bytes(b"no table")
    days = pl.DataFrame({"when": ["2020-01-01"] * 4, "kind": list("ppqq")})
    days.with_columns(pl.col("when").str.to_date()).write_parquet("dates.parquet")
    rda = RegularizedDiscriminantAnalysis().fit(new[COLUMNS], new["kind"])
    save_model(rda, "rda.opgd")
    before = {own: own.read_bytes() for own in files.iterdir()}
    assert_refused(run(*arguments), words)
    assert {own: own.read_bytes() for own in files.iterdir()} == before


# what is written and said


def test_files_are_replaced_by_force_only(files):
    Path("out.csv").write_text("mine")
    assert run("predict", "model.opgd", "new.csv", "-o", "out.csv").code == 2
    assert Path("out.csv").read_text() == "mine"
    ran("predict", "model.opgd", "new.csv", "-o", "out.csv", "--force")
    assert len(pd.read_csv("out.csv")) == 89


def test_json_is_data(files):
    table = Path("train.csv").read_text("utf-8").splitlines()
    constant = [f"{line},{'same' if i == 0 else 1}" for i, line in enumerate(table)]
    Path("own.csv").write_text("\n".join(constant), "utf-8")
    facts = json.loads(fit("own.csv", "--json").out)
    assert facts["classes"] == ["red", "rosé", "white"]
    assert sum(facts["training"]["class_counts"]) == facts["training"]["rows"] == 89
    assert 0 <= facts["training"]["error"] < 0.2
    assert any("'same'" in text for text in facts["warnings"])
    again = json.loads(ran("info", "own.opgd", "--json").out)
    kept = ["estimator", "columns", "axes", "classes", "training", "settings"]
    assert [again[key] for key in kept] == [facts[key] for key in kept]
    out = json.loads(ran("predict", "own.opgd", "own.csv", "-o", "p.csv", "--json").out)
    assert out["rows"] == sum(out["counts"].values()) == 89
    assert out["error"] < 0.2
    wanted = ["compare", "train.csv", "-t", "kind", "--methods", "LDA;RDA", "--cv", 2]
    compared = json.loads(ran(*wanted, "--inner-cv", 0.3, "-o", "folds.csv", "--json").out)
    means = pd.read_csv("folds.csv").groupby("method")["error"].mean()
    assert {own["method"]: own["error"] for own in compared["methods"]} == pytest.approx(
        means.to_dict()
    )


def test_warnings_are_lines_and_quiet_is_quiet(files):
    wine(same=1.0, more=2.0).to_csv("own.csv", index=False)
    done = fit("own.csv", "--quiet")
    assert done.out == ""
    lines = done.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("opgd: warning: ")
    assert "'same', 'more'" in lines[0]
    assert ran("predict", "own.opgd", "own.csv", "-o", "p.csv", "-q").out == ""


def test_text_like_a_formula_is_made_harmless(files):
    labels = np.array(['=HYPERLINK("x")', "+cmd", "@sum"])
    wine(kind=labels[WINE.target], n=-WINE.target - 0.5).to_csv("own.csv", index=False)
    assert fit("own.csv", "--ignore", "n").code == 0
    done = ran("predict", "own.opgd", "own.csv", "--proba", "--keep", "n")
    assert "apostrophe" in done.err
    found = pd.read_csv(io.StringIO(done.out))
    assert set(found["prediction"]) <= {f"'{label}" for label in labels}
    assert found["n"].tolist() == (-WINE.target - 0.5).tolist()
    raw = pd.read_csv(io.StringIO(ran("predict", "own.opgd", "own.csv", "--raw").out))
    assert set(raw["prediction"]) <= set(labels)
    ran("predict", "own.opgd", "own.csv", "-o", "own-p.parquet")
    assert set(pl.read_parquet("own-p.parquet")["prediction"]) <= set(labels)


def test_names_are_text_on_the_terminal_too(files):
    odd = wine().rename(columns={"ash": "[red]ash[/red] :smile: \x1b[31m"})
    odd.to_csv("own.csv", index=False)
    done = fit("own.csv")
    assert done.code == 0
    assert r"[red]ash[/red] :smile: \x1b[31m" in " ".join(done.out.split())
    assert "\x1b" not in done.out


def test_notes_of_strangers_are_checked(files):
    model = load_model("model.opgd")
    for values in ({"hue": 1.0}, dict.fromkeys(COLUMNS, "x"), [1.0], None):
        notes = {"preprocessing": {"imputation": {"method": "median", "values": values}}}
        save_model(model, "odd.opgd", notes=notes, overwrite=True)
        assert_refused(run("predict", "odd.opgd", "new.csv"), ["notes", "odd.opgd"])
    save_model(model, "odd.opgd", notes={"training": {"rows": "many"}}, overwrite=True)
    ran("info", "odd.opgd")


def test_notes_are_plain_data(files):
    model = load_model("model.opgd")
    for notes in ({"x": {1, 2}}, {1: "x"}, {"x": float("nan")}, ["x"], {"x": (1, 2)}):
        with pytest.raises(TypeError, match="plain data"):
            save_model(model, "odd.opgd", notes=notes)
    assert not Path("odd.opgd").exists()
    save_model(model, "plain.opgd")
    assert load_notes("plain.opgd") == {}
    with open("plain.opgd", "rb") as stream:
        contents, tensors = unpack(stream, Path("plain.opgd").stat().st_size)
    for name in ("format", "version"):
        contents.pop(name)
    Path("odd.opgd").write_bytes(pack(contents | {"notes": ["x"]}, tensors))
    with pytest.raises(ValueError, match=r"odd\.opgd.*notes"):
        load_model("odd.opgd")


def test_the_bar_counts_and_is_no_part_of_the_model(files, monkeypatch):
    pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 brought callbacks")
    from rich.console import Console

    from opgd import OPGDClassifierCV

    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr("opgd.cli.console.make_console", lambda stderr: screen)
    counts = []
    monkeypatch.setattr(
        ProgressBar, "teardown", lambda own, **_: counts.append((own.done, own.bar.tasks[0].total))
    )
    model = OPGDClassifierCV(2, shrinkage=0, ridge=(0, 0.1), cv=2)
    with Terminal().show_progress("choosing", model):
        model.fit(wine()[COLUMNS], WINE.target)
    assert counts == [(7, 7)]  # two splits of three settings each, and the last fit
    assert "choosing" in screen.file.getvalue()
    save_model(model, "watched.opgd")  # a callback would be left out with a warning


WITHOUT = """
import sys
from opgd.cli import main
for package in ("polars", "typer"):
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
    wanted = 'opgd: The command needs the package {}: pip install "opgd[cli]".\n'
    assert done.stderr == wanted.format("polars") + wanted.format("typer")


def test_reports_without_plotly_name_the_extra(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    done = run("report", "model.opgd", "new.csv", "-o", "x.html", "--cv", "0")
    assert_refused(done, ['pip install "opgd[report]"', "plotly"])
    assert not Path("x.html").exists()


@pytest.mark.parametrize("error", [ZeroDivisionError("oh"), np.linalg.LinAlgError("oh")])
def test_failures_that_are_not_the_users_are_told_apart(error, files, monkeypatch):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr("opgd.cli.tables.training.read_table", broken)
    done = fit()
    assert done.code == 1
    assert f"unexpected failure: {type(error).__name__}: oh" in done.err
    assert "Traceback" not in done.err


def test_help_and_version():
    assert ran("--version").out.startswith("opgd ")
    for command in ("fit", "predict", "transform", "cluster", "report", "compare", "info", "demo"):
        assert "Usage: opgd " + command in ran(command, "--help").out
    assert "completion" in ran("--help").out


@pytest.mark.usefixtures("files")
def test_methods_to_compare_are_told_apart_by_semicolons():
    refused = run("compare", "train.csv", "-t", "cultivar", "--methods", "LDA,RDA")
    assert refused.code == 2
    assert "no method 'LDA,RDA'" in refused.err
    assert "semicolons" in refused.err


def test_a_report_leaves_out_groups_as_the_fit_did(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    rows = rows.assign(y=np.tile(["p", "q"], 20), who=np.arange(40))
    pd.concat([rows] * 3).to_csv("copies.csv", index=False)  # who has seen one has seen all
    ran("fit", "copies.csv", "-t", "y", "--axes", 2, "--groups", "who", "-o", "m.opgd")
    ran("report", "m.opgd", "copies.csv", "-o", "groups.html")
    page = Path("groups.html").read_text("utf-8")
    assert "folds of groups was predicted" in page
    pd.concat([rows] * 3).drop(columns="who").to_csv("without.csv", index=False)
    refused = run("report", "m.opgd", "without.csv", "-o", "other.html")
    assert refused.code == 2
    assert "'who'" in refused.err
    assert not Path("other.html").exists()
    ran("report", "m.opgd", "without.csv", "--cv", 0, "-o", "training.html")


def test_a_demonstration_asks_for_its_packages_before_it_writes(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = run("demo", "wine", "--out", tmp_path / "d")
    assert done.code != 0
    assert "opgd[report]" in done.err
    assert not (tmp_path / "d").exists()
