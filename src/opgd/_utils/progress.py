"""Progress of long work on standard error: a bar of rich in terminals, otherwise a few lines."""

import sys
import time
from collections.abc import Callable
from typing import Any, Self

LOG_SECONDS = 10.0
"""Seconds between the lines of a log file; work that takes less leaves no line."""


class Progress:
    """Progress of work, as a fraction that grows to 1; use it as a context manager.

    A terminal or notebook shows the bar of rich if it is installed. Anything else, such as a log
    file, receives a line without control codes from time to time.
    """

    def __init__(self, description: str, *, enabled: bool = True) -> None:
        self.description, self.enabled = description, enabled
        self.fraction = 0.0
        self.bar: Any = None
        self.begin = self.shown = time.monotonic()

    def __enter__(self) -> Self:
        self.begin = self.shown = time.monotonic()
        if self.enabled:
            self.bar = make_bar()
        if self.bar is not None:
            self.task = self.bar.add_task(self.description, total=None, detail="")
            self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def update(self, fraction: float, detail: str | Callable[[], str] = "") -> None:
        """Show that a fraction of the work is done; it never decreases.

        `detail` says more about the state; a function is called only if the display is due.
        """
        self.fraction = max(self.fraction, min(fraction, 1.0))
        seconds = time.monotonic() - self.shown
        if not self.enabled or seconds < (0.1 if self.bar is not None else LOG_SECONDS):
            return
        self.shown += seconds
        detail = detail if isinstance(detail, str) else detail()
        if self.bar is not None:
            self.bar.update(self.task, total=1.0, completed=self.fraction, detail=detail)
            return
        left = (self.shown - self.begin) * (1 / self.fraction - 1) if self.fraction else 0.0
        parts = [f"{self.fraction:.0%}", detail, f"about {left:.0f} s left" if left else ""]
        sys.stderr.write(f"{self.description}: {', '.join(filter(None, parts))}\n")
        sys.stderr.flush()


def make_bar() -> Any:
    """Return a bar of rich for a terminal or notebook, None elsewhere or without rich."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars
    except ImportError:
        return None
    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        return None
    description = TextColumn("{task.description}", markup=False)
    detail = TextColumn("{task.fields[detail]}", markup=False)
    columns = [description, BarColumn(24), TaskProgressColumn(), detail, TimeRemainingColumn()]
    return Bars(*columns, console=console, transient=True)
