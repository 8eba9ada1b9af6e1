"""Warnings that point at the code of the user."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning

OURS = ("opgd.", "sklearn.", "contextlib", "functools", "joblib.")


class DataWarning(UserWarning):
    """Warning about data that need special treatment in a fit, such as constant features."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn with the line of the innermost caller outside of this package and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame is not None and (frame.f_globals.get("__name__", "") + ".").startswith(OURS):
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level)


def warn_not_converged(subject: str, max_iter: int, detail: str = "") -> None:
    """Warn that a search stopped at `max_iter`; `subject` includes the verb ("The EM has")."""
    warn_caller(
        f"{subject} not converged after max_iter={max_iter} iterations{detail}. "
        "Increase max_iter, or loosen tol if this is close enough.",
        ConvergenceWarning,
    )


@contextmanager
def ignore_sklearn_warnings() -> Iterator[None]:
    """Ignore warnings raised in scikit-learn, such as those of initial clusters."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module=r"sklearn\.")
        yield
