"""Labels of text and of typed columns."""

import io

import numpy as np
import pandas as pd
import pytest

from opgd import load_model
from tests.cli.helpers import WINE, fit, pl, run_ok, wine


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["1", "2", "10"], int),
        (["-1", "0", "1"], int),
        (["001", "002", "010"], str),
        (["1.0", "2.0", "3.0"], str),
        (["None", "True", "rosé"], str),
        (["+", "-", "="], str),
    ],
)
def test_labels_of_text_come_back_as_they_were(labels, kind, files):
    table = wine(kind=np.array(labels)[WINE.target])
    table.to_csv("own.csv", index=False)
    assert fit("own.csv").code == 0
    assert all(type(label) is kind for label in load_model("own.opgd").classes_.tolist())
    done = run_ok("predict", "own.opgd", "own.csv", "--raw")
    found = pd.read_csv(io.StringIO(done.out), dtype=str, keep_default_na=False)["prediction"]
    assert set(found) == set(labels)
    assert (found == table["kind"]).mean() > 0.9
    run_ok("report", "own.opgd", "own.csv", "-o", "own.html", "--cv", 0)


@pytest.mark.parametrize("labels", [[1, 2, 3], [1.0, 2.0, 3.0], [True, False, False]])
def test_labels_of_parquet_keep_their_type(labels, files):
    table = pl.DataFrame(wine().to_dict("list"))
    table = table.with_columns(pl.Series("kind", np.array(labels)[WINE.target]))
    table.write_parquet("own.parquet")
    assert fit("own.parquet").code == 0
    assert load_model("own.opgd").classes_.dtype == np.array(labels).dtype
    run_ok("predict", "own.opgd", "own.parquet", "-o", "own-out.parquet")
    assert pl.read_parquet("own-out.parquet")["prediction"].dtype == table["kind"].dtype
    run_ok("report", "own.opgd", "own.parquet", "-o", "own.html", "--cv", 0)
    wine(kind=[labels[i] for i in WINE.target]).to_csv("text.csv", index=False)
    run_ok("report", "own.opgd", "text.csv", "-o", "text.html", "--cv", 0)


def test_decimal_commas_of_weights_are_those_of_features(files):
    table = wine(w=np.where(WINE.target == 0, 0.5, 1.234)).rename(columns={"alcohol": "self"})
    table.to_csv("points.csv", index=False)
    table.to_csv("commas.csv", index=False, sep=";", decimal=",")
    for name in ("points", "commas"):
        done = fit(f"{name}.csv", "--weights", "w", "--axes", 1, "-o", f"{name}.opgd")
        assert done.code == 0, done.err
    first, second = (load_model(f"{name}.opgd") for name in ("points", "commas"))
    np.testing.assert_array_equal(first.means_, second.means_)
    np.testing.assert_array_equal(first.priors_, second.priors_)


@pytest.mark.parametrize(
    ("trained", "written"),
    [
        ([1, 2, 3], ["1.0", "2.0", "3.0"]),
        ([1.0, 2.0, 3.0], ["1", "2", "3"]),
        ([True, False, False], ["TRUE", "false", "False"]),
    ],
)
def test_labels_may_be_written_in_another_way(trained, written, files):
    table = wine().iloc[:, :4]
    labels, words = np.array(trained)[WINE.target], np.array(written)[WINE.target]
    table.assign(kind=labels).to_parquet("typed.parquet", index=False)
    table.assign(kind=words).to_csv("words.csv", index=False)
    assert fit("typed.parquet", "--axes", 1).code == 0
    first = run_ok("predict", "own.opgd", "typed.parquet", "-o", "1.csv")
    second = run_ok("predict", "own.opgd", "words.csv", "-o", "2.csv")
    assert "error 0." in first.out
    assert first.out.replace("1.csv", "2.csv") == second.out
