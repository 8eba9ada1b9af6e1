"""Decisions: prediction sets, costs, other class shares, rare classes, typicality."""

import warnings

from rich.console import Console

from benchmarks.decision_costs import show_costs, show_rare, show_shift
from benchmarks.decision_sets import show_conformalized, show_sets, show_typicality
from benchmarks.harness import Section, one_blas_thread

PARTS: list[Section] = [
    show_sets,
    show_conformalized,
    show_costs,
    show_shift,
    show_rare,
    show_typicality,
]


def show_decisions(console: Console) -> bool:
    """Measure all of it on the same fits; return whether all bounds were kept."""
    all_kept = True
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in PARTS:
            all_kept &= part(console)
    return all_kept
