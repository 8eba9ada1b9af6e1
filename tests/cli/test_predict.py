"""opgd predict."""

import io
import json
import shutil
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
    join_words,
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


def test_answers_are_the_librarys(model):
    """The fuzz above is worth nothing if good tables are not read right."""
    done = run_ok("predict", model, "good.csv", "--json", "-o", "p.csv")
    table = pd.read_csv(io.StringIO(SMALL_TABLE))
    expected = load_model(model).predict(table[["a", "b", "c"]])
    assert pd.read_csv("p.csv")["prediction"].tolist() == expected.tolist()
    assert json.loads(done.out)["rows"] == len(table)


# decisions


@pytest.fixture(scope="module")
def searched_model(wine_folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("searched") / "cv.opgd"
    run_ok(
        *("fit", wine_folder / "train.csv", "-t", "kind", "--axes", "1,2", "--ridge", "0.1"),
        *("--shrinkage", "0.1", "--subclasses", "1", "--covariance", "diag", "-o", path),
    )
    return path


@pytest.fixture
def searched(files, searched_model):
    """A model with held-out rows."""
    shutil.copy(searched_model, files)
    return searched_model.name


def read_new(searched):
    return load_model(searched), pd.read_csv("new.csv")[COLUMNS]


def test_costs_and_rejection_are_the_librarys(searched):
    Path("costs.csv").write_text(
        "true,predicted,cost\nred,white,9\nrosé,white,4\n", encoding="utf-8"
    )
    options = ["--costs", "costs.csv", "--reject-cost", 0.3, "--reject-label", "ask"]
    found = pd.read_csv(io.StringIO(run_ok("predict", searched, "new.csv", *options).out))
    estimator, X = read_new(searched)
    costs = {("red", "white"): 9, ("rosé", "white"): 4}
    expected = estimator.predict(X, costs=costs, reject_cost=0.3, reject_label="ask")
    assert found["prediction"].tolist() == expected.tolist()
    assert "ask" in set(expected)
    posteriors = estimator.predict_proba(X)
    for i, label in enumerate(expected):
        k = posteriors[i].argmax() if label == "ask" else list(estimator.classes_).index(label)
        assert found["probability"][i] == pytest.approx(posteriors[i, k])


def test_sets_are_the_librarys(searched):
    done = run_ok("predict", searched, "new.csv", "--coverage", 0.9)
    found = pd.read_csv(io.StringIO(done.out), keep_default_na=False)
    estimator, X = read_new(searched)
    sets = estimator.predict_set(X, 0.9)
    assert found["set_size"].tolist() == sets.sum(axis=1).tolist()
    for words, row in zip(found["set"], sets, strict=True):
        assert words == "|".join(estimator.classes_[row])


def test_estimated_class_shares_are_used_and_printed(searched):
    table = pd.read_csv("new.csv")
    table = pd.concat([table[table["kind"] == "red"], table[table["kind"] != "red"][::8]])
    table.to_csv("few.csv", index=False)
    done = run_ok("predict", searched, "few.csv", "--estimate-priors", "--proba")
    estimator = load_model(searched)
    estimate = estimator.estimate_priors(table[COLUMNS])
    assert "Estimated class shares: red " in done.err
    found = pd.read_csv(io.StringIO(done.out))
    expected = estimator.predict_proba(table[COLUMNS], estimate)
    assert found["probability_red"].tolist() == pytest.approx(expected[:, 0].tolist())


def test_rejected_rows_are_no_errors(searched):
    options = ["--reject-below", 1.0, "--reject-label", "ask", "-o", "out.csv", "--json"]
    facts = json.loads(run_ok("predict", searched, "new.csv", *options).out)
    assert facts["counts"]["ask"] > 0
    assert "error" not in facts or facts["error"] <= 1


def test_classes_can_be_weighted(files):
    run_ok(
        "fit", "train.csv", "-t", "kind", "--axes", 2, "--class-weight", "balanced", "-o", "b.opgd"
    )
    assert load_model("b.opgd").priors_.tolist() == pytest.approx([1 / 3] * 3)


BAD_CALLS = [
    (["predict", "train.csv", "new.csv"], ["not a model file", "first argument"]),
    (["predict", "none.opgd", "new.csv"], ["none.opgd", "no such file"]),
    (["predict", "model.opgd", "lacking.csv"], ["no column 'hue'"]),
    (["predict", "model.opgd", "new.csv", "-o", "x.xlsx"], [".csv, .tsv or .parquet"]),
    (["predict", "model.opgd", "new.csv", "-o", "model.opgd", "--force"], ["is read"]),
    (["predict", "model.opgd", "new.csv", "--json"], ["--json", "-o FILE"]),
    (["predict", "model.opgd", "new.csv", "--keep", "none"], ["'none'", "--keep"]),
    (["predict", "rda.opgd", "new.csv", "--scores"], ["--scores", "no axes"]),
    (["predict", "model.opgd", "new.csv", "--coverage", "0.9"], ["held-out rows"]),
    (["predict", "model.opgd", "new.csv", "--coverage", "2"], ["--coverage"]),
    (["predict", "model.opgd", "new.csv", "--reject-below", "0.9"], ["--reject-label"]),
    (["predict", "model.opgd", "new.csv", "--reject-cost", "1", "--reject-label", "red"], ["is"]),
    (["predict", "model.opgd", "new.csv", "--costs", "train.csv"], ["'true'", "--costs"]),
    (["predict", "model.opgd", "new.csv", "--costs", "none.csv"], ["does not exist"]),
    (["predict", "model.opgd", "new.csv", "--costs", "beer.csv"], ["'beer'"]),
    (["predict", "model.opgd", "new.csv", "--costs", "twice.csv"], ["more than once"]),
    (["predict", "model.opgd", "new.csv", "--costs", "words.csv"], ["not numbers"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=join_words)
def test_bad_calls_are_refused_in_words(arguments, words, bad_files):
    assert_call_refused(arguments, words, bad_files)
