"""Names as they are shown."""

from opgd.inspection.text import format_percentage, shorten


def test_long_names_lose_their_middle():
    assert shorten("abc", 5) == "abc"
    assert shorten("abcdefgh", 5) == "ab…gh"
    assert len(shorten("x" * 99)) == 28


def test_percentages_of_nearly_all_and_nearly_nothing_are_not_rounded_away():
    shares = [0, 0.004, 0.5, 0.994, 0.9961, 0.99999, 1]
    expected = ["0%", "< 1%", "50%", "99%", "99.6%", "> 99.9%", "100%"]
    assert [format_percentage(share) for share in shares] == expected
