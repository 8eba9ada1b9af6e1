"""One warning for everything about the data that a fit had to decide for itself."""

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
    """Warn once, naming every feature and class for which the fit had to decide something.

    `advice` names the parameters with which a user can decide, if there are any.
    """
    frame = problem.frame
    notes = list(notes)
    decide = f"; set {advice} to choose this yourself" if advice else ""
    if len(frame.constant):
        notes.append(f"constant columns get zero loadings: {_list(columns, frame.constant)}")
    if len(frame.collinear):
        notes.append(
            "collinear columns share their loadings: "
            f"{_list(columns, frame.collinear)} can be computed from the others"
        )
    if problem.within_borrowed > 0:
        rows = " (there are no more rows than columns)" if frame.few_rows else ""
        notes.append(
            f"the pooled covariance of the {what} is singular{rows}: "
            f"{problem.within_borrowed:.0%} of it is the identity on standardized columns, "
            f"and probabilities may be overconfident{decide}"
        )
    singular = np.unique(problem.gaussian_classes[problem.borrowed > 0])
    if len(singular):
        notes.append(
            f"{what} with a singular covariance borrow from the pooled one: "
            f"{_list(labels, singular)}{decide}"
        )
    if notes:
        warn_caller("; ".join(notes) + ".", DataWarning)


def _list(names: list[str], indices: IntArray) -> str:
    return list_names([names[i] for i in indices], n_all=len(names))
