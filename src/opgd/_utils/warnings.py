"""Warnings that point at the code of the user."""

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

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


class _SharedFilter:
    """A filter for warnings that concurrent calls in several threads share.

    `warnings.catch_warnings` alone would restore the filters of another thread: the first call
    saves the filters of the process, and the last one restores them.
    """

    def __init__(self) -> None:
        self.lock, self.n_calls, self.saved = threading.Lock(), 0, ExitStack()

    def enter(self) -> None:
        with self.lock:
            if self.n_calls == 0:
                self.saved.enter_context(warnings.catch_warnings())
                warnings.filterwarnings("ignore", category=UserWarning, module=r"sklearn\.")
            self.n_calls += 1

    def leave(self) -> None:
        with self.lock:
            self.n_calls -= 1
            if self.n_calls == 0:
                self.saved.close()


_SKLEARN_FILTER = _SharedFilter()


@contextmanager
def ignore_sklearn_warnings() -> Iterator[None]:
    """Ignore warnings raised in scikit-learn, such as those of initial clusters."""
    if getattr(sys.flags, "context_aware_warnings", False):  # filters of a thread, from Python 3.14
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning, module=r"sklearn\.")
            yield
        return
    _SKLEARN_FILTER.enter()
    try:
        yield
    finally:
        _SKLEARN_FILTER.leave()
