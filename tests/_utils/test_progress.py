"""Progress of a selection: a bar in terminals, plain lines in logs."""

from types import SimpleNamespace

import pytest
from sklearn.datasets import load_iris

from opgd import OPGDClassifierCV
from opgd._utils import progress
from opgd._utils.progress import Progress


def test_a_log_has_plain_lines_with_the_time_remaining(capsys, monkeypatch):
    seconds = iter([0.0, 0.0, 10.0, 20.0, 40.0])
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr(progress, "time", clock)
    with Progress("Working") as bar:
        for fraction in (0.25, 0.5, 1.0):
            bar.update(fraction, lambda: "error 0.050")
    assert capsys.readouterr().err.splitlines() == [
        "Working: 25%, error 0.050, about 30 s left",
        "Working: 50%, error 0.050, about 20 s left",
        "Working: 100%, error 0.050",
    ]


def test_a_terminal_shows_a_bar_and_clears_it(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    model = OPGDClassifierCV((1, 2), shrinkage=0, ridge=0, n_subclasses=1, cv=2, verbose=1)
    model.fit(*load_iris(return_X_y=True))
    assert "Selecting a model" in capsys.readouterr().err
    model.set_params(verbose=0).fit(*load_iris(return_X_y=True))
    assert capsys.readouterr().err == ""


def test_short_work_leaves_no_line_in_a_log_and_needs_no_rich(capsys, monkeypatch):
    monkeypatch.setitem(progress.sys.modules, "rich.console", None)
    with Progress("Working") as bar:
        bar.update(0.5)
    assert capsys.readouterr().err == ""
