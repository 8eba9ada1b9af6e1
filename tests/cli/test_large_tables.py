"""Tables that the command reads in batches."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from opgd import load_model
from opgd.cli.tables import read
from tests.cli.helpers import assert_refused, pl, run, run_ok


@pytest.fixture
def large(monkeypatch):
    """Read all tables in batches."""
    monkeypatch.setattr(read, "MEMORY_SHARE", 0)
    monkeypatch.setattr(read, "MAX_BATCH_ROWS", 100)


@pytest.fixture
def table(rng):
    y = rng.integers(0, 3, 700)
    frame = pd.DataFrame(rng.normal(size=(3, 4))[y] * 2 + rng.normal(size=(700, 4)))
    frame.columns = ["a", "b", "c", "d"]
    frame["row_id"] = 3 * np.arange(700)
    frame["plan"] = rng.choice(["free", "gold"], 700)
    frame["kind"] = np.array(["red", "green", "blue"], dtype=object)[y]
    frame["w"] = rng.uniform(0.5, 2, 700)
    frame.loc[rng.choice(700, 30, replace=False), "b"] = np.nan
    frame.loc[[3, 500], "kind"] = None
    return frame


def write_files(table, path):
    """Write the table in the given form, and return the options for it."""
    if path == "parts":
        Path(path).mkdir()
        table[:300].to_parquet(f"{path}/1.parquet", index=False)
        table[300:].to_parquet(f"{path}/2.parquet", index=False)
    elif path.endswith(".parquet"):
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False)


def fit(path, output, *options):
    arguments = ["fit", path, "-t", "kind", "--weights", "w", "-o", output, "--json", "--force"]
    return json.loads(run_ok(*arguments, *options).out)


@pytest.mark.parametrize(
    ("path", "options"), [("t.csv.gz", []), ("parts", []), ("parts", ["--drop-missing"])]
)
def test_batches_give_the_model_of_the_table_in_memory(files, table, path, options, request):
    write_files(table, path)
    expected = fit(path, "memory.opgd", "--axes", 2, *options)
    run_ok("predict", "memory.opgd", path, "-o", "memory.csv", "--keep", "row_id")
    request.getfixturevalue("large")
    found = fit(path, "large.opgd", "--axes", 2, *options)
    assert found["classes"] == expected["classes"] == ["blue", "green", "red"]
    assert found["columns"] == expected["columns"]
    assert "row_id" not in found["columns"]
    for key in ("rows", "rows_left_out", "class_counts"):
        assert found["training"][key] == expected["training"][key]
    first, second = (load_model(name)[-1] for name in ("memory.opgd", "large.opgd"))
    np.testing.assert_allclose(second.components_, first.components_, rtol=1e-6, atol=1e-9)
    done = json.loads(
        run_ok(
            *["predict", "large.opgd", path, "-o", "large.csv", "--keep", "row_id", "--json"]
        ).out
    )
    assert done["rows"] == 700
    assert sum(done["counts"].values()) == 700
    memory, large = (pl.read_csv(name) for name in ("memory.csv", "large.csv"))
    assert large.drop("probability", "typicality").equals(memory.drop("probability", "typicality"))
    np.testing.assert_allclose(large["probability"], memory["probability"], rtol=1e-6)


def test_settings_are_selected_on_a_sample(files, table, large, monkeypatch):
    monkeypatch.setattr(read, "MIN_SAMPLE_ROWS", 200)
    monkeypatch.setattr(read, "MAX_SAMPLE_ROWS", 200)
    table["number"] = np.arange(700)
    write_files(table, "t.parquet")
    facts = fit("t.parquet", "m.opgd", "--axes", "1,2", "--ridge", 0, "--shrinkage", 0, "--cv", 3)
    assert facts["training"]["estimated_by"].endswith("349 of 698 rows")
    dry = json.loads(run_ok("fit", "t.parquet", "-t", "kind", "--dry-run", "--json").out)
    assert dry["rows"] == 349
    assert facts["training"]["rows"] == 698
    assert facts["columns"] == ["a", "b", "c", "d", "plan"]
    run_ok("predict", "m.opgd", "t.parquet", "-o", "out.parquet")
    assert pl.read_parquet("out.parquet")["row"].to_list() == list(range(1, 701))
    printed = run_ok("predict", "m.opgd", "t.parquet", "--scores").out.splitlines()
    assert len(printed) == 701
    assert printed[0].startswith("row,")


def test_integer_labels_in_text_are_integers(files, table, large):
    table["kind"] = table.kind.map({"red": "1", "green": "2", "blue": "30"})
    write_files(table, "t.csv")
    assert fit("t.csv", "m.opgd", "--axes", 1)["classes"] == [1, 2, 30]


def test_cells_that_the_sample_did_not_show(files, table, large, monkeypatch):
    monkeypatch.setattr(read, "MIN_SAMPLE_ROWS", 100)
    monkeypatch.setattr(read, "MAX_SAMPLE_ROWS", 100)
    table["a"] = table.a.astype(object)
    table.loc[101::40, "a"] = "many"  # the sample has the rows 0, 4, 8, ...
    write_files(table, "t.csv")
    done = run_ok("fit", "t.csv", "-t", "kind", "--axes", 1, "-o", "m.opgd")
    assert 0 < done.err.count("'a': ") <= 3
    assert "for example 'many'" in done.err


def test_damaged_files_leave_no_output(files, table, large):
    write_files(table, "parts")
    run_ok("fit", "parts", "-t", "kind", "--axes", 1, "-o", "m.opgd")
    damaged = Path("parts/2.parquet")
    data = damaged.read_bytes()
    damaged.write_bytes(data[:4] + bytes(300) + data[304:])
    before = sorted(str(path) for path in files.rglob("*"))
    for command in (
        ["predict", "m.opgd", "parts", "-o", "out.csv"],
        ["fit", "parts", "-t", "kind", "--axes", 1, "-o", "other.opgd"],
    ):
        done = run(*command)
        assert done.code == 2
        assert "2.parquet' cannot be read as Parquet" in done.err
    assert sorted(str(path) for path in files.rglob("*")) == before
    assert_refused(
        run("predict", "m.opgd", "parts", "--estimate-priors"), ["--estimate-priors needs all rows"]
    )
