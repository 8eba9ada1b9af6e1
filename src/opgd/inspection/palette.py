"""Colors, markers and lines of classes, shared by plots and reports."""

from dataclasses import dataclass

N_STYLES = 40
"""Number of different styles; further classes repeat them."""

_COLORS = [
    "#3f90da", "#f09b00", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#08584d",
    "#953e5d", "#464a75", "#da58ad", "#6c442f", "#a2abf9",
    "#545dfc", "#d2a1cc", "#77bf9d", "#5c8b78", "#507436",
]  # fmt: skip
"""Colors of Petroff (2021), without his light ones, and eleven that were selected to differ from
these and from one another also with color vision deficiencies, and from white and black."""
_ON_DARK = {
    "#bd1f01": "#db1d17", "#832db6": "#8e51a8", "#08584d": "#f6ee4a",
    "#953e5d": "#43fee5", "#464a75": "#a7daf6", "#6c442f": "#f5d5b2",
}  # fmt: skip
"""Replacements of dark colors on dark pages, selected by the same rule."""
_MARKERS = "osD^vPX*<>^o>P*<DvXs^o*sD<v>PXs<*oXPvD>^"
"""Markers of the styles; styles with the same marker have very different colors."""
_SYMBOLS = {
    "o": "circle", "s": "square", "D": "diamond", "^": "triangle-up", "v": "triangle-down",
    "P": "cross", "X": "x", "*": "star", "<": "triangle-left", ">": "triangle-right",
}  # fmt: skip
"""Names of the markers in reports, as in `report/templates/draw.js`."""
_LINES = ["-", "--", ":", "-."]
_SIZES = {"*": 1.9, "P": 1.3, "X": 1.3, "D": 0.8, "s": 0.9}


@dataclass(frozen=True)
class Style:
    """Color, marker and line of a class."""

    color: str
    marker: str  # of matplotlib
    filled: bool = True
    line: str = "-"  # of matplotlib

    @property
    def dark_color(self) -> str:
        """Color on a dark page."""
        return _ON_DARK.get(self.color, self.color)

    @property
    def size(self) -> float:
        """Factor of the marker area that gives it the apparent size of a circle."""
        return _SIZES.get(self.marker, 1.0)

    @property
    def symbol(self) -> str:
        """Name of the marker in reports."""
        return _SYMBOLS[self.marker] + ("" if self.filled else "-open")


def make_class_styles(n_classes: int) -> list[Style]:
    """Return a style for each class; styles repeat after 40 classes.

    Of the first 26 styles, two differ in color by at least 8 (CIEDE2000), also with protanopia,
    deuteranopia or tritanopia, or have different markers. There are 20 colors; styles after the
    twentieth have hollow markers. The line changes every ten classes.
    """
    return [STYLES[k % N_STYLES] for k in range(n_classes)]


STYLES = [
    Style(_COLORS[k % 20], _MARKERS[k], filled=k < 20, line=_LINES[k // 10])
    for k in range(N_STYLES)
]
COLORS = [style.color for style in STYLES]
"""Color of each style."""
MARKERS = [style.marker for style in STYLES]
"""Marker of each style in matplotlib."""
