"""opgd report."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.helpers import assert_call_refused, assert_refused, join_words, run, run_ok


def test_reports_without_jinja2_name_the_extra(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = run("report", "model.opgd", "new.csv", "-o", "x.html", "--cv", "0")
    assert_refused(done, ["the extra 'report' is missing", "jinja2"])
    assert not Path("x.html").exists()


def test_a_report_leaves_out_groups_as_the_fit_did(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    rows = rows.assign(y=np.tile(["p", "q"], 20), who=np.arange(40))
    pd.concat([rows] * 3).to_csv("copies.csv", index=False)  # who has seen one has seen all
    run_ok("fit", "copies.csv", "-t", "y", "--axes", 2, "--groups", "who", "-o", "m.opgd")
    run_ok("report", "m.opgd", "copies.csv", "-o", "groups.html")
    page = Path("groups.html").read_text("utf-8")
    assert "cross-validation by group" in page
    pd.concat([rows] * 3).drop(columns="who").to_csv("without.csv", index=False)
    refused = run("report", "m.opgd", "without.csv", "-o", "other.html")
    assert refused.code == 2
    assert "'who'" in refused.err
    assert not Path("other.html").exists()
    run_ok("report", "m.opgd", "without.csv", "--cv", 0, "-o", "training.html")


def test_a_report_shows_the_results_of_a_comparison(files):
    arguments = ["-t", "kind", "--methods", "LDA,naive Bayes", "--cv", 2, "-o", "results.csv"]
    run_ok("compare", "train.csv", *arguments)
    run_ok("report", "model.opgd", "new.csv", "-o", "x.html", "--comparison", "results.csv")
    page = Path("x.html").read_text("utf-8")
    assert 'id="comparison"' in page
    assert "naive Bayes" in page
    refused = run("report", "model.opgd", "new.csv", "-o", "y.html", "--comparison", "new.csv")
    assert_refused(refused, ["'new.csv'", "opgd compare -o", "'method'"])


def test_a_report_is_named_after_the_table_and_other_extensions_are_refused(files):
    arguments = ["report", "model.opgd", "new.csv", "--cv", 0, "--no-usual", "-o"]
    run_ok(*arguments, "x.html")
    page = Path("x.html").read_text("utf-8")
    assert "<title>new.csv: kind</title>" in page
    assert "A model that predicts kind (" in page
    refused = run(*arguments, "x.docx")
    assert_refused(refused, ["x.docx", "is a .html file"])
    assert not Path("x.docx").exists()


def test_reports_of_hostile_names_hold_no_markup(folder):
    evil = "</script><img src=x onerror=alert(1)>"
    table = (
        pd.read_csv("good.csv")
        .rename(columns={"a": evil})
        .assign(y=lambda table: table["y"] + evil)
    )
    table.to_csv("evil.csv", index=False)
    run_ok("fit", "evil.csv", "-t", "y", "--axes", 1, "-o", "own.opgd")
    run_ok("report", "own.opgd", "evil.csv", "--cv", 0, "--title", evil, "-o", "evil.html")
    assert "<img src=x" not in Path("evil.html").read_text("utf-8")


BAD_CALLS = [
    (["report", "model.opgd", "strange.csv", "-o", "x"], ["not classes", "'beer'", "1 of 89"]),
    (["report", "model.opgd", "new.csv", "-t", "none", "-o", "x"], ["'none'"]),
    (["report", "model.opgd", "new.csv", "-t", "Kind", "-o", "x"], ["did you mean 'kind'?"]),
    (["report", "rda.opgd", "new.csv", "-t", "kind", "-o", "x"], ["no axes"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=join_words)
def test_bad_calls_are_refused_in_words(arguments, words, bad_files):
    assert_call_refused(arguments, words, bad_files)
