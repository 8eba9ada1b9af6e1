"""Colors and markers of classes, shared by plots and reports."""

COLORS = [
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
]  # fmt: skip
"""The ten colors of Petroff (2021), distinguishable with common color vision deficiencies."""
MARKERS = "osD^vPX*<>p"
"""Marker names in matplotlib."""
SYMBOLS = [
    "circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star",
    "triangle-left", "triangle-right", "pentagon",
]  # fmt: skip
"""Names of the same markers in plotly."""
