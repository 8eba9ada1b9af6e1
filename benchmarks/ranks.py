"""Mean ranks of methods over data sets, with Friedman's test and Nemenyi's critical difference.

Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7, 2006.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range

LEVEL = 0.05
LABEL_STEP, BAR_STEP = 0.28, 0.16
"""Distances of lines of text and of bars in the diagram, in inches."""


def compute_critical_difference(n_methods: int, n_tables: int) -> float:
    """Return Nemenyi's critical difference of mean ranks, at the level .05."""
    quantile = studentized_range.ppf(1 - LEVEL, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_tables)))


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of methods over data sets: 1 is the lowest value, and ties share their ranks."""

    ranks: pd.Series
    """Mean rank by method, in increasing order."""
    n_tables: int
    p_value: float
    """Of Friedman's test that all methods have the same expected rank."""
    critical_difference: float

    @classmethod
    def from_values(cls, values: pd.DataFrame) -> "Ranking":
        """Rank values with a row for each data set and a column for each method."""
        n_tables, n_methods = values.shape
        return cls(
            values.rank(axis=1).mean().sort_values(kind="stable"),
            n_tables,
            float(friedmanchisquare(*values.to_numpy().T).pvalue),
            compute_critical_difference(n_methods, n_tables),
        )

    def find_groups(self) -> list[tuple[int, int]]:
        """Return first and last positions of methods that are not separated, longest runs only."""
        ranks = self.ranks.to_numpy()
        groups: list[tuple[int, int]] = []
        for first in range(len(ranks)):
            last = int(np.flatnonzero(ranks - ranks[first] <= self.critical_difference)[-1])
            if last > first and (not groups or last > groups[-1][1]):
                groups.append((first, last))
        return groups


def draw_ranking(ranking: Ranking, labels: Mapping[str, str], description: str, path: Path) -> None:
    """Draw a critical-difference diagram as SVG, with its description in the file.

    Parameters
    ----------
    ranking : Ranking
    labels : mapping from methods to str
        Names in the diagram.
    description : str
        What the diagram shows, in words, for the metadata of the file.
    path : Path
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    n_methods, groups = len(ranking.ranks), ranking.find_groups()
    n_left = (n_methods + 1) // 2
    bars = BAR_STEP * (len(groups) + 1)
    below, above = bars + LABEL_STEP * n_left, 0.75
    # ids from a fixed salt and text as text keep the file the same when it is drawn again
    with plt.rc_context({"svg.hashsalt": "opgd", "svg.fonttype": "none", "font.size": 9}):
        figure = plt.figure(figsize=(6.6, below + above))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-1.9, n_methods + 2.9), ylim=(-below, above))
        axes.axis("off")
        _draw_scale(axes, n_methods, ranking.critical_difference)
        for place, (method, rank) in enumerate(ranking.ranks.items()):
            on_left = place < n_left
            line = place if on_left else n_methods - 1 - place
            y, edge = -bars - LABEL_STEP * (line + 0.4), 0.7 if on_left else n_methods + 0.3
            axes.plot([rank, rank, edge], [0, y, y], color="0.35", linewidth=0.8)
            # the label is aligned to the end of its line, outside of the scale
            axes.text(
                edge - 0.1 if on_left else edge + 0.1,
                y,
                f"{labels[str(method)]}  {rank:.2f}",
                ha="right" if on_left else "left",
                va="center",
                fontweight="bold" if method == "opgd" else "normal",
            )
        for number, (first, last) in enumerate(groups):
            ends = ranking.ranks.iloc[[first, last]] + [-0.06, 0.06]
            y = -BAR_STEP * (number + 1)
            axes.plot(ends, [y, y], color="C0", linewidth=3, solid_capstyle="butt")
        figure.savefig(path, metadata={"Date": None, "Description": description})
        plt.close(figure)


def _draw_scale(axes: Any, n_methods: int, critical_difference: float) -> None:
    """Draw the axis of ranks, and above it the length of the critical difference."""
    axes.plot([1, n_methods], [0, 0], color="black", linewidth=1)
    for rank in range(1, n_methods + 1):
        axes.plot([rank, rank], [0, 0.07], color="black", linewidth=1)
        axes.text(rank, 0.12, str(rank), ha="center", va="bottom")
    axes.plot([1, 1 + critical_difference], [0.45, 0.45], color="C0", linewidth=2)
    axes.text(
        1 + critical_difference / 2,
        0.5,
        f"critical difference {critical_difference:.2f}",
        ha="center",
        va="bottom",
    )
