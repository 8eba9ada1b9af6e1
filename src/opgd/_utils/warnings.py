"""Warnings that point at the code of the user."""

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

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


SKLEARN = r"sklearn\."
ADDED = ("ComplexWarning", "VisibleDeprecationWarning")
"""Categories that scikit-learn turns into errors during validation."""


def _added_in_validation(entry: Any) -> bool:
    return entry[0] == "error" and entry[2].__name__ in ADDED


def _added_here(entry: Any) -> bool:
    return entry[0] == "ignore" and getattr(entry[3], "pattern", entry[3]) == SKLEARN


class _SharedFilters:
    """Filters of warnings of the process that concurrent calls add, and the last one removes."""

    def __init__(self, is_added: Callable[[Any], bool]) -> None:
        self.is_added = is_added
        self.lock, self.n_calls, self.before = threading.Lock(), 0, list[Any]()

    @contextmanager
    def share(self) -> Iterator[None]:
        with self.lock:
            if self.n_calls == 0:
                self.before = list(warnings.filters)
            self.n_calls += 1
        try:
            yield
        finally:
            with self.lock:
                self.n_calls -= 1
                if self.n_calls == 0 and warnings.filters != self.before:
                    self._remove_added()

    def _remove_added(self) -> None:
        warnings.filters[:] = [  # type: ignore[index]
            entry for entry in warnings.filters if entry in self.before or not self.is_added(entry)
        ]
        with warnings.catch_warnings():
            pass  # so that the change takes effect


# validation may restore filters that were added here, and that another thread has removed
_VALIDATION = _SharedFilters(lambda entry: _added_in_validation(entry) or _added_here(entry))
_IGNORED = _SharedFilters(_added_here)


def _has_own_filters() -> bool:
    """Return whether every thread has its own filters, an option from Python 3.14 on."""
    return bool(getattr(sys.flags, "context_aware_warnings", False))


@contextmanager
def keep_filters() -> Iterator[None]:
    """Leave the filters of warnings as they are, also if concurrent calls overlap.

    scikit-learn validates input inside `warnings.catch_warnings`, which is not safe for threads: of
    two overlapping calls, the second restores the filters that the first had set. When the last
    call ends, filters that were added in this way are removed; all others are left alone.
    """
    with nullcontext() if _has_own_filters() else _VALIDATION.share():
        yield


@contextmanager
def ignore_sklearn_warnings() -> Iterator[None]:
    """Ignore warnings raised in scikit-learn, such as those of initial clusters."""
    with warnings.catch_warnings() if _has_own_filters() else _IGNORED.share():
        warnings.filterwarnings("ignore", category=UserWarning, module=SKLEARN)
        yield
