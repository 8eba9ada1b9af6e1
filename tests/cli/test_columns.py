"""Columns are selected by name, never by pattern."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import opgd
from opgd import load_model
from tests.cli.helpers import fit, pl, run_ok

from opgd.cli.tables.columns import drop_columns, replace_columns, select_columns  # isort: skip

NAMES = ["^b$", "*", "b", "^.*$", "", "a.b", "^", "$"]
TABLES = Path(opgd.__file__).parent / "cli"


@pytest.fixture
def table():
    return pl.DataFrame({name: [j, j] for j, name in enumerate(NAMES)})


@pytest.mark.parametrize("name", NAMES)
def test_a_name_selects_the_column_that_has_it(name, table):
    (column,) = select_columns(table, [name])
    assert column.unique().to_list() == [NAMES.index(name)]
    assert drop_columns(table, [name]).columns == [other for other in NAMES if other != name]
    replaced = replace_columns(table, {name: pl.Series(["x", "y"])})
    assert replaced.columns == NAMES
    kinds = dict(zip(replaced.columns, replaced.dtypes, strict=True))
    assert [other for other, kind in kinds.items() if kind == pl.String] == [name]


@pytest.mark.parametrize("name", ["^b$", "*", "^.*$"])
def test_a_model_is_fitted_to_the_column_that_is_named(name, files):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    own = pd.DataFrame({name: rng.normal(size=60) + 6 * y, "b": rng.normal(size=60)})
    own.assign(label=np.array(["x", "y"])[y]).to_csv("own.csv", index=False)
    for used in ([], ["--use", name]):
        done = fit("own.csv", "--axes", 1, "--force", *used, target="label")
        assert done.code == 0, done.err
        model = load_model("own.opgd")
        assert model.feature_names_in_.tolist() == ([name] if used else [name, "b"])
        expected = own[model.feature_names_in_.tolist()].groupby(y).mean()
        np.testing.assert_allclose(model.means_, expected)
    run_ok("predict", "own.opgd", "own.csv", "--keep", name, "-o", "out.csv")
    kept = pd.read_csv("out.csv")
    np.testing.assert_allclose(kept[name], own[name])
    assert np.mean(kept["prediction"] == np.array(["x", "y"])[y]) > 0.95


def test_labels_weights_and_groups_may_have_such_names(files):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    own = pd.DataFrame({"a": rng.normal(size=60) + 6 * y, "^c$": rng.normal(size=60)})
    own.loc[3, "^c$"] = np.nan
    own = own.assign(**{"^y$": np.array(["=x", "y"])[y], "^w.$": 1.0, "*": np.arange(60) % 12})
    own.to_csv("own.csv", index=False)
    options = ["--weights", "^w.$", "--ignore", "*", "--impute", "median", "--axes", 1]
    done = fit("own.csv", *options, target="^y$")
    assert done.code == 0, done.err
    assert load_model("own.opgd").feature_names_in_.tolist() == ["a", "^c$"]
    kept = ["--keep", "^y$", "--keep", "*", "--raw"]
    run_ok("predict", "own.opgd", "own.csv", *kept, "-o", "out.csv")
    answers = pd.read_csv("out.csv")
    assert np.mean(answers["prediction"] == answers["^y$"]) > 0.95
    run_ok("report", "own.opgd", "own.csv", "--groups", "*", "-o", "out.html")


def test_polars_gets_no_names_elsewhere():
    """Strings that polars would expand reach it in one module only."""
    for path in TABLES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("select", "drop", "col"):
                assert ast.unparse(node) == "frame.select", path  # of pl.all() in read.py
