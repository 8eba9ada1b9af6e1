"""Progress: where it is shown, what it says, and that logs have no control codes."""

import io
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_iris

from opgd import OPGDClassifierCV
from opgd._utils import progress
from opgd._utils.progress import Progress, describe_state, format_seconds


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """A clock that tests move."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


def run(stream, fractions=(0.25, 0.5, 1.0), step=10.0):
    clock = Clock()
    with Progress("Working", stream=stream, clock=clock) as bar:
        for fraction in fractions:
            clock.seconds += step
            bar.update(fraction, lambda: "error 0.050")
    return stream.getvalue()


def test_log_has_plain_lines_with_the_time_remaining():
    lines = run(io.StringIO()).splitlines()
    assert lines[0] == "Working: 25%, error 0.050, about 30 s left"
    assert lines[1] == "Working: 50%, error 0.050, about 20 s left"
    assert len(lines) == 3


def test_short_work_leaves_no_line_in_a_log():
    assert run(io.StringIO(), step=1.0) == ""


@pytest.mark.parametrize("has_rich", [True, False])
def test_terminal_shows_one_line_and_clears_it(has_rich, monkeypatch):
    if not has_rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    text = run(Terminal())
    assert "error 0.050" in text
    assert "\n\n" not in text
    if not has_rich:
        assert text.endswith("\r")
        assert text.count("\n") == 0


def test_fraction_never_decreases():
    bar = Progress("Working", enabled=False)
    for fraction in (0.5, 0.2, 2.0):
        bar.update(fraction)
    assert bar.fraction == 1.0


def test_description_is_computed_only_if_it_is_shown():
    clock = Clock()

    def fail():
        raise AssertionError

    with Progress("Working", stream=io.StringIO(), clock=clock) as bar:
        bar.update(0.5, fail)
    with Progress("Working", enabled=False) as bar:
        bar.update(0.5, fail)


def test_notebook_replaces_one_display(monkeypatch):
    shown = []
    handle = SimpleNamespace(update=lambda page: shown.append(page))
    display = SimpleNamespace(display=lambda *_, **__: handle, HTML=lambda html: html)
    shell = type("ZMQInteractiveShell", (), {})()
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    run(io.StringIO())
    assert "Working: 50%, error 0.050" in shown[2]
    assert "<progress" in shown[2]
    assert shown[-1] == "<span></span>"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (185, "3:05 min"), (3723, "1:02:03 h")]
)
def test_durations_are_readable(seconds, text):
    assert format_seconds(seconds) == text


def test_time_remaining_is_not_guessed_from_nothing():
    assert describe_state(0.0, "", 5.0) == "0%"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_selection_reports_growing_fractions_up_to_the_end(n_jobs, monkeypatch):
    fractions = []
    monkeypatch.setattr(progress.Progress, "update", lambda _, f, __: fractions.append(f))
    with parallel_config("threading"):  # processes take longer to start than the fits
        OPGDClassifierCV(cv=3, n_jobs=n_jobs).fit(*load_iris(return_X_y=True))
    assert fractions[-1] == pytest.approx(1.0)
    assert all(a <= b + 1e-9 for a, b in pairwise(fractions))
    assert len(fractions) > 20


def test_fractions_grow_where_features_are_removed(monkeypatch, rng):
    fractions = []
    monkeypatch.setattr(progress.Progress, "update", lambda _, f, __: fractions.append(f))
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 40))
    X[:, :3] += 1.5 * y[:, None]
    model = OPGDClassifierCV(n_subclasses=1, cv=3).fit(X, y)
    assert not model.support_.all()
    assert fractions[-1] == pytest.approx(1.0)
    assert all(a <= b + 1e-9 for a, b in pairwise(fractions))


def test_verbose_selection_writes_progress_to_standard_error(capsys, monkeypatch):
    monkeypatch.setattr(progress.LogDisplay, "least_seconds", 0.0)
    OPGDClassifierCV(cv=3, n_subclasses=1, verbose=1).fit(*load_iris(return_X_y=True))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Selecting a model: 100%, error 0.0" in captured.err
    assert "\r" not in captured.err
    assert "\x1b" not in captured.err
