"""opgd demo."""

import sys

import pytest

from tests.cli.helpers import assert_call_refused, join_words, run


def test_a_demonstration_asks_for_its_packages_before_it_writes(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = run("demo", "wine", "--out", tmp_path / "d")
    assert done.code != 0
    assert "opgd[report]" in done.err
    assert not (tmp_path / "d").exists()


BAD_CALLS = [
    (["demo", "cats"], ["'cats'", "digits, wine"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=join_words)
def test_bad_calls_are_refused_in_words(arguments, words, bad_files):
    assert_call_refused(arguments, words, bad_files)
