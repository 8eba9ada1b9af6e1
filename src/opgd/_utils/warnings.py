"""Warnings of this package, and where they point."""

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

OURS = ("opgd.", "sklearn.", "contextlib", "functools", "joblib.")


class DataWarning(UserWarning):
    """Something about the data that the fit had to decide for itself."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of this package (and scikit-learn) that led here."""
    level, frame = 1, sys._getframe()
    while frame is not None and (frame.f_globals.get("__name__", "") + ".").startswith(OURS):
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level)


def warn_not_converged(subject: str, max_iter: int, detail: str = "") -> None:
    """Warn that a search ended at `max_iter`; `subject` comes with its verb ("The EM has")."""
    warn_caller(
        f"{subject} not converged after max_iter={max_iter} iterations{detail}. "
        "Increase max_iter, or loosen tol if this is close enough.",
        ConvergenceWarning,
    )
