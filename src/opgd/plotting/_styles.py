"""Colors of text and lines, and of rows without a label."""

from opgd.inspection.palette import Style, make_class_styles

INK = "#222222"
WITHOUT_LABEL = Style("#000000", ".")

__all__ = ["INK", "WITHOUT_LABEL", "Style", "make_class_styles"]
