"""Names as they are shown."""

from opgd.inspection.text import shorten


def test_long_names_lose_their_middle():
    assert shorten("abc", 5) == "abc"
    assert shorten("abcdefgh", 5) == "ab…gh"
    assert len(shorten("x" * 99)) == 28
