"""opgd fit."""

import json
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from opgd import load_model
from tests.cli.helpers import (
    COLUMNS,
    COMMAND,
    EXIT_CODES,
    WINE,
    assert_call_refused,
    assert_refused,
    fit,
    fit_small,
    join_words,
    list_files,
    run,
    run_ok,
    wine,
)


@pytest.mark.parametrize(
    ("options", "error"),
    [([], 2 / 3), (["--class-weight", "balanced"], 2 / 3), (["--weights", "w"], 0.5)],
)
def test_errors_of_a_selection_and_of_the_largest_class_have_the_same_weights(
    options, error, files
):
    table = pd.read_csv("train.csv")
    kinds = table["kind"].value_counts()
    table = pd.concat([table[table["kind"] == kind].head(kinds.min()) for kind in kinds.index])
    table["w"] = np.where(table["kind"] == kinds.index[0], 2, 1)
    table.to_csv("balanced.csv", index=False)
    quick = ["--axes", "1,2", "--shrinkage", "0.1", "--ridge", "0.1", "--subclasses", "1"]
    done = run_ok(
        *["fit", "balanced.csv", "-t", "kind", "-o", "own.opgd", "--json", "--cv", "3"],
        *["--ignore", "w"] * (options != ["--weights", "w"]),
        *[*quick, *options],
    )
    training = json.loads(done.out)["training"]
    assert training["largest_class_error"] == pytest.approx(error)
    assert training["weighted"] == bool(options)
    shown = " ".join(run_ok("info", "own.opgd").out.split())
    assert (", weighted (largest class" in shown) == bool(options)


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
    assert "3 splits by group" in facts["training"]["estimated_by"]
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
    assert "5-fold cross-validation by group" in facts["estimated_by"]
    page = fit("own.csv", "--groups", "g", "--subclasses", 6, "--force").out
    assert "5-fold cross-validation by group" in " ".join(page.split())


def test_an_error_of_training_rows_says_why(files):
    wine(g=np.where(WINE.target == 0, 9, np.arange(178) % 6)).to_csv("own.csv", index=False)
    done = fit("own.csv", "--groups", "g", "--json")
    how = json.loads(done.out)["training"]["estimated_by"]
    assert how.startswith("the training rows: a class occurs only in groups")


def wide_table(n_columns, n_rows=12):
    rng = np.random.default_rng(1)
    labels = np.arange(n_rows) % 2
    X = rng.integers(0, 9, size=(n_rows, n_columns)) + labels[:, None]
    lines = [",".join(f"x{j}" for j in range(n_columns)) + ",y"]
    lines += [",".join(map(str, row)) + "," + "pq"[k] for row, k in zip(X, labels, strict=True)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("n_columns", [3_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_very_many_columns(n_columns, folder):
    Path("wide.csv").write_text(wide_table(n_columns), encoding="utf-8")
    begin = time.monotonic()
    done = fit_small("wide.csv", "--cv", "2", "--quiet")
    assert done.code == 0, done.err
    run_ok("predict", "own.opgd", "wide.csv", "-o", "p.csv")
    assert time.monotonic() - begin < n_columns / 100  # seconds; a square would take hours
    assert len(pd.read_csv("p.csv")) == 12
    broken = Path("wide.csv").read_text(encoding="utf-8").replace("x7,", "x8,", 1)
    Path("wide.csv").write_text(broken, encoding="utf-8")
    assert_refused(run("predict", "own.opgd", "wide.csv"), ["more than once", "'x8'"])


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_signal_during_a_fit_leaves_nothing(number, folder):
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(3000, 40)), columns=[f"x{j}" for j in range(40)])
    table.assign(id=np.arange(3000), y=rng.integers(0, 6, 3000)).to_csv("long.csv", index=False)
    call = [*COMMAND, "fit", "long.csv", "-t", "y", "-o", "m.opgd"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # a shell's background job ignores SIGINT, and so would the command
    default = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(call, **pipes, preexec_fn=default) as process:
        for line in process.stderr:
            if b"--as" in line:  # the last words before the fit
                break
        time.sleep(0.5)
        assert process.poll() is None, "the fit was over before it could be ended"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == EXIT_CODES[number]
    assert (out, err) == (b"", b"")
    assert list_files() == ["good.csv", "long.csv"]


BAD_CALLS = [
    (["fit", "none.csv", "-t", "kind", "-o", "x"], ["'none.csv' does not exist"]),
    (["fit", ".", "-t", "kind", "-o", "x"], ["folder"]),
    (["fit", "model.opgd", "-t", "kind", "-o", "x"], ["'model.opgd' must be", ".csv", ".parquet"]),
    (["fit", "fake.parquet", "-t", "kind", "-o", "x"], ["fake.parquet", "Parquet"]),
    (["fit", "fake.arrow", "-t", "kind", "-o", "x"], ["fake.arrow cannot be read"]),
    (["fit", "dates.parquet", "-t", "kind", "-o", "x"], ["'when' (constant)", "--as"]),
    (["fit", "train.csv", "-t", "kind"], ["--output"]),
    (["fit", "train.csv", "-t", "kind", "-o", "model.opgd"], ["--force"]),
    (["fit", "train.csv", "-t", "kind", "-o", "train.csv", "--force"], ["is read"]),
    (["fit", "train.csv", "-t", "kind", "-o", "none/x"], ["the folder 'none' does not exist"]),
    (["fit", "train.csv", "-t", "kind", "-o", "."], ["folder"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--axes", "six"], ["--axes", "'six'"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--axes", "9"], ["--axes", "1 to 5, got 9"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--ridge", "-1"], ["--ridge must", "-1"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--shrinkage", "auto,3"], ["--shrinkage must"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--subclasses", "0"], ["--subclasses must"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--cv", "1"], ["--cv"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--impute", "zero"], ["--impute", "median"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--ignore", "hu"], ["'hu'", "--ignore"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--weights", "w"], ["'w'", "--weights"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--covariance", "round"], ["--covariance"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--columns", "few"], ["--columns", "or all"]),
    (["fit", "train.csv", "-t", "kind", "-o", "x", "--columns", "0"], ["--columns", "least 1"]),
    (["fit", "train.csv", "-o", "x"], ["--target"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=join_words)
def test_bad_calls_are_refused_in_words(arguments, words, bad_files):
    assert_call_refused(arguments, words, bad_files)


@pytest.mark.parametrize(
    "option",
    [("--shrinkage", "3"), ("--ridge", "nan"), ("--covariance", "diagg"), ("--subclasses", "0")],
)
def test_settings_are_checked_before_the_table_is_read(option, files):
    assert_refused(run("fit", "none.csv", "-t", "kind", "-o", "x", *option), [option[0]])


def test_fit_and_info_name_the_selected_model(files, capsys):
    from opgd.cli.console import Terminal
    from opgd.cli.model_summary import print_facts

    printed = run_ok(
        "fit", "train.csv", "-t", "kind", "--cv", 3, "--subclasses", 1, "-o", "cv.opgd"
    )
    facts = json.loads(run_ok("info", "cv.opgd", "--json").out)
    assert facts["method"].split(",")[0] in {"LDA", "reduced-rank LDA", "QDA", "RDA", "OPGD"}
    for page in (printed.out, run_ok("info", "cv.opgd").out):
        assert facts["method"] in " ".join(page.split())
        assert facts["selection"]["trade_off"] in " ".join(page.split())
        assert describe_errors(facts["selection"]) in " ".join(page.split())
    facts["selection"] |= {"one_se": "LDA, 1 component", "one_se_error": 0.1}
    print_facts(facts, Terminal())
    phrase = "--rule one-se would select LDA, 1 component: held-out error 0.100"
    assert phrase in " ".join(capsys.readouterr().out.split())


def describe_errors(selection):
    held_out = f"{selection['error']:.3f} on held-out rows"
    return f"{held_out}, {selection['corrected_error']:.3f} corrected for the selection"


def test_rule_selects_the_simplest_model_within_one_standard_error(files):
    common = ["fit", "train.csv", "-t", "kind", "--cv", 3, "--subclasses", 1, "--json"]
    best = json.loads(run_ok(*common, "-o", "best.opgd").out)
    simplest = json.loads(run_ok(*common, "--rule", "one-se", "-o", "one.opgd").out)
    same = json.loads(run_ok(*common, "--rule", "one_se", "-o", "same.opgd").out)  # as in Python
    assert same["method"] == simplest["method"]
    assert simplest["method"] == best["selection"]["one_se"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--rule", "worst"], "--rule must be best or one-se, got 'worst'."),
        (["--rule", "one-se", "--axes", "2"], "--rule one-se needs --axes auto"),
    ],
)
def test_rule_that_cannot_apply_is_refused(more, message, files):
    refused = run("fit", "train.csv", "-t", "kind", "-o", "x.opgd", *more)
    assert refused.code == 2
    assert message in " ".join(refused.err.split())
    assert not Path("x.opgd").exists()


def test_columns_limits_the_columns_and_says_which(files):
    printed = fit("train.csv", "--columns", 2).out
    facts = json.loads(run_ok("info", "own.opgd", "--json").out)
    assert len(facts["columns_used"]) == 2
    line = "columns used 2 of 5: " + ", ".join(f"'{name}'" for name in facts["columns_used"])
    for page in (printed, run_ok("info", "own.opgd").out):
        assert line in " ".join(page.split())
    axes = load_model("own.opgd").components_
    assert {COLUMNS[j] for j in np.flatnonzero(axes.any(axis=0))} == set(facts["columns_used"])


def test_columns_of_noise_are_removed_unless_all_are_requested(files, rng):
    kinds = np.arange(300) % 2
    X = rng.normal(size=(300, 20))
    X[:, :3] *= 1 + 2 * kinds[:, None]
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(20)]).assign(kind=kinds)
    table.to_csv("own.csv", index=False)
    settings = ["own.csv", "--axes", "auto", "--subclasses", 1, "--cv", 3, "--json"]
    some = json.loads(fit(*settings).out)
    all_columns = json.loads(fit(*settings, "--columns", "all", "--force").out)
    assert {"x0", "x1", "x2"} <= set(some["columns_used"])
    assert len(some["columns_used"]) < 10
    assert len(all_columns.get("columns_used", table.columns[:-1])) == 20


def test_columns_are_selected_among_encoded_columns(files, rng):
    table = wine(shop=rng.choice(["north", "south", "west"], 178), noise=rng.normal(size=178))
    table.to_csv("own.csv", index=False)
    done = fit(
        "own.csv", "--columns", "auto", "--subclasses", 1, "--ridge", 0.1, "--cv", 3, "--json"
    )
    facts = json.loads(done.out)
    assert facts["n_columns"] == 7
    assert set(facts["features_used"]) < set(facts["features"])
    assert "noise" not in facts["columns_used"]
    assert set(facts["columns_used"]) >= {"flavanoids", "alcohol", "hue", "proline"}
    assert f"{len(facts['features_used'])} features" in facts["method"]


@pytest.mark.parametrize("shop", [None, "north"])
def test_columns_that_are_not_used_may_be_absent(shop, files):
    """A column of text makes the model a pipeline with an encoder."""
    table = wine() if shop is None else wine(shop=np.where(np.arange(178) % 3, shop, "south"))
    table.to_csv("own.csv", index=False)
    facts = json.loads(fit("own.csv", "--columns", 2, "--json").out)
    run_ok("predict", "own.opgd", "own.csv", "-o", "all.csv")
    table[facts["columns_used"]].to_csv("few.csv", index=False)
    run_ok("predict", "own.opgd", "few.csv", "-o", "few-predicted.csv", "--drop-missing")
    expected, found = (pd.read_csv(name) for name in ("all.csv", "few-predicted.csv"))
    pd.testing.assert_frame_equal(expected, found)
    table[facts["columns_used"][:1]].to_csv("one.csv", index=False)
    needed = facts["columns_used"][1]
    assert_refused(run("predict", "own.opgd", "one.csv"), [f"no column '{needed}', which"])
