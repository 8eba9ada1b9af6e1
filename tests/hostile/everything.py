"""All inputs, registered in the order of the guide, and its tables."""

from tests.hostile import tables  # isort: skip
from tests.hostile import labels  # isort: skip
from tests.hostile import weights  # isort: skip
from tests.hostile import prediction  # isort: skip
from tests.hostile import interruptions  # isort: skip
from tests.hostile import extremes  # isort: skip
from tests.hostile import names  # isort: skip
from tests.hostile.registry import ESTIMATORS, INPUTS, pairs

__all__ = ["ESTIMATORS", "INPUTS", "PENDING", "markdown", "pairs", "statement"]
PENDING: dict[tuple[str, str], str] = {}
"""Pairs (input, estimator) that do not end as stated yet, and why; the guide has to name them."""
SECTIONS = [
    module.SECTION
    for module in (tables, labels, weights, prediction, extremes, names, interruptions)
]


def markdown() -> str:
    """The tables of the guide."""
    lines = []
    for section in SECTIONS:
        lines += [f"## {section}", "", "| input | what happens |", "| --- | --- |"]
        lines += [f"| {own.given} | {own.outcome} |" for own in INPUTS if own.section == section]
        lines.append("")
    return "\n".join(lines)


def statement(n_failed: int) -> str:
    """How much was tried, as the command prints and the guide repeats it."""
    return f"{len(pairs())} combinations of input and estimator tested, {n_failed} failed"
