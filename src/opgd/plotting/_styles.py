"""Colors, markers and lines that distinguish classes."""

from dataclasses import dataclass
from itertools import cycle, islice

from opgd.inspection.palette import COLORS, MARKERS

LINES = ["-", "--", ":", "-."]
INK = "#222222"


@dataclass(frozen=True)
class Style:
    """Color, marker and line of a class."""

    color: str
    marker: str
    filled: bool
    line: str

    @property
    def size(self) -> float:
        """Factor of the marker area that gives it the apparent size of a circle."""
        return {"*": 1.9, "P": 1.3, "X": 1.3, "D": 0.8, "s": 0.9}.get(self.marker, 1.0)


WITHOUT_LABEL = Style("#000000", ".", True, "-")


def make_class_styles(n_classes: int) -> list[Style]:
    """Return a style for each class.

    Colors repeat after 10 classes and markers after 11, so pairs repeat after 110; further
    classes have hollow markers. The line style changes every 10 classes.
    """
    pairs = islice(zip(cycle(COLORS), cycle(MARKERS), strict=False), n_classes)
    return [
        Style(color, marker, (k // 110) % 2 == 0, LINES[(k // 10) % len(LINES)])
        for k, (color, marker) in enumerate(pairs)
    ]
