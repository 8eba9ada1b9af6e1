"""opgd cluster."""

import pytest

from tests.cli.helpers import assert_call_refused, join_words

BAD_CALLS = [
    (["cluster", "train.csv", "-k", "3"], ["--output"]),
    (["cluster", "train.csv", "--ignore", "kind", "-k", "many", "-o", "x"], ["-k", "'many'"]),
    (["cluster", "train.csv", "--ignore", "kind", "-k", "500", "-o", "x"], ["-k", "89 rows"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=join_words)
def test_bad_calls_are_refused_in_words(arguments, words, bad_files):
    assert_call_refused(arguments, words, bad_files)
