"""Experiments: the paper's protocol, results that survive interrupts, and their page."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from opgd import OPGDClassifier
from opgd_paper import classification, page
from opgd_paper.__main__ import EXPERIMENTS, list_keys, main
from opgd_paper.runner import check_settings, read_results, run_cells

pytestmark = pytest.mark.filterwarnings("ignore::opgd.DataWarning")


def test_value_with_fewest_errors_and_then_the_first_is_selected(iris):
    X, y = iris
    fold = np.arange(150) % 3
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    errors = [
        sum(
            np.sum(
                OPGDClassifier(q, init="paper", ridge=0).fit(X[train], y[train]).predict(X[test])
                != y[test]
            )
            for train, test in splits
        )
        for q in range(1, 5)
    ]
    value, model = classification.select("OPGD", X, y, splits)
    assert value == 1 + np.argmin(errors)
    assert model.components_.shape == (value, 4)


def test_values_are_those_of_the_paper():
    assert list(classification.list_values("LDA", 10, 11)) == list(range(1, 11))
    assert list(classification.list_values("OPGD", 10, 11)) == list(range(1, 11))
    np.testing.assert_allclose(classification.list_values("RDA", 10, 11), np.arange(10) / 9)


def test_vowel_has_three_axes_as_in_the_paper(data):
    result = classification.run_vowel("vowel", 0, "OPGD")
    assert result["chosen"] == 3
    assert result["error"] == pytest.approx(0.448, abs=0.06)  # it depends on the optimum
    lda = classification.run_vowel("vowel", 0, "LDA")
    assert (lda["chosen"], round(lda["error"], 4)) == (2, 0.4913)


def test_final_model_of_a_split_starts_from_the_best_components(data, monkeypatch):
    settings = []
    make_model = classification.make_model

    def record(method, value, **more):
        settings.append((value, more))
        return make_model(method, value, **more)

    monkeypatch.setattr(classification, "make_model", record)
    monkeypatch.setattr(classification, "list_values", lambda *_: [1, 2])
    result = classification.run_splits("image_seg", 0, "OPGD")
    assert [more for _, more in settings[:-1]] == [{}, {}]
    value, more = settings[-1]
    assert value == result["chosen"]
    assert more["init"].shape == (value, 18)
    assert 0 < result["error"] < 0.5


def test_cells_are_all_data_sets_methods_and_replications():
    keys = list_keys("clustering", 20, None, None)
    assert len(keys) == len(set(keys)) == 15 * 2 * 20
    assert len(list_keys("vowel", 20, None, None)) == 5
    assert len(list_keys("starts", 3, ["vowel"], None)) == 1 + 1 + 3
    assert list_keys("splits", 2, ["image_seg"], ["LDA"]) == [
        ("splits", "image_seg", k, "LDA") for k in (0, 1)
    ]


def count(data, replication, method):
    return {"value": replication}


def test_a_line_that_was_cut_off_is_computed_again(data, tmp_path):
    keys = [("e", "iris", k, "m") for k in range(3)]
    run_cells(count, keys, tmp_path, 1)
    raw = tmp_path / "raw.jsonl"
    raw.write_bytes(raw.read_bytes()[:-5])
    assert len(read_results(tmp_path)) == 2
    run_cells(count, keys, tmp_path, 1)
    assert [row["value"] for row in read_results(tmp_path)] == [0, 1, 2]
    assert all(json.loads(line) for line in raw.read_text().splitlines())


def test_finished_cells_are_not_computed_again(data, tmp_path, capsys):
    keys = [("e", "iris", 0, "m")]
    run_cells(count, keys, tmp_path, 1)
    run_cells(lambda *_: {"value": "new"}, keys, tmp_path, 1)
    assert [row["value"] for row in read_results(tmp_path)] == [0]
    assert "e: 1 of 1" in capsys.readouterr().err


def test_results_of_other_data_are_not_mixed(data, tmp_path):
    check_settings(tmp_path, "e", ["iris"])
    path = tmp_path / "settings.json"
    path.write_text(path.read_text().replace('"data iris": "', '"data iris": "0'))
    check_settings(tmp_path, "another", ["iris"])
    with pytest.raises(ValueError, match=r"other settings \(data iris\)"):
        check_settings(tmp_path, "e", ["iris"])


def test_a_killed_run_goes_on_to_the_same_table(data, tmp_path):
    some = ["clustering", "--data", "iris", "wine", "--replications", "2", "--jobs", "1"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert main([*some, "--out", str(whole)]) == 0
    command = [sys.executable, "-m", "opgd_paper", *some, "--out", str(killed)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
    )
    raw = killed / "raw.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (raw.exists() and raw.read_text().count("\n") >= 2):
        time.sleep(0.002)
    process.kill()
    process.wait()
    assert 2 <= raw.read_text().count("\n") < 8
    assert main([*some, "--out", str(killed)]) == 0
    assert (whole / "RESULTS.md").read_text() == (killed / "RESULTS.md").read_text()


def test_small_runs_write_a_page_with_tables(data, tmp_path):
    small = ["--methods", "LDA", "SAVE", "--jobs", "1", "--out", str(tmp_path)]
    assert main(["vowel", *small]) == 0
    assert main(["splits", "--data", "image_seg", "--replications", "2", *small]) == 0
    text = (tmp_path / "RESULTS.md").read_text("utf-8")
    assert "| LDA " in text
    assert "0.491" in text  # the paper's figure, and ours
    assert (tmp_path / "splits.png").stat().st_size > 1000
    assert len(pd.read_csv(tmp_path / "splits.csv")) == 4
    (tmp_path / "RESULTS.md").unlink()
    assert main(["tables", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "RESULTS.md").read_text("utf-8") == text


def test_starts_are_compared(data, tmp_path):
    some = ["--data", "vowel", "--methods", "paper", "random", "--replications", "2"]
    assert main(["starts", *some, "--jobs", "1", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "RESULTS.md").read_text("utf-8")
    assert "random (2)" in text
    assert "reaches a higher objective than" in text


def test_figures_are_drawn(data, tmp_path):
    from opgd_paper import figures

    figures.save(figures.draw_clusters("forest"), tmp_path, "forest")
    figures.save(figures.draw_seeds(), tmp_path, "seeds")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["forest.png", "seeds.png"]


def make_clustering(changes):
    """Return results with these changes of the adjusted Rand index by data set."""
    start = {"ari_start": 50.0, "nmi_start": 60.0, "nmi_end": 60.0, "method": "identity"}
    return pd.DataFrame(
        [
            {"data": name, "replication": k, "ari_end": 50.0 + change, **start}
            for name, values in changes.items()
            for k, change in enumerate(values)
        ]
    )


def test_clustering_table_has_average_best_and_worst():
    line = page.tabulate_clustering(make_clustering({"wine": [1.0, 4.0, -2.0]}), "ari").iloc[0]
    assert (line["average"], line["best"], line["worst"]) == ("50.0+1.0", "50.0+4.0", "50.0-2.0")
    assert line["paper's average"] == "94.9+3.4"


def test_page_counts_signs_of_changes():
    text = page.write_clustering(make_clustering({"wine": [2.0], "seeds": [3.0]}))
    assert "same sign on 1 of 2 data sets (not on seeds)" in text


def test_an_unknown_experiment_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["everything"])
    assert "unknown experiment 'everything'" in capsys.readouterr().err
    assert set(EXPERIMENTS) == set(page.SECTIONS)
