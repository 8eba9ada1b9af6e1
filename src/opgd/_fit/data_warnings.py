"""A single warning about constant and collinear features and singular covariances."""

import numpy as np

from opgd._fit.problem import Problem
from opgd._utils.text import list_names
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core.types import IntArray


def warn_about_data(
    problem: Problem,
    labels: list[str],
    columns: list[str],
    notes: list[str],
    what: str = "classes",
    advice: str = "shrinkage or ridge",
) -> None:
    """Warn once about all features and classes that needed special treatment.

    `notes` are further messages, `what` names the groups ("classes" or "clusters"), and `advice`
    names the parameters that a user can set instead, if there are any.
    """
    frame = problem.frame
    notes = list(notes)
    hint = f"; set {advice} to control this" if advice else ""
    if len(frame.constant):
        notes.append(f"constant columns have zero loadings: {_list(columns, frame.constant)}")
    if len(frame.collinear):
        notes.append(
            "collinear columns share their loadings: "
            f"{_list(columns, frame.collinear)} are linear combinations of the others"
        )
    if problem.within_borrowed > 0:
        rows = " (there are no more rows than columns)" if frame.few_rows else ""
        notes.append(
            f"the pooled covariance of the {what} is singular{rows}: it is shrunk by "
            f"{problem.within_borrowed:.0%} towards the identity on standardized columns, and "
            f"probabilities may be overconfident{hint}"
        )
    singular = np.unique(problem.gaussian_classes[problem.borrowed > 0])
    if len(singular):
        notes.append(
            f"{what} with a singular covariance borrow from the pooled covariance: "
            f"{_list(labels, singular)}{hint}"
        )
    if notes:
        warn_caller("; ".join(notes) + ".", DataWarning)


def _list(names: list[str], indices: IntArray) -> str:
    return list_names([names[i] for i in indices], n_all=len(names))
