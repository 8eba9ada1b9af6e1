"""What is printed: JSON, warnings, names, the progress bar."""

import io
import json

import pandas as pd
import pytest

from opgd import OPGDClassifier
from opgd.model_file import save_model
from tests.cli.helpers import COLUMNS, WINE, fit, run, run_ok, wine


def test_json_is_data(files):
    table = pd.read_csv("train.csv")
    table.assign(sum=table["ash"] + table["hue"]).to_csv("own.csv", index=False)
    facts = json.loads(fit("own.csv", "--json").out)
    assert facts["classes"] == ["red", "rosé", "white"]
    assert sum(facts["training"]["class_counts"]) == facts["training"]["rows"] == 89
    assert 0 <= facts["training"]["error"] < 0.2
    assert any("collinear columns" in text for text in facts["warnings"])
    again = json.loads(run_ok("info", "own.opgd", "--json").out)
    kept = ["estimator", "columns", "axes", "classes", "training", "settings"]
    assert [again[key] for key in kept] == [facts[key] for key in kept]
    out = json.loads(run_ok("predict", "own.opgd", "own.csv", "-o", "p.csv", "--json").out)
    assert out["rows"] == sum(out["counts"].values()) == 89
    assert out["error"] < 0.2
    wanted = ["compare", "train.csv", "-t", "kind", "--methods", "LDA;RDA", "--cv", 2]
    compared = json.loads(run_ok(*wanted, "--inner-cv", 0.3, "-o", "folds.csv", "--json").out)
    means = pd.read_csv("folds.csv").groupby("method")["error"].mean()
    assert {row["method"]: row["error"] for row in compared["methods"]} == pytest.approx(
        means.to_dict()
    )


def test_warnings_are_lines_and_quiet_is_quiet(files):
    wine(sum=lambda table: table["ash"] + table["hue"]).to_csv("own.csv", index=False)
    done = fit("own.csv", "--quiet")
    assert done.out == ""
    lines = done.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("opgd: warning: ")
    assert "collinear columns" in lines[0]
    assert run_ok("predict", "own.opgd", "own.csv", "-o", "p.csv", "-q").out == ""


def test_names_are_text_on_the_terminal_too(files):
    odd = wine().rename(columns={"ash": "[red]ash[/red] :smile: \x1b[31m"})
    odd.to_csv("own.csv", index=False)
    done = fit("own.csv")
    assert done.code == 0
    assert r"[red]ash[/red] :smile: \x1b[31m" in " ".join(done.out.split())
    assert "\x1b" not in done.out


def test_the_bar_of_a_selection_is_no_part_of_the_model(monkeypatch):
    from opgd import OPGDClassifierCV
    from opgd.cli.console import Terminal

    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    model = OPGDClassifierCV(2, shrinkage=0, ridge=(0, 0.1), n_subclasses=1, sparsity=0, cv=2)
    with Terminal().show_progress("fitting", model):
        model.fit(wine()[COLUMNS], WINE.target)
    assert "Selecting a model" in shown.getvalue()
    assert model.verbose == 0
    with Terminal().show_progress("writing the report"):
        pass
    assert "writing the report" in shown.getvalue()


@pytest.mark.parametrize("width", [60, 80, 130])
def test_tables_of_columns_fit_the_width(width, files, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    cities = [f"city number {i % 12}" for i in range(178)]
    wine(city=cities, gap=[None, *range(177)]).to_csv("own.csv", index=False)
    dry = run_ok("fit", "own.csv", "-t", "kind", "--dry-run").out.splitlines()[1:]
    fitted = [line for line in fit("own.csv").err.splitlines() if not line.startswith("opgd: ")]
    printed = run_ok("info", "own.opgd").out.splitlines()
    assert max(map(len, dry)) == width
    assert dry == fitted == printed[-len(dry) :]
    assert dry[0].split() == ["column", "kind", "encoding", "missing"]
    assert len(dry) == 1 + 7
    assert "reference city" in "".join(dry)


HOSTILE = "\x1b[31m\x1b]0;title\x07\x9b2J\u202e\r\x7f\u2028"
"""Sequences that color, set the title, clear the screen, or reverse and break lines."""


@pytest.mark.parametrize(
    "call",
    [
        ["info", "own.opgd"],
        ["info", "own.opgd", "--json"],
        ["fit", "own.csv", "-t", "kind", "-o", "new.opgd", "--axes", "1"],
        ["fit", "own.csv", "-t", "kind", "--dry-run"],
        ["fit", "own.csv", "-t", f"no{HOSTILE}", "-o", "new.opgd"],
        ["fit", f"no{HOSTILE}.csv", "-t", "kind", "-o", "new.opgd"],
        ["predict", "own.opgd", "own.csv", "-o", f"new{HOSTILE}.csv"],
        ["predict", "own.opgd", "other.csv"],
        ["cluster", "own.csv", "--ignore", "kind", "-k", "2", "-o", "new.opgd"],
        ["compare", "own.csv", "-t", "kind", "--methods", "LDA", "--cv", "2"],
        ["report", "own.opgd", "other.csv", "-o", "new.html"],
        ["no\x1b[31m\x07"],
        ["info", "--no\x1b[31m\x07"],
    ],
    ids=lambda call: "-".join(call)[:24].encode("ascii", "replace").decode(),
)
def test_no_control_characters_reach_the_terminal(call, files):
    table = wine().rename(columns={"ash": f"ash{HOSTILE}"})
    table["kind"] = table["kind"] + HOSTILE
    table.to_csv("own.csv", index=False)
    wine().to_csv("other.csv", index=False)
    notes = {"target": f"kind{HOSTILE}", "estimated_by": HOSTILE, "error": 0.5, "rows": 3}
    model = OPGDClassifier(1).fit(table.drop(columns="kind"), table["kind"])
    save_model(model, "own.opgd", notes={"training": notes} | notes)
    done = run(*call)
    assert "Traceback" not in done.err
    printed = (done.out + done.err).replace("\n", "")
    assert printed.isprintable(), [c for c in printed if not c.isprintable()]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_other_encodings_of_terminals_are_no_failure(encoding, files):
    table = wine().rename(columns={"ash": "größe \u4e2d"})
    table.to_csv("own.csv", index=False)
    for call in (
        ["fit", "own.csv", "-t", "kind", "-o", "own.opgd", "--axes", "1"],
        ["info", "own.opgd"],
        ["compare", "own.csv", "-t", "kind", "--methods", "LDA", "--cv", "2"],
        ["predict", "own.opgd", "own.csv"],
    ):
        done = run(*call, encoding=encoding)
        assert done.code == 0, done.err
