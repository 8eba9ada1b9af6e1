"""Stratified subsamples for drawing."""

import numpy as np

from opgd._utils.validation import check_integer
from opgd.core.types import IntArray


def thin(codes: IntArray, max_rows: int | None) -> IntArray:
    """Return indices of at most `max_rows` rows, stratified by group, at least one per group.

    Rows are drawn at random with a fixed seed, so that plots are reproducible. Indices are
    sorted.
    """
    n_rows = len(codes)
    if max_rows is None or n_rows <= check_integer("max_rows", max_rows, 1):
        return np.arange(n_rows)
    groups, members, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(groups) > max_rows:
        raise ValueError(
            f"max_rows={max_rows} is less than the number of groups ({len(groups)} groups)."
        )
    quotas = np.maximum(1, counts * max_rows // n_rows)
    for _ in range(
        max(0, int(quotas.sum()) - max_rows)
    ):  # compensate for the minimum of one row per group
        quotas[np.argmax(quotas)] -= 1
    order = np.lexsort((np.random.RandomState(0).random_sample(n_rows), members))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = np.arange(n_rows) - np.repeat(first, counts)  # random rank within the group
    return np.sort(order[place < np.repeat(quotas, counts)])
