"""opgd predict."""

import io
import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from opgd import load_model
from tests.cli.helpers import (
    COLUMNS,
    COMMAND,
    SMALL_TABLE,
    assert_call_refused,
    assert_refused,
    join_words,
    run,
    run_ok,
)


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


def test_columns_of_the_model_can_be_kept(model):
    done = run_ok("predict", model, "good.csv", "--keep", "b", "--keep", "y")
    found, table = pd.read_csv(io.StringIO(done.out)), pd.read_csv("good.csv")
    assert found["b"].tolist() == table["b"].tolist()
    assert found["y"].tolist() == table["y"].tolist()


def test_predictions_do_not_go_through_links(model):
    Path("mine.csv").write_text("precious")
    Path("link.csv").symlink_to("mine.csv")
    assert_refused(run("predict", model, "good.csv", "-o", "link.csv"), ["--force"])
    run_ok("predict", model, "good.csv", "-o", "link.csv", "--force")
    assert Path("mine.csv").read_text() == "precious"


def test_answers_are_the_librarys(model):
    """The fuzz above is worth nothing if good tables are not read right."""
    done = run_ok("predict", model, "good.csv", "--json", "-o", "p.csv")
    table = pd.read_csv(io.StringIO(SMALL_TABLE))
    expected = load_model(model).predict(table[["a", "b", "c"]])
    assert pd.read_csv("p.csv")["prediction"].tolist() == expected.tolist()
    assert json.loads(done.out)["rows"] == len(table)


BAD_CALLS = [
    (["predict", "train.csv", "new.csv"], ["Cannot load 'train.csv'"]),
    (["predict", "none.opgd", "new.csv"], ["none.opgd", "no such file"]),
    (["predict", "model.opgd", "lacking.csv"], ["no column 'hue'"]),
    (["predict", "model.opgd", "new.csv", "-o", "x.xlsx"], [".csv, .tsv or .parquet"]),
    (["predict", "model.opgd", "new.csv", "-o", "model.opgd", "--force"], ["is read"]),
    (["predict", "model.opgd", "new.csv", "--json"], ["--json", "-o FILE"]),
    (["predict", "model.opgd", "new.csv", "--keep", "none"], ["'none'", "--keep"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=join_words)
def test_bad_calls_are_refused_in_words(arguments, words, bad_files):
    assert_call_refused(arguments, words, bad_files)
