"""Features with few distinct values, on which clusters must not be built.

A Gaussian can have a density without bound at a value that many samples share. So covariances get a
lower bound from the spacing of the values. Features in which most samples have the same value
(about 80 % or more) are left out.
"""

import re
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from opgd._utils.text import list_names
from opgd.core.coordinates import Frame
from opgd.core.engines import Engine, RowEngine
from opgd.core.types import FloatArray, IntArray

ENCODED = re.compile(r"(.+?)(=.*|:days|:text_\d+|:(hour|weekday|month)_(sin|cos))")
"""Names of features that `TableEncoder` makes from a column of a table."""
MAX_ROWS = 20_000
"""Maximum number of samples whose values are compared."""
REPEATED = 5
"""Average number of samples per distinct value from which values count as repeated."""
FEW_VALUES = 10
"""Maximum number of distinct values that a warning calls few."""
LEAST_WIDTH = 0.5
"""Smallest standard deviation of a cluster in a feature of repeated values, in spacings.

A Gaussian of this width on each of several equally spaced values has a lower likelihood than one
Gaussian on all of them.
"""
RARE_WIDTH = 0.4
"""Standard deviation of a feature with few values, in spacings, below which it is left out.

With two values of probability t and 1 - t, a Gaussian on each has a higher likelihood than one
Gaussian on both if their common standard deviation is below 0.4 spacings (t < 0.2).
"""
SAME_VALUE = 1e-9
"""Difference between values, as a share of their range, that rounding of floats may cause."""


@dataclass(frozen=True)
class Resolution:
    """Numbers of distinct values of the features and differences between neighboring values."""

    n_distinct: IntArray  # (p,)
    typical: FloatArray  # (p,), median difference, 0 where values are hardly ever repeated

    @property
    def few(self) -> IntArray:
        """Return the features with few distinct values, but not constant ones."""
        counts = self.n_distinct
        return np.flatnonzero((self.typical > 0) & (counts > 1) & (counts <= FEW_VALUES))

    def rare(self, frame: Frame) -> IntArray:
        """Return the features with few values, of which nearly all are the same."""
        few = self.few
        return few[frame.scale[few] < RARE_WIDTH * self.typical[few]]

    def floor(self, frame: Frame) -> FloatArray | None:
        """Return a lower bound of covariances of sphered samples, (R, R), if there is one.

        The variance of a feature is at least that of `LEAST_WIDTH` spacings, but no more than its
        variance over all samples, in all directions.
        """
        widths = np.minimum(LEAST_WIDTH * self.typical / frame.scale, 1.0)
        if not np.any(widths):
            return None
        roots = widths[:, None] * frame.basis * frame.spread  # (p, R)
        floor: FloatArray = roots.T @ roots
        return floor / max(1.0, float(linalg.eigvalsh(floor)[-1]))


def measure_resolution(engine: Engine) -> Resolution:
    """Compare the values of each feature, on a sample of the rows if there are many."""
    if not isinstance(engine, RowEngine) or engine.n_samples > MAX_ROWS:
        engine = engine.sample(min(engine.n_samples, MAX_ROWS))
    counts = engine.row_weights * (engine.count / engine.total_weight)
    measured = np.array([_measure_column(values, counts) for values in engine.X.T])
    return Resolution(measured[:, 0].astype(np.intp), measured[:, 1])


def _measure_column(values: FloatArray, counts: FloatArray) -> tuple[int, float]:
    """Return the number of distinct values and their typical spacing.

    `counts` (n,) are the numbers of samples that each value stands for.
    """
    present = ~np.isnan(values)
    values, n_values = values[present], float(counts[present].sum())
    if not len(values):
        return 0, 0.0
    distinct = np.unique(values).astype(np.float64)
    apart = np.diff(distinct) > SAME_VALUE * (distinct[-1] - distinct[0])
    distinct = distinct[np.insert(apart, 0, True)]
    if len(distinct) < 2:
        return len(distinct), 0.0
    repeated = REPEATED * len(distinct) <= n_values
    return len(distinct), float(np.median(np.diff(distinct))) if repeated else 0.0


def describe_resolution(
    resolution: Resolution, frame: Frame, rare: IntArray, names: list[str]
) -> list[str]:
    """Return notes on features that are `rare` or have few values."""
    notes = []
    if len(rare):
        notes.append(
            "Columns in which about 80 % of the samples or more have the same value are not used "
            f"for clustering: {list_names([names[j] for j in rare], n_all=len(names))}"
            f"{_name_sources(_find_sources([names[j] for j in rare]))}"
        )
    used = np.setdiff1d(resolution.few, frame.left_out)
    if len(used):
        few = list_names([names[j] for j in used], n_all=len(names))
        sources = _find_sources([names[j] for j in used])
        notes.append(
            f"Columns with at most {FEW_VALUES} distinct values: {few}. Clusters are at least "
            "half the spacing of the values wide there; drop columns that are categories or "
            f"codes{_name_sources(sources)}"
        )
        if sources:
            notes[-1] += (
                f". To leave one out, pass TableEncoder(kinds={{{sources[0]!r}: 'ignore'}}), or "
                f"--as {sources[0]}=ignore on the command line"
            )
    return notes


def _find_sources(names: list[str]) -> list[str]:
    """Return the columns of a table that were encoded as these features, if any."""
    found = [ENCODED.fullmatch(name.strip("'\"")) for name in names]
    return list(dict.fromkeys(match[1] for match in found if match))


def _name_sources(sources: list[str]) -> str:
    """Return a sentence on the columns of a table."""
    if not sources:
        return ""
    return f". Source columns in the table: {list_names([repr(source) for source in sources])}"


def leave_out_rare_values(frame: Frame, resolution: Resolution) -> Frame:
    """Leave out features in which most samples have the same value, unless all are."""
    rare = resolution.rare(frame)
    used = np.setdiff1d(np.arange(len(frame.scale)), np.union1d(frame.constant, rare))
    if not len(rare) or not len(used):
        return frame
    return frame.restricted(used)
