"""Model files, new rows for a model, and its answers."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from opgd import load_model
from opgd.cli.model_summary import _format_shares
from opgd.model_file import load_notes, save_model
from tests.cli.helpers import ACCEPTS_NAN, COLUMNS, WINE, assert_refused, fit, run, run_ok, wine


def test_columns_are_found_by_name(files):
    plain = run_ok("predict", "model.opgd", "new.csv")
    table = pd.read_csv("new.csv")[["kind", *COLUMNS[::-1]]].assign(more=1.0)
    table.to_csv("other.csv", index=False)
    other = run_ok("predict", "model.opgd", "other.csv")
    assert other.out == plain.out
    assert "does not use: 'more'" in other.err
    assert plain.err == ""


def test_models_of_arrays_take_columns_in_their_order(files):
    model = load_model("model.opgd")
    rows = pd.read_csv("new.csv")[COLUMNS]
    save_model(model.fit(rows.to_numpy(), WINE.target.iloc[1::2]), "bare.opgd")
    rows.to_csv("rows.csv", index=False)
    done = run_ok("predict", "bare.opgd", "rows.csv")
    assert "in the order of the table" in done.err
    found = pd.read_csv(io.StringIO(done.out))["prediction"]
    assert found.tolist() == model.predict(rows.to_numpy()).tolist()
    assert run("predict", "bare.opgd", "new.csv").code == 2


def test_rows_left_out_keep_the_numbers_of_the_others(files):
    table = pd.read_csv("new.csv")
    table.loc[[0, 3], "hue"] = np.nan
    table.to_csv("holes.csv", index=False)
    if not ACCEPTS_NAN:
        refused = run("predict", "model.opgd", "holes.csv")
        assert refused.code == 2
        for words in ("hue", "2 of 89 rows", "rows 1, 4", "--drop-missing to drop 2 rows"):
            assert words in refused.err
    done = run_ok(
        "predict", "model.opgd", "holes.csv", "--scores", "--drop-missing", "--keep", "kind"
    )
    found = pd.read_csv(io.StringIO(done.out))
    assert found["row"].tolist()[:4] == [2, 3, 5, 6]
    assert found["kind"].tolist() == table["kind"].drop([0, 3]).tolist()
    expected = load_model("model.opgd").transform(table[COLUMNS].drop([0, 3]))
    np.testing.assert_allclose(found[["axis_1", "axis_2"]], expected)


def test_values_for_missing_cells_stay_with_the_model(files):
    table = wine()
    table.loc[[2, 5], "ash"] = np.nan
    table.to_csv("holes.csv", index=False)
    if not ACCEPTS_NAN:
        refused = fit("holes.csv")
        for words in ("ash", "2 of 178 rows", "rows 3, 6", "--drop-missing", "--impute median"):
            assert words in refused.err
    assert run_ok(
        "fit", "holes.csv", "-t", "kind", "--axes", 2, "--impute", "median", "-o", "f.opgd"
    )
    values = load_notes("f.opgd")["preprocessing"]["imputation"]["values"]
    assert values == table[COLUMNS].median().to_dict()
    done = run_ok("predict", "f.opgd", "holes.csv")
    assert "2 missing cells filled with the median" in done.err
    expected = load_model("f.opgd").predict(table[COLUMNS].fillna(values))
    assert pd.read_csv(io.StringIO(done.out))["prediction"].tolist() == expected.tolist()
    left = run_ok("fit", "holes.csv", "-t", "kind", "--axes", 2, "--drop-missing", "-o", "d.opgd")
    assert "Dropped 2 rows with missing cells" in left.err
    assert load_notes("d.opgd")["training"]["rows"] == 176


def test_shares_of_a_gain_are_not_minus_zero():
    shares = _format_shares({"axis_shares": [1.2, -0.001, 0.001, -0.2]})
    assert shares == " (120%, 0%, < 1%, -20% of the likelihood gain)"


def test_notes_of_strangers_are_checked(files):
    model = load_model("model.opgd")
    for values in ({"hue": 1.0}, dict.fromkeys(COLUMNS, "x"), [1.0], None):
        notes = {"preprocessing": {"imputation": {"method": "median", "values": values}}}
        save_model(model, "odd.opgd", notes=notes, overwrite=True)
        assert_refused(run("predict", "odd.opgd", "new.csv"), ["notes", "odd.opgd"])
    save_model(model, "odd.opgd", notes={"training": {"rows": "many"}}, overwrite=True)
    run_ok("info", "odd.opgd")


def test_notes_are_plain_data(files):
    model = load_model("model.opgd")
    for notes in ({"x": {1, 2}}, {1: "x"}, {"x": float("nan")}, ["x"], {"x": (1, 2)}):
        with pytest.raises(TypeError, match="JSON can represent"):
            save_model(model, "odd.opgd", notes=notes)
    assert not Path("odd.opgd").exists()
    save_model(model, "plain.opgd")
    assert load_notes("plain.opgd") == {}
