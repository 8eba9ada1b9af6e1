"""Every step of the experiments, on the smallest data: what they store, say and draw."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from opgd.experiments import figures, page, tables
from opgd.experiments.classification import estimator
from opgd.experiments.clustering import rows_for
from opgd.experiments.reproduce import reproduce
from opgd.experiments.store import Key, Store

pytest.importorskip("typer")

from tests.cli.helpers import run_ok

QUIET = Console(quiet=True)


def small(steps, folder, **more):
    settings = {"replications": 1, "n_jobs": 1, "console": QUIET} | more
    return reproduce(steps, folder, **settings).read_text("utf-8")


def test_clustering_by_the_papers_settings_and_ours(tmp_path, load):
    for own in (False, True):
        text = small(["clustering"], tmp_path, data=["iris"], own_settings=own)
    results = pd.read_csv(tmp_path / "clustering.csv")
    methods = ["identity", "identity, 99.9 % PCs", "covariance", "covariance, auto"]
    assert sorted(results["method"]) == sorted(methods)
    assert results["ari_end"].between(0, 100).all()
    for method in methods:
        assert f"### {method}: " in text
    assert rows_for("iris", "identity, 99.9 % PCs")[0].shape[1] <= 4


def test_starts_are_compared(tmp_path, load):
    chosen = {"data": ["vowel"], "methods": ["auto", "random"]}
    text = small(["starts"], tmp_path, replications=2, **chosen)
    assert "random (2)" in text
    assert "reaches a higher objective than" in text
    assert small(["starts"], tmp_path, own_settings=True, **chosen) == text  # no such cells


def test_the_commands_steps_read_what_is_there(tmp_path, load):
    some = ["--datasets", "iris", "--methods", "identity", "--replications", 1, "--jobs", 1]
    done = run_ok("reproduce", "clustering", *some, "--out", tmp_path)
    assert f"see {tmp_path / 'RESULTS.md'}" in done.out.replace("\n", "")
    before = (tmp_path / "RESULTS.md").read_text("utf-8")
    run_ok("reproduce", "tables", "--out", tmp_path)
    assert (tmp_path / "RESULTS.md").read_text("utf-8") == before


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")  # the failure that the paper shows
def test_figures_are_drawn_and_closed(tmp_path, load):
    before = plt.get_fignums()
    figure = figures.draw_clusters("forest")
    assert [ax.get_title() for ax in figure.axes[:2]] == [
        "forest: PCA, initial mixture",
        "forest: OPGD, final solution",
    ]
    figures.save(figure, tmp_path, "forest")
    figures.save(figures.draw_seeds(), tmp_path, "seeds")
    names = sorted(own.name for own in tmp_path.iterdir())
    assert names == ["forest.png", "forest.svg", "seeds.png", "seeds.svg"]
    assert plt.get_fignums() == before


def test_a_picture_that_cannot_be_drawn_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "own.png").write_bytes(b"old")
    figure = plt.figure()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        figures.save(figure, tmp_path, "own")
    plt.close(figure)
    assert (tmp_path / "own.png").read_bytes() == b"old"
    assert [own.name for own in tmp_path.iterdir()] == ["own.png"]


@pytest.mark.parametrize(
    "write",
    [
        lambda folder: Store(folder).note_settings({"a": 1}),
        lambda folder: tables.write_csv(pd.DataFrame({"a": [1]}), folder / "own.csv"),
        lambda folder: page.write_page([], folder),
    ],
    ids=["settings", "table", "page"],
)
def test_a_full_disk_leaves_nothing_behind(write, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write(tmp_path)
    assert not list(tmp_path.iterdir())


def test_rivals_of_opgd_are_named():
    errors = {"OPGD": [0.2, 0.3], "RDA": [0.1, 0.3]}
    results = pd.DataFrame(
        [
            {"data": "wine", "replication": k, "method": method, "error": own[k]}
            for method, own in errors.items()
            for k in (0, 1)
        ]
    )
    text = page._rivals(results, ["RDA", "LDA"])
    assert "On wine, RDA has a median of 0.20000 against OPGD's 0.25000" in text
    assert "the lower error on 0 of 2 splits" in text


def splits_of(errors):
    """Two splits for every data set and method."""
    return [
        {"experiment": "splits", "data": name, "replication": k, "method": method}
        | {"error": error, "log_loss": error}
        for (name, method), error in errors.items()
        for k in (0, 1)
    ]


@pytest.mark.parametrize("methods", [["LDA"], ["OPGD"], ["OPGD, subclasses"]], ids=str)
def test_results_without_opgd_or_others_are_not_compared(methods, tmp_path):
    rows = splits_of({("wine", method): 0.1 for method in methods})
    text = page.write_page(rows, tmp_path).read_text("utf-8")
    assert f"| {methods[0]} " in text
    assert "lowest median" not in text
    figures.save(figures.draw_boxplots(pd.DataFrame(rows)), tmp_path, "splits")


def test_data_sets_without_opgd_are_not_counted():
    errors = {("wine", "OPGD"): 0.1, ("wine", "LDA"): 0.2, ("iris", "LDA"): 0.1}
    text = page.splits_section(pd.DataFrame(splits_of(errors)))
    assert "on 1 of 1 data sets" in text


def test_choices_are_told_in_words():
    chosen = {"n_components": 3, "n_subclasses": 2, "shrinkage": 0.25, "ridge": 0, "init": "lda"}
    assert tables._chosen(chosen) == "3 axes, 2 subclasses, shrinkage 0.25"
    assert tables._chosen({"alpha": 1, "n_subclasses": 1}) == "alpha 1"
    assert tables._chosen({"max_iter": 0, "covariance_type": "diag"}) == "LDA"
    assert tables._chosen({"max_iter": 0, "covariance_type": "full"}) == "RDA"
    assert estimator("OPGD, subclasses", 4, 3).n_subclasses == (1, 2, 4)


def test_numbers_of_numpy_are_kept_as_plain_ones(tmp_path):
    store = Store(tmp_path)
    values = {"a": np.float64(0.5), "b": np.arange(2), "c": np.bool_(True)}
    store.add(Key("e", "d", 0, "m"), values)
    row = json.loads(store.path.read_text())
    assert (row["a"], row["b"], row["c"]) == (0.5, [0, 1], True)
    with pytest.raises(TypeError, match="cannot be stored"):
        store.add(Key("e", "d", 1, "m"), {"a": object()})
