"""The command on a table as people have them, and on new rows."""

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from opgd import load_model
from opgd.table_encoder import TableEncoder
from tests.cli.helpers import ACCEPTS_NAN, assert_refused, pl, run, run_ok
from tests.messy.write import FOLDER

IMPUTE = [] if ACCEPTS_NAN else ["--impute", "median"]
FIT = ["fit", "customers.csv", "--target", "churn", "--axes", 1, *IMPUTE]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messy")
    for path in FOLDER.glob("*.csv"):
        shutil.copy(path, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run_ok(*FIT, "-o", "churn.opgd")
    return folder


@pytest.fixture
def messy(fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in fitted.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def test_a_dry_run_shows_the_encoding_and_writes_nothing(messy):
    Path("churn.opgd").unlink()
    before = sorted(messy.iterdir())
    done = run_ok("fit", "customers.csv", "-t", "churn", "--dry-run")
    assert "'currency': constant, left out: always 'EUR'" in done.err
    words = [line.split() for line in done.out.splitlines()]
    assert words[0][:4] == ["315", "rows,", "5", "dropped,"]
    facts = json.loads(run_ok("fit", "customers.csv", "-t", "churn", "--dry-run", "--json").out)
    kinds = {entry["column"]: entry["kind"] for entry in facts["table"]}
    assert [line[0] for line in words[2:]] == list(kinds)
    assert kinds["customer_id"] == "identifier"
    assert kinds["monthly_fee"] == kinds["usage"] == "number in text"
    assert kinds["signup"] == "date"
    assert kinds["comment"] == "text"
    facts = json.loads(run_ok("cluster", "customers.csv", "--dry-run", "--json").out)
    assert [entry["column"] for entry in facts["table"]][1] == "churn"
    assert facts["rows"] == 320
    assert sorted(messy.iterdir()) == before


def test_fit_reports_the_encoding_before_it_fits(messy):
    done = run_ok(*FIT, "-o", "other.opgd")
    assert "Dropped 5 rows without a label." in done.err
    lines = done.err.splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith("column "))
    assert lines[header].split() == ["column", "kind", "encoding", "missing"]
    assert len(lines) >= header + 14
    assert "--as age=ignore" in done.err
    quiet = run_ok(*FIT, "-o", "quiet.opgd", "--quiet").err.splitlines()
    assert [line[:14] for line in quiet] == ["opgd: warning:"]
    facts = json.loads(run_ok(*FIT, "-o", "json.opgd", "--json").out)
    assert facts["n_columns"] == 11
    assert "plan=basic" in facts["features"]
    assert facts["training"]["rows_left_out"] == 5
    assert facts["training"]["error"] < 0.15 < facts["training"]["largest_class_error"]


def test_model_files_carry_the_encoder(messy):
    model = load_model("churn.opgd")
    assert isinstance(model, Pipeline)
    assert isinstance(model[0], TableEncoder)
    new = pd.read_csv("new_customers.csv").iloc[3:]
    answers = pd.read_csv(io.StringIO(run_ok("predict", "churn.opgd", "new_customers.csv").out))
    assert answers["prediction"].tolist()[3:] == model.predict(new).tolist()
    np.testing.assert_allclose(
        answers["probability"][3:], model.predict_proba(new).max(axis=1), rtol=1e-9
    )


def test_new_rows_with_unknown_categories_and_missing_cells_are_predicted(messy):
    done = run_ok("predict", "churn.opgd", "new_customers.csv", "-o", "p.csv", "--proba")
    assert "'plan': 8.3% of the cells are rare or unknown" in done.err
    assert "'platinum'" in done.err
    assert "'city'" not in done.err  # 'Oslo' is one of the others
    assert "does not use" not in done.err  # dropped columns are no news
    table = pd.read_csv("p.csv")
    assert table["row"].tolist() == list(range(1, 13))
    assert np.all(np.isfinite(table[["probability_no", "probability_yes", "typicality"]]))
    done = run_ok("predict", "churn.opgd", "new_customers.csv", "--scores", "--keep", "customer_id")
    assert {"row", "customer_id", "axis_1"} < set(pd.read_csv(io.StringIO(done.out)).columns)


def test_other_formats_give_the_same_predictions(messy):
    expected = run_ok("predict", "churn.opgd", "new_customers.csv").out
    pl.read_csv("new_customers.csv", try_parse_dates=True).write_parquet("new.parquet")
    assert run_ok("predict", "churn.opgd", "new.parquet").out == expected
    table = pd.read_csv("new_customers.csv", dtype=str)
    table.to_csv("new.tsv", index=False, sep="\t")
    assert run_ok("predict", "churn.opgd", "new.tsv").out == expected


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop(columns="plan"), ["no column 'plan'", "the model needs"]),
        (lambda table: table.assign(age="old"), ["'age'", "none of its cells", "'old'"]),
        (lambda table: table.assign(signup="soon"), ["'signup'", "'soon'", "date"]),
    ],
)
def test_changed_tables_get_one_clear_sentence(change, words, messy):
    change(pd.read_csv("new_customers.csv")).to_csv("changed.csv", index=False)
    done = run("predict", "churn.opgd", "changed.csv")
    assert_refused(done, words)
    assert len(done.err.splitlines()) == 1


def test_kinds_are_corrected_by_options(messy):
    options = ["--as", "tenure_months=category", "--as", "signup=ignore", "--as", "city=ignore"]
    facts = json.loads(run_ok(*FIT, *options, "-o", "as.opgd", "--json").out)
    kinds = {entry["column"]: entry["kind"] for entry in facts["table"]}
    assert kinds["tenure_months"] == "category"
    assert kinds["signup"] == "ignored"
    run_ok("predict", "as.opgd", "new_customers.csv")
    for option, words in (
        ("age=colour", ["--as must be COLUMN=KIND"]),
        ("age", ["--as must be"]),
        ("none=number", ["'none'", "--as"]),
    ):
        assert_refused(run(*FIT, "--as", option, "-o", "x.opgd"), words)
    table = pd.read_csv("customers.csv").rename(columns={"plan": "a=b c"})
    table.to_csv("names.csv", index=False)
    run_ok("fit", "names.csv", "-t", "churn", "--as", "a=b c=ignore", "--dry-run")


def test_kinds_that_no_cell_fulfills_are_refused(messy):
    table = pd.read_csv("customers.csv")
    table.assign(amount=[f"k{i / 8}" for i in range(len(table))]).to_csv("odd.csv", index=False)
    done = run("fit", "odd.csv", "-t", "churn", "--as", "amount=number", "-o", "x.opgd")
    words = ["--as['amount'] is 'number'", "read as a number", "'k0.0'"]
    assert_refused(done, words)


def test_amounts_are_read_with_separators_and_codes(messy):
    table = pd.read_csv("customers.csv")
    words = [f"{60 * i + i / 8:,.2f} EUR".translate({44: " ", 46: ","}) for i in range(len(table))]
    table.assign(amount=words).to_csv("amounts.csv", index=False, sep=";")
    facts = json.loads(run_ok("fit", "amounts.csv", "-t", "churn", "--dry-run", "--json").out)
    entry = next(entry for entry in facts["table"] if entry["column"] == "amount")
    assert entry["encoding"] == "read as numbers in eur with decimal commas"


def test_models_need_a_path_unless_it_is_a_dry_run(messy):
    assert_refused(run("fit", "customers.csv", "-t", "churn"), ["--output"])
    assert_refused(run("cluster", "customers.csv"), ["--output"])


def test_rows_with_missing_cells_can_still_be_dropped(messy):
    call = ["fit", "customers.csv", "-t", "churn", "--axes", 1, "--drop-missing", "-o", "d.opgd"]
    done = run_ok(*call, "--json")
    table = pd.read_csv("customers.csv").dropna(subset="churn").drop(columns="comment")
    complete = int(table.notna().all(axis=1).sum())
    assert json.loads(done.out)["training"]["rows"] == complete
    assert f"Dropped {len(table) - complete} rows with missing cells." in done.err
    new = run_ok("predict", "d.opgd", "new_customers.csv", "--drop-missing", "-o", "p.csv")
    assert "with missing cells" in new.err
    assert 3 not in pd.read_csv("p.csv")["row"].tolist()


def test_clusters_info_and_report(messy):
    run_ok("cluster", "customers.csv", "--ignore", "churn", "-k", 2, *IMPUTE, "-o", "c.opgd",
           "--labels", "labels.csv")  # fmt: skip
    assert len(pd.read_csv("labels.csv")) == 320
    page = run_ok("info", "churn.opgd").out
    assert "11, encoded as 28 features" in page
    assert "left out: 315 different values" in page
    run_ok("report", "churn.opgd", "customers.csv", "-o", "r.html", "--cv", 2)
    text = Path("r.html").read_text("utf-8")
    assert "Columns of the table" in text
    assert "were missing." in text
    run_ok("report", "c.opgd", "customers.csv", "--target", "churn", "-o", "c.html")


def test_comparison_takes_messy_tables(messy):
    call = ["compare", "customers.csv", "-t", "churn", "--methods", "LDA;naive Bayes", "--cv", 2]
    done = run_ok(*call, "--json")
    assert "replaced by medians of the training samples for: naive Bayes" in done.err
    filled = run_ok(*call, "--impute", "median", "--json")
    assert "replaced by medians" not in filled.err
    for text in (done.out, filled.out):
        assert all(row["error"] < 0.2 for row in json.loads(text)["methods"])
