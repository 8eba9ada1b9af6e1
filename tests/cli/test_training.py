"""From a table to training rows."""

import json

import numpy as np

from tests.cli.helpers import COLUMNS, WINE, fit, run_ok, wine


def test_columns_of_truth_values_and_patterns(files):
    table = wine(b=WINE.target == 1, i=np.arange(178) % 7, junk1="x", junk2="y")
    table.to_csv("own.csv", index=False)
    done = fit("own.csv", "--ignore", "junk*", "--json")
    assert done.code == 0
    assert json.loads(done.out)["columns"] == [*COLUMNS, "b", "i"]
    used = fit("own.csv", "--use", "b", "--use", "ash", "--json", "--force")
    assert json.loads(used.out)["columns"] == ["b", "ash"]


def test_counters_of_rows_are_dropped(files):
    wine(id=np.arange(178)).to_csv("own.csv", index=False)
    done = fit("own.csv", "--json")
    assert json.loads(done.out)["columns"] == COLUMNS
    assert "a different integer in every row" in fit("own.csv", "--force").err
    assert fit("train.csv", "--force").err == ""


def test_words_that_are_read_as_missing_labels_are_counted(files):
    words = np.array(["NA", "none", "white"])[WINE.target]
    wine(kind=words).to_csv("own.csv", index=False)
    done = fit("own.csv", "--quiet")
    assert done.code == 0
    assert "labels that were read as missing: 'NA' (59 rows). If such" in done.err
    facts = json.loads(run_ok("info", "own.opgd", "--json").out)
    assert facts["classes"] == ["none", "white"]
    wine(kind=np.where(words == "NA", "NA", WINE.target)).to_csv("numbers.csv", index=False)
    assert fit("numbers.csv", "--quiet", "--force").err == ""
