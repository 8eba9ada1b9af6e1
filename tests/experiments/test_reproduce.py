"""Experiments: raw results survive kills, tables say what the results say."""

import json
import subprocess
import time

import pandas as pd
import pytest
from rich.console import Console

from opgd.experiments import page, paper, tables
from opgd.experiments.reproduce import cells_of, reproduce
from opgd.experiments.runner import Cell, run_cells
from opgd.experiments.store import Key, Store
from tests.cli.helpers import COMMAND, assert_refused, run, run_ok

QUIET = Console(quiet=True)


def test_results_are_read_as_they_were_written(tmp_path):
    store = Store(tmp_path / "new")
    store.add(Key("splits", "wine", 1, "LDA"), {"error": 0.25})
    store.add(Key("splits", "wine", 0, "LDA"), {"error": 0.5})
    assert [row["replication"] for row in store.rows()] == [0, 1]
    assert store.finished() == {Key("splits", "wine", k, "LDA") for k in (0, 1)}


def test_a_line_that_was_cut_off_is_computed_again(tmp_path):
    store = Store(tmp_path)
    cells = [Cell(Key("e", "d", k, "m"), lambda data, k, method: {"value": k}) for k in range(3)]
    run_cells(cells, store, 1, QUIET)
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:-5])
    assert len(store.finished()) == 2
    run_cells(cells, store, 1, QUIET)
    assert [row["value"] for row in store.rows()] == [0, 1, 2]
    assert all(json.loads(line) for line in store.path.read_text().splitlines())


def test_finished_cells_are_not_computed_again(tmp_path):
    store = Store(tmp_path)
    key = Key("e", "d", 0, "m")
    store.add(key, {"value": "old"})
    run_cells([Cell(key, lambda *args: {"value": "new"})], store, 1, QUIET)
    assert [row["value"] for row in store.rows()] == ["old"]


def test_results_of_other_versions_are_not_mixed(tmp_path):
    store = Store(tmp_path)
    store.note_settings({"versions": {"numpy": "1"}})
    store.note_settings({"versions": {"numpy": "1"}, "data wine": "abc"})
    with pytest.raises(ValueError, match=r"different settings \(versions\)"):
        store.note_settings({"versions": {"numpy": "2"}})


def test_the_papers_columns_and_ours_are_different_cells():
    for experiment in ("vowel", "splits", "clustering"):
        theirs = {cell.key for cell in cells_of(experiment, replications=2, own_settings=False)}
        ours = {cell.key for cell in cells_of(experiment, replications=2, own_settings=True)}
        assert theirs
        assert ours
        assert not theirs & ours


def test_every_data_set_of_the_paper_has_its_cells():
    names = {cell.key.data for cell in cells_of("clustering", replications=1, own_settings=False)}
    assert names == set(paper.CLUSTERING)


def clustering_rows(changes):
    return pd.DataFrame(
        [
            {
                "experiment": "clustering",
                "data": name,
                "replication": k,
                "method": "identity",
                "ari_start": 50.0,
                "ari_end": 50.0 + change,
                "nmi_start": 60.0,
                "nmi_end": 60.0,
            }
            for name, own in changes.items()
            for k, change in enumerate(own)
        ]
    )


def test_clustering_table_has_average_best_and_worst():
    results = clustering_rows({"wine": [1.0, 4.0, -2.0]})
    line = tables.clustering_table(results, "identity", "ari").iloc[0]
    assert (line["average"], line["best"], line["worst"]) == ("50.0+1.0", "50.0+4.0", "50.0-2.0")
    assert line["paper's average"] == "94.9+3.4"


def test_page_counts_signs_of_changes():
    text = page.clustering_section(clustering_rows({"wine": [2.0], "seeds": [3.0]}))
    assert "has the same sign on 1 (not on seeds)" in text


def test_markdown_is_a_table():
    lines = tables.markdown(pd.DataFrame({"a": ["1", "22"], "long name": ["x", "y"]})).splitlines()
    assert lines[0] == "| a  | long name |"
    assert {line.count("|") for line in lines} == {3}
    assert len({len(line) for line in lines}) == 1


def test_small_runs_write_a_page_with_tables(tmp_path, load):
    reproduce(["vowel"], tmp_path, methods=["LDA", "SAVE"], n_jobs=1, console=QUIET)
    path = reproduce(
        ["splits"],
        tmp_path,
        data=["image_seg"],
        replications=2,
        methods=["LDA", "OPGD"],
        n_jobs=1,
        console=QUIET,
    )
    text = path.read_text()
    assert "| LDA " in text
    assert "0.491" in text  # the paper's figure, and ours
    assert (tmp_path / "splits.png").stat().st_size > 1000
    assert len(pd.read_csv(tmp_path / "splits.csv")) == 4


def arguments_for(folder):
    some = ["--datasets", "iris,wine", "--replications", "3", "--jobs", "1"]
    return ["reproduce", "clustering", *some, "--out", str(folder)]


def test_a_killed_run_goes_on_to_the_same_table(tmp_path, load):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run_ok(*arguments_for(whole))
    process = subprocess.Popen(
        [*COMMAND, *arguments_for(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    raw = killed / "raw.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (raw.exists() and raw.read_text().count("\n") >= 3):
        time.sleep(0.002)
    process.kill()
    process.wait()
    done = raw.read_text().count("\n")
    assert 3 <= done < 12
    run_ok(*arguments_for(killed))
    kept = ["data", "replication", "method", "ari_start", "ari_end", "nmi_start", "nmi_end"]
    first, second = (pd.read_csv(own / "clustering.csv")[kept] for own in (whole, killed))
    pd.testing.assert_frame_equal(first, second)
    assert (whole / "RESULTS.md").read_text() == (killed / "RESULTS.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["everything"], "Unknown experiment 'everything'"),
        (["vowel", "--datasets", "mnist"], "Unknown data set 'mnist'"),
        (["vowel", "--methods", "SVM"], "Unknown method 'SVM'"),
    ],
)
def test_the_command_refuses_in_one_sentence(arguments, words, tmp_path):
    assert_refused(run("reproduce", *arguments, "--out", tmp_path / "o"), [words])
    assert not (tmp_path / "o").exists()
