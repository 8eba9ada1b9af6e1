"""Means of columns and axes by group, and standard deviations within groups."""

from dataclasses import dataclass

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray

MIN_SHARE_DEVIATION = 0.1
"""A share of 0 or 1 in a group has no deviation, and would be infinitely different from others."""


@dataclass(frozen=True)
class GroupMeans:
    """Means of quantities by group; the difference of two groups is that of their means."""

    names: list[str]
    means: FloatArray  # (K, p), nan where a group has no values
    deviations: FloatArray  # (p,), standard deviations within groups, of shares at least 0.1
    are_shares: AnyArray  # (p,), whether all values are 0 or 1, so that means are shares

    def select_separating(self, max_columns: int) -> "GroupMeans":
        """Return the quantities whose group means differ most, in standard deviations."""
        ranges = np.fmax.reduce(self.means, axis=0) - np.fmin.reduce(self.means, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):  # constant columns come last
            spread = np.nan_to_num(ranges / self.deviations)
        order = np.argsort(-spread, kind="stable")[:max_columns]
        names = [self.names[j] for j in order]
        return GroupMeans(
            names, self.means[:, order], self.deviations[order], self.are_shares[order]
        )


def compute_group_means(
    values: AnyArray, codes: IntArray, n_groups: int, names: list[str]
) -> GroupMeans:
    """Compute means by group over the values that are not missing; code -1 is no group."""
    values = np.asarray(values, dtype=np.float64)
    observed = ~np.isnan(values)
    largest = np.max(np.abs(values), axis=0, initial=0.0, where=observed)
    scale = np.where((largest > 1e100) | ((largest < 1e-100) & (largest > 0)), largest, 1.0)
    values = values / scale  # squares of very large or small values are not representable
    means = np.full((n_groups, values.shape[1]), np.nan)
    squares, counts = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for group in range(n_groups):
        rows, known = values[codes == group], observed[codes == group]
        number = known.sum(axis=0)
        sums = np.where(known, rows, 0.0).sum(axis=0)
        np.divide(sums, number, out=means[group], where=number > 0)
        squares += np.where(known, (rows - means[group]) ** 2, 0.0).sum(axis=0)
        counts += number
    deviations = np.sqrt(squares / np.maximum(counts, 1)) * scale
    are_shares = np.all(~observed | (values == 0) | (values * scale == 1), axis=0)
    deviations = np.where(are_shares, np.maximum(deviations, MIN_SHARE_DEVIATION), deviations)
    return GroupMeans(names, means * scale, deviations, are_shares)
