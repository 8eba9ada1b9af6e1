"""opgd transform."""

import pytest

from tests.cli.helpers import assert_call_refused, join_words

BAD_CALLS = [
    (["transform", "rda.opgd", "new.csv"], ["no axes"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=join_words)
def test_bad_calls_are_refused_in_words(arguments, words, bad_files):
    assert_call_refused(arguments, words, bad_files)
