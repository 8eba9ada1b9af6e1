"""The commands together: help and version."""

import pytest

from tests.cli.helpers import assert_call_refused, join_words, run_ok


def test_help_and_version():
    assert run_ok("--version").out.startswith("opgd ")
    for command in ("fit", "predict", "cluster", "report", "compare", "info"):
        assert "Usage: opgd " + command in run_ok(command, "--help").out
    assert "completion" in run_ok("--help").out


BAD_CALLS = [
    (["nothing"], ["nothing"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=join_words)
def test_bad_calls_are_refused_in_words(arguments, words, bad_files):
    assert_call_refused(arguments, words, bad_files)
