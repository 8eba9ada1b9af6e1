"""Examples that need the paper's data sets or methods run."""

import runpy
import sys

import matplotlib.pyplot as plt
import pytest
from conftest import ROOT

EXAMPLES = [
    path
    for path in sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
    if "opgd_paper" in path.read_text("utf-8")
]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_of_the_gallery_runs(path, data):
    runpy.run_path(str(path), run_name="__main__")
    assert plt.get_fignums()
    plt.close("all")


def test_example_counts_decreases_and_draws_them(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["alternating", "--out", str(tmp_path), "--axes", "2"])
    path = ROOT / "paper" / "examples" / "alternating.py"
    runpy.run_path(str(path), run_name="__main__")
    _, alternating, opgd, _ = capsys.readouterr().out.splitlines()
    assert int(alternating.split()[3]) > 30
    assert int(opgd.split()[3]) == 0
    assert (tmp_path / "alternating.png").stat().st_size > 10_000
