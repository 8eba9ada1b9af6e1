"""compare(), which evaluates classifiers on the same splits of the data, and its summary."""

from opgd.comparison._compare import compare
from opgd.comparison.methods import (
    default_estimators,
    further_estimators,
    paper_estimators,
    usual_estimators,
)
from opgd.comparison.summary import summarize

__all__ = [
    "compare",
    "default_estimators",
    "further_estimators",
    "paper_estimators",
    "summarize",
    "usual_estimators",
]
