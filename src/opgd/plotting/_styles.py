"""Colors of text and lines on light and dark backgrounds."""

from dataclasses import dataclass
from typing import Any

from opgd.inspection.palette import Style, make_class_styles


@dataclass(frozen=True)
class Theme:
    """Colors that depend on the background."""

    paper: str  # background
    ink: str  # text, rings and rows without a label
    line: str  # boundaries and reference lines
    grid: str

    @property
    def unlabeled(self) -> Style:
        """Style of rows without a label."""
        return Style(self.ink, ".")


def get_theme(ax: Any) -> Theme:
    """Return the colors for the background of axes, or of their figure if it is transparent."""
    from matplotlib.colors import to_hex, to_rgba

    background = to_rgba(ax.get_facecolor())
    if background[3] < 0.5:
        background = to_rgba(ax.figure.get_facecolor())
    if background[3] < 0.5:
        background = (1.0, 1.0, 1.0, 1.0)
    red, green, blue = background[:3]
    if 0.3 * red + 0.59 * green + 0.11 * blue < 0.5:
        return Theme(to_hex(background), "#e8e8e8", "#9a9a9a", "#3a3a3a")
    return Theme(to_hex(background), "#222222", "#777777", "#e0e0e0")


def mix(color: str, paper: str, share: float) -> tuple[float, float, float]:
    """Return a mixture of two colors with a share of the first, as RGB."""
    from matplotlib.colors import to_rgb

    red, green, blue = (
        share * one + (1 - share) * other
        for one, other in zip(to_rgb(color), to_rgb(paper), strict=True)
    )
    return red, green, blue


__all__ = ["Style", "Theme", "get_theme", "make_class_styles", "mix"]
