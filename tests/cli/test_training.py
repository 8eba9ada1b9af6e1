"""From a table to training rows."""

import json

import numpy as np

from tests.cli.helpers import COLUMNS, WINE, fit, wine


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
    assert "it numbers the rows" in fit("own.csv", "--force").err
    assert fit("train.csv", "--force").err == ""
