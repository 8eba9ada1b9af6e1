"""Selection of the number of clusters: which numbers to try, and when to doubt the choice."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from opgd._fit.refinement import RefinedMixture
from opgd.core.engines import RowBlock
from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_AUTO = 20
"""Largest number of clusters that "auto" tries."""
SAMPLES_PER_CLUSTER = 5
"""Minimum number of samples per cluster that "auto" tries."""
PATIENCE = 3
"""Number of further numbers without improvement after which "auto" stops."""
FLAT = 6.0
"""Difference of a criterion below which two numbers of clusters are about as good."""
TINY = 0.02
"""Share of the samples below which a cluster is tiny."""
TINY_PART = 0.25
"""Fraction of the average size below which a cluster is tiny if there are many clusters."""
OVERLAP = 0.25
"""Sum of the two rates of confusion from which two clusters overlap too much."""


@dataclass(frozen=True)
class Scored:
    """A fit with its criteria."""

    criteria: dict[str, Any]
    n_empty: int  # number of clusters without samples


Fit = TypeVar("Fit", bound=Scored)


def list_numbers(n_samples: int) -> list[int]:
    """Return the numbers of clusters that "auto" may try."""
    return list(range(1, max(1, min(MAX_AUTO, n_samples // SAMPLES_PER_CLUSTER)) + 1))


def try_numbers(fit: Callable[[int], Fit], numbers: list[int], *, stop: bool) -> Iterator[Fit]:
    """Fit each number; with `stop`, end when `PATIENCE` numbers in turn are no better."""
    best, n_worse = np.inf, 0
    for number in numbers:
        result = fit(number)
        yield result
        value = result.criteria["selected_by"] if is_admissible(result.criteria) else np.inf
        n_worse = 0 if value < best else n_worse + 1
        best = min(best, value)
        if stop and n_worse == PATIENCE:
            return


def combine_candidates(fits: list[Fit], criterion: str) -> Fit:
    """Return the best of several fits with the same number of clusters.

    Its criteria include those of the best first mixture. Either density can be wrong about the
    number: the first mixture adds small clusters where its covariances have too few parameters, the
    mixture in the projection where clusters have different shapes outside of it. The number of
    clusters is selected by the mean of both.
    """
    best = min(fits, key=lambda fit: (fit.n_empty, float(fit.criteria["bic"])))
    names = [f"first_{name}" for name in ("bic", "icl", "aic")]
    of_first = {name: float(np.min([fit.criteria[name] for fit in fits])) for name in names}
    value = np.nanmean([best.criteria[criterion], of_first[f"first_{criterion}"]])
    return replace(best, criteria=best.criteria | of_first | {"selected_by": float(value)})


def is_admissible(criteria: dict[str, Any]) -> Any:
    """Return whether the smallest cluster is large enough for the number to be selected."""
    return criteria["smallest"] >= TINY


def select_number(selection: dict[str, AnyArray]) -> int:
    """Return the index of the best number; numbers with tiny clusters only if all have them."""
    admissible = is_admissible(selection)
    values = selection["selected_by"]
    return int(np.argmin(np.where(admissible, values, np.inf) if np.any(admissible) else values))


def tabulate_fits(fits: list[Fit]) -> dict[str, AnyArray]:
    """Return the criteria of all fits as columns of a table."""
    kinds = {
        key: object if isinstance(value, str) else None for key, value in fits[0].criteria.items()
    }
    return {
        key: np.array([fit.criteria[key] for fit in fits], dtype=kind)
        for key, kind in kinds.items()
    }


def confusion_rates(refined: RefinedMixture, labels: IntArray) -> FloatArray:
    """Return the share of each cluster that is assigned to each, (K, K); rows sum to one.

    Entry (j, k) is the probability that a sample of cluster j is most probable in cluster k.
    `labels` (C,) are the clusters of the Gaussians.
    """
    posteriors, members = refined.posteriors, np.eye(labels.max() + 1)[labels].T  # (K, C)

    def sum_block(block: RowBlock) -> FloatArray:
        shares = members @ posteriors(block)
        assigned = np.eye(len(members))[np.argmax(shares, axis=0)]  # (n, K)
        return (shares * block.row_weights) @ assigned

    sums = refined.problem.objective.engine.sum(sum_block, refined.width)
    rates: FloatArray = sums / np.maximum(sums.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return rates


def doubt_selection(
    selection: dict[str, Any], sizes: IntArray, rates: FloatArray, n_samples: int | None = None
) -> list[str]:
    """Return notes on a selected number of clusters that is doubtful.

    `sizes` (K,) and `rates` (K, K) are those of the selected clusters, in the order of labels.
    `n_samples` includes noise; by default there is none.
    """
    numbers, values = selection["n_clusters"], selection["selected_by"]
    best = select_number(selection)
    notes = []
    if numbers[best] == max(numbers):
        notes.append(
            f"The selected number of clusters, {numbers[best]}, is the largest that was tried; "
            "extend n_clusters, or consider that the data may have no clusters of Gaussian shape"
        )
    is_close = (values < values[best] + FLAT) & is_admissible(selection)
    close = [str(n) for n in numbers[is_close] if n != numbers[best]]
    if close:
        notes.append(
            f"{' or '.join(close)} clusters are about as good as {numbers[best]}; see selection_"
        )
    return notes + find_tiny(sizes, n_samples or int(sizes.sum())) + _find_overlapping(rates)


def find_tiny(sizes: IntArray, n_samples: int) -> list[str]:
    """Return a note if clusters are tiny, for their number; `sizes` (K,) are those of clusters."""
    least = min(TINY, TINY_PART / len(sizes))
    tiny = np.flatnonzero((sizes > 0) & (sizes < least * n_samples))
    if not len(tiny):
        return []
    described = ", ".join(f"{k} ({sizes[k]})" for k in tiny)
    return [
        f"Clusters with less than {100 * least:.2g}% of the samples (and their sizes): "
        f"{described}; they may be outliers"
    ]


def _find_overlapping(rates: FloatArray) -> list[str]:
    confused = np.argwhere(np.triu(rates + rates.T, 1) > OVERLAP)
    if not len(confused):
        return []
    pairs = ", ".join(f"{j} and {k}" for j, k in confused)
    return [f"These clusters overlap so much that they may be one: {pairs}"]
