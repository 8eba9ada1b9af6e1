"""Styles of classes."""

from opgd.inspection.palette import COLORS
from opgd.plotting._styles import make_class_styles


def test_styles_repeat_no_pair_of_color_and_marker():
    styles = make_class_styles(200)
    assert len(set(styles)) == 200
    assert [style.color for style in styles[:10]] == COLORS
    assert len({style.marker for style in styles[:10]}) == 10
