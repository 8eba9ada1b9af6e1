"""opgd compare."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from opgd.comparison import summarize_methods
from tests.cli.helpers import assert_call_refused, assert_refused, join_words, run, run_ok


@pytest.fixture
def call(files):
    """Arguments that compare on the training table of wine."""
    return ["compare", "train.csv", "-t", "kind", "--cv", 3, "--inner-cv", 0.3]


@pytest.mark.parametrize("separator", [",", ";", ", "])
def test_names_are_separated_by_commas_in_any_case(separator, call):
    names = separator.join(["lda", "Naive Bayes", "knn"])
    facts = json.loads(run_ok(*call, "--methods", names, "--json").out)
    assert {row["method"] for row in facts["methods"]} == {"LDA", "naive Bayes", "k-NN"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("OPGD, all settings", ["OPGD, all settings"]),
        ("OPGD,all settings,LDA", ["OPGD, all settings", "LDA"]),
        ("LDA;OPGD;RDA", ["LDA", "OPGD", "RDA"]),
        ("OPGD,LDA,", ["OPGD", "LDA"]),
        ("all", "all"),
    ],
)
def test_names_with_commas_are_recognized(text, names):
    from opgd.cli.commands.compare import parse_methods

    assert parse_methods(text) == names


def test_the_table_marks_the_best_and_shows_intervals(call):
    done = run_ok(*call, "--methods", "LDA,naive Bayes")
    assert "│ * LDA" in done.out or "│ * naive Bayes" in done.out
    assert "±" in done.out
    assert "best" in done.out
    assert "corrected resampled t" in done.out
    assert "\x1b" not in done.out


def test_the_facts_are_those_of_the_written_table(call):
    done = run_ok(*call, "--methods", "LDA,QDA", "--json", "-o", "results.csv")
    facts, table = json.loads(done.out), pd.read_csv("results.csv")
    assert len(table) == 6
    for row in facts["methods"]:
        errors = table.loc[table["method"] == row["method"], "error"]
        assert row["error"] == pytest.approx(errors.mean())
    assert facts["methods"][0]["winner"]


def test_weights_and_groups_are_columns_that_are_not_features(call):
    table = pd.read_csv("train.csv").assign(w=1.0, who=np.arange(89) % 12)
    table.to_csv("weighted.csv", index=False)
    call[1] = "weighted.csv"
    arguments = [*call, "--methods", "LDA", "--json", "--ignore", "who"]
    plain, weighted = (
        json.loads(run_ok(*arguments, *more).out)["methods"][0]
        for more in (["--ignore", "w"], ["--weights", "w"])
    )
    assert weighted["error"] == pytest.approx(plain["error"])
    grouped = json.loads(
        run_ok(*call, "--methods", "LDA", "--json", "--ignore", "w", "--groups", "who").out
    )
    assert grouped["methods"][0]["error"] >= 0
    refused = run(*call, "--methods", "LDA", "--ignore", "w", "--groups", "nobody")
    assert_refused(refused, ["'nobody'", "--groups"])


@pytest.mark.parametrize(("errors", "partial"), [([0.1, 0.2], False), ([0.1, None], True)])
def test_means_over_fewer_splits_have_a_footnote(errors, partial):
    from rich.console import Console

    from opgd.cli.comparison_page import make_comparison_page

    table = {"method": ["LDA", "LDA", "slow", "slow"], "error": [0.1, 0.3, *errors]}
    table |= {"split": [0, 1, 0, 1], "n_train": [50] * 4, "n_test": [50] * 4}
    console = Console(file=io.StringIO(), width=300)
    console.print(make_comparison_page(summarize_methods(table), ""))
    assert ("means are over fewer splits" in console.file.getvalue()) == partial


BAD_CALLS = [
    (["compare", "train.csv", "-t", "kind", "--methods", "SVM"], ["'SVM'", "LDA"]),
    (["compare", "train.csv", "-t", "kind", "--methods", "LDA,qdaa"], ["mean 'QDA'", "--methods"]),
    (["compare", "train.csv", "-t", "kind", "--methods", ","], ["--methods is empty"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=join_words)
def test_bad_calls_are_refused_in_words(arguments, words, bad_files):
    assert_call_refused(arguments, words, bad_files)
