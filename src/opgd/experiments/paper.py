"""Results reported in the paper, for comparison only."""

VOWEL = {
    "OPGD": (0.4480519, "3 axes"),
    "LDA": (0.491342, "2 axes"),
    "RDA": (0.4718615, "alpha 0.444"),
    "SAVE": (0.5281385, "10 axes"),
    "CPCDA": (0.5649351, "7 axes"),
}
"""Test errors and selected settings on Vowel."""

CLUSTERING = {
    "wine": (94.9, 3.4, 92.8, 4.6),
    "iris": (90.4, 1.8, 90.0, 1.4),
    "vowel": (17.5, 3.1, 38.6, 4.1),
    "satellite": (40.3, 2.6, 53.9, 3.0),
    "image_seg": (43.5, -0.3, 58.0, -0.1),
    "opt_digits": (49.5, 3.1, 65.6, 1.8),
    "pen_digits": (57.2, 3.8, 75.5, 0.5),
    "texture": (88.5, -0.1, 93.5, -0.3),
    "libras": (30.6, 1.0, 59.0, 1.1),
    "forest": (16.8, 4.6, 22.8, 5.1),
    "yeast": (50.4, 0.1, 54.5, -0.0),
    "glass": (10.9, 3.6, 28.1, 2.7),
    "dermatology": (66.5, 1.7, 77.2, 2.6),
    "seeds": (81.2, -17.4, 77.1, -15.2),
    "mf_digits": (59.9, 3.7, 70.2, 3.7),
}
"""Averages of Table 2: initial ARI and its change, initial NMI and its change."""
