"""Columns are selected by name, never by pattern."""

import numpy as np
import pandas as pd
import pytest

from opgd import load_model
from tests.cli.helpers import fit, run_ok


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
