"""Colors and markers of classes, the same in pictures and in reports."""

COLORS = [
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
]  # fmt: skip
"""Petroff's ten, which readers with the common kinds of color blindness can distinguish."""
MARKERS = "osD^vPX*<>p"
"""Markers by their names in matplotlib."""
SYMBOLS = [
    "circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star",
    "triangle-left", "triangle-right", "pentagon",
]  # fmt: skip
"""Names of these markers in plotly, in this order."""
