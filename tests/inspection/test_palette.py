"""Styles of classes can be distinguished, also with color vision deficiencies."""

import numpy as np
import pytest

from opgd.inspection.palette import COLORS, N_STYLES, STYLES, make_class_styles
from tests.inspection.color_vision import VISIONS, ciede2000, compute_differences, contrast

DARK_COLORS = [style.dark_color for style in STYLES]


def test_color_differences_are_those_published_by_sharma_wu_and_dalal():
    pairs = np.array(
        [
            [[50, 2.6772, -79.7751], [50, 0, -82.7485]],
            [[50, 2.5, 0], [50, 0, -2.5]],
            [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387]],
            [[22.7233, 20.0904, -46.6940], [23.0331, 14.9730, -42.5619]],
        ]
    )
    expected = [2.0425, 4.3065, 1.2644, 2.0373]
    np.testing.assert_allclose(ciede2000(pairs[:, 0], pairs[:, 1]), expected, atol=1e-4)


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("colors", [COLORS, DARK_COLORS], ids=["light", "dark"])
def test_all_pairs_of_styles_differ_in_color_or_marker(vision, colors):
    differences = compute_differences(colors, vision)
    np.fill_diagonal(differences, np.inf)
    assert differences[:20, :20].min() > (15 if vision == "normal" else 8)
    markers = np.array([style.marker for style in STYLES])
    same = markers[:, None] == markers
    assert differences[same].min() > 14  # pairs with the same marker differ in color
    assert np.all(markers[:20] != markers[20:])  # pairs with the same color differ in marker


@pytest.mark.parametrize("background", ["#ffffff", "#121212", "#000000"])
def test_colors_hold_on_light_and_dark_backgrounds(background):
    assert min(contrast(color, background) for color in COLORS) > 2


def test_dark_colors_are_lighter_on_dark_backgrounds():
    assert min(contrast(color, "#181e26") for color in DARK_COLORS) > 3


def test_styles_repeat_after_forty_classes():
    styles = make_class_styles(100)
    assert len({(style.color, style.marker) for style in styles}) == N_STYLES
    assert styles[40:80] == styles[:40]
    assert len({style.symbol for style in STYLES}) == 20  # ten shapes, filled and hollow
