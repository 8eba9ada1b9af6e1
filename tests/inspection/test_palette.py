"""Colors and markers."""

from opgd.inspection.palette import COLORS, MARKERS, SYMBOLS


def test_markers_have_a_name_in_plotly_and_go_round_with_colors_late():
    assert len(MARKERS) == len(SYMBOLS) == len(set(SYMBOLS))
    assert len(COLORS) == len(set(COLORS)) == len(MARKERS) - 1  # a pair repeats after their product
