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
    what: tuple[str, str] = ("class", "classes"),
    advice: str = "set shrinkage or ridge to choose the amount of shrinkage",
) -> None:
    """Warn once about all features and classes that needed special treatment.

    `notes` are further sentences without their periods, `what` is the singular and plural of
    "class" or "cluster", and `advice` names the parameters that a user can set instead, if there
    are any.
    """
    frame = problem.frame
    notes = list(notes)
    hint = f"; {advice}" if advice else ""
    constant = np.setdiff1d(frame.constant, np.union1d(frame.empty, frame.left_out))
    if len(frame.empty):
        notes.append(f"Columns without a single value are ignored: {_list(columns, frame.empty)}")
    if len(constant):
        notes.append(f"Loadings are zero for constant columns: {_list(columns, constant)}")
    if len(frame.collinear):
        notes.append(
            "Loadings are shared between collinear columns; linear combinations of the others are "
            f"{_list(columns, frame.collinear)}"
        )
    if problem.within_borrowed > 0:
        rows = " (there are no more rows than columns)" if frame.few_rows else ""
        notes.append(
            f"The pooled covariance of the {what[1]} is singular{rows}. It was shrunk by "
            f"{problem.within_borrowed:.0%} toward the identity on standardized columns, and "
            f"probabilities may be overconfident{hint}"
        )
    # that one of several Gaussians of a class has few samples is no property of the data
    is_single = np.bincount(problem.gaussian_classes)[problem.gaussian_classes] == 1
    singular = np.unique(problem.gaussian_classes[(problem.borrowed > 0) & is_single])
    if len(singular):
        notes.append(
            f"{_describe_covariances(labels, singular, what)} shrunk toward the pooled "
            f"covariance{hint}"
        )
    if notes:
        warn_caller(". ".join(notes) + ".", DataWarning)


def _describe_covariances(labels: list[str], indices: IntArray, what: tuple[str, str]) -> str:
    if len(indices) == 1:
        return f"The covariance of {what[0]} {labels[indices[0]]} is singular and was"
    if len(indices) == len(labels):
        return f"All {len(labels)} {what[0]} covariances are singular and were"
    return f"The covariances of {what[1]} {_list(labels, indices)} are singular and were"


def _list(names: list[str], indices: IntArray) -> str:
    return list_names([names[i] for i in indices], n_all=len(names))
