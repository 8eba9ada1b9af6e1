"""Progress of long work: a bar in terminals and notebooks, occasional lines in log files.

Progress goes to standard error. A terminal shows rich's bar if rich is installed, otherwise a line
that is rewritten; a notebook shows a bar that is replaced in place. Anything else, such as a log
file, receives a line without control codes from time to time.
"""

import sys
import time
from collections.abc import Callable
from html import escape
from types import TracebackType
from typing import Any, Protocol, Self, TextIO

REFRESH_SECONDS = 0.1
LOG_SECONDS = 10.0
"""Seconds between the lines of a log file; work that takes less leaves no line."""
LEAST_FRACTION = 0.02
"""Fraction of the work below which no time remaining is shown."""
BAR_WIDTH = 24


class Display(Protocol):
    """A place where progress is shown."""

    least_seconds: float
    """Minimum number of seconds between updates."""

    def show(self, description: str, fraction: float, detail: str, seconds: float) -> None: ...

    def close(self) -> None: ...


class Progress:
    """Progress of work, as a fraction that grows to 1; use it as a context manager.

    Parameters
    ----------
    description : what is being done
    enabled : whether anything is shown
    clock : function that returns seconds
    """

    def __init__(
        self,
        description: str,
        *,
        enabled: bool = True,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.description, self.clock = description, clock
        self.enabled, self.stream = enabled, stream
        self.fraction = 0.0
        self.display: Display | None = None
        self.begin = self.shown = clock()

    def __enter__(self) -> Self:
        if self.enabled:
            self.begin = self.shown = self.clock()
            self.display = choose_display(self.stream or sys.stderr)
            self.display.show(self.description, 0.0, "", 0.0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.display is not None:
            self.display.close()

    def update(self, fraction: float, detail: str | Callable[[], str] = "") -> None:
        """Show that a fraction of the work is done; it never decreases.

        `detail` says more about the state; a function is called only if the display is due.
        """
        self.fraction = max(self.fraction, min(fraction, 1.0))
        now = self.clock()
        if self.display is not None and now - self.shown >= self.display.least_seconds:
            self.shown = now
            text = detail if isinstance(detail, str) else detail()
            self.display.show(self.description, self.fraction, text, now - self.begin)


def choose_display(stream: TextIO) -> Display:
    """Return the display that suits a stream."""
    if _is_notebook():
        return NotebookDisplay()
    if not stream.isatty():
        return LogDisplay(stream)
    try:
        return RichDisplay(stream)
    except ImportError:
        return LineDisplay(stream)


def estimate_remaining(fraction: float, seconds: float) -> float | None:
    """Return the seconds that are left if work continues at its mean speed; None at first."""
    return None if fraction < LEAST_FRACTION else seconds * (1.0 - fraction) / fraction


def format_seconds(seconds: float) -> str:
    """Return a duration such as "8 s", "3:05 min" or "1:02:03 h"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d} min"
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d} h"


def describe_state(fraction: float, detail: str, seconds: float) -> str:
    """Return the state of the work in a few words."""
    remaining = estimate_remaining(fraction, seconds)
    parts = [f"{fraction:.0%}", detail]
    if remaining is not None:
        parts.append(f"about {format_seconds(remaining)} left")
    return ", ".join(part for part in parts if part)


class LogDisplay:
    """A line from time to time, without control codes."""

    least_seconds = LOG_SECONDS

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def show(self, description: str, fraction: float, detail: str, seconds: float) -> None:
        if seconds > 0:
            text = describe_state(fraction, detail, seconds)
            self.stream.write(f"{description}: {text}\n")
            self.stream.flush()

    def close(self) -> None:
        """Do nothing: lines stay."""


class LineDisplay:
    """A line that is rewritten, for terminals without rich."""

    least_seconds = REFRESH_SECONDS

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.width = stream, 0

    def show(self, description: str, fraction: float, detail: str, seconds: float) -> None:
        text = f"{description}: {describe_state(fraction, detail, seconds)}"
        self.stream.write("\r" + text.ljust(self.width))
        self.stream.flush()
        self.width = len(text)

    def close(self) -> None:
        """Clear the line."""
        self.stream.write("\r" + " " * self.width + "\r")
        self.stream.flush()


class RichDisplay:
    """A bar of the package rich."""

    least_seconds = REFRESH_SECONDS

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        console = Console(file=stream)
        columns = [TextColumn("{task.description}", markup=False), BarColumn(BAR_WIDTH)]
        columns += [TextColumn("{task.fields[state]}", markup=False)]
        self.bars = Bars(*columns, console=console, transient=True)
        self.task = self.bars.add_task("", total=1.0, state="")
        self.bars.start()

    def show(self, description: str, fraction: float, detail: str, seconds: float) -> None:
        state = describe_state(fraction, detail, seconds)
        self.bars.update(self.task, description=description, completed=fraction, state=state)

    def close(self) -> None:
        """Remove the bar."""
        self.bars.stop()


class NotebookDisplay:
    """A bar in the output of a notebook's cell."""

    least_seconds = 0.5

    def __init__(self) -> None:
        from IPython.display import display

        self.handle: Any = display(self._render("<span></span>"), display_id=True)

    def show(self, description: str, fraction: float, detail: str, seconds: float) -> None:
        bar = f"<progress max='1' value='{fraction:.3f}'></progress> "
        state = describe_state(fraction, detail, seconds)
        self.handle.update(self._render(bar + escape(f"{description}: {state}")))

    def close(self) -> None:
        """Remove the bar."""
        self.handle.update(self._render("<span></span>"))

    def _render(self, html: str) -> Any:
        from IPython.display import HTML

        return HTML(html)


def _is_notebook() -> bool:
    """Return whether the code runs in a notebook with a kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"
