"""opgd compare."""

import pytest

from tests.cli.helpers import assert_call_refused, join_words, run


@pytest.mark.usefixtures("files")
def test_methods_to_compare_are_told_apart_by_semicolons():
    refused = run("compare", "train.csv", "-t", "cultivar", "--methods", "LDA,RDA")
    assert refused.code == 2
    assert "Unknown method 'LDA,RDA'" in refused.err
    assert "semicolons" in refused.err


BAD_CALLS = [
    (["compare", "train.csv", "-t", "kind", "--methods", "SVM"], ["SVM", "LDA"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=join_words)
def test_bad_calls_are_refused_in_words(arguments, words, bad_files):
    assert_call_refused(arguments, words, bad_files)
