"""Terminal output: results on the standard output, notes and progress on the standard error."""

import json
import math
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

WIDTH_OF_FILES = 100
"""Characters of a line when the output is no terminal."""
MAX_LENGTH = 60
"""Characters of a name in a message."""
MAX_NAMES = 8
"""Names in a list of names."""

printed_warnings: list[str] = []
"""Warnings of this run, in the order in which they were printed."""


@dataclass(frozen=True)
class Terminal:
    """How much to print, and in which form results are wanted."""

    quiet: bool = False
    as_json: bool = False

    def note(self, text: str) -> None:
        """Print something worth knowing that is no result."""
        if not self.quiet:
            _print_line(text)

    def print_result(self, facts: dict[str, Any], page: RenderableType) -> None:
        """Print the result: data for a program, a page for a person."""
        if self.as_json:
            contents = _to_json_values(facts | {"warnings": list(printed_warnings)})
            sys.stdout.write(json.dumps(contents, indent=2) + "\n")
        elif not self.quiet:
            make_console().print(page)

    @contextmanager
    def show_progress(self, description: str, estimator: Any = None) -> Iterator[None]:
        """Show a bar on the terminal during some work; the estimator's callbacks move it."""
        console = make_console(stderr=True)
        if self.quiet or not console.is_terminal:
            yield
            return
        with ProgressBar(description, console) as progress_bar:
            if hasattr(estimator, "set_callbacks"):  # scikit-learn 1.9 and later
                estimator.set_callbacks(progress_bar)
            try:
                yield
            finally:
                if estimator is not None:
                    vars(estimator).pop("_skl_callbacks", None)  # no part of the model


class ProgressBar:
    """A scikit-learn callback that draws a bar: it grows by tasks, and counts iterations."""

    def __init__(self, description: str, console: Console) -> None:
        columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()]
        self.bar = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
        self.description, self.done = description, 0
        self.task = self.bar.add_task(description, total=None)

    def __enter__(self) -> "ProgressBar":
        self.bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.bar.stop()

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing when a fit begins."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing when a task of a fit begins."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:  # noqa: ARG002
        """Move the bar; return False, which lets the fit go on."""
        if context.parent is not None:
            self.done += 1
            if context.task_name == "iteration":  # their number is not known in advance
                self.bar.update(self.task, description=f"{self.description}, iteration {self.done}")
            else:
                total = context.parent.max_subtasks
                self.bar.update(self.task, total=total, completed=self.done)
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing when a fit has ended."""


def make_console(*, stderr: bool = False) -> Console:
    """Return a console of the present stream; in files, no colors and lines of a fixed length."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDTH_OF_FILES
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def make_grid(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Grid:
    """Return a table to print: the first column is text, numbers in the others end flush."""
    grid = Grid(title=title, title_justify="left")
    for j, name in enumerate(columns):
        grid.add_column(name, justify="right" if j else "left")
    for cells in rows:
        grid.add_row(*cells)
    return grid


@contextmanager
def print_warnings_as_lines() -> Iterator[None]:
    """Print each warning once, on one line."""

    def print_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:  # noqa: ARG001
        text = " ".join(sanitize(str(message), 600).split())
        if text not in printed_warnings:
            printed_warnings.append(text)
            _print_line(f"warning: {text}")

    printed_warnings.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = print_warning
        yield


def sanitize(value: Any, max_length: int = MAX_LENGTH) -> str:
    """Return text without control characters, shortened by an ellipsis in its middle."""
    text = str(value)
    if len(text) > max_length:
        tail = (max_length - 1) // 2
        text = f"{text[: max_length - 1 - tail]}…{text[-tail:]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quote(value: Any) -> str:
    """Return sanitized text in quotes."""
    return f"'{sanitize(value)}'"


def list_names(values: Iterable[Any], max_names: int = MAX_NAMES) -> str:
    """Return the first few names in quotes, and the number of the others."""
    names = list(values)
    more = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    return ", ".join(quote(name) for name in names[:max_names]) + more


def list_rows(numbers: Iterable[int], max_numbers: int = 3) -> str:
    """Return the first few row numbers."""
    rows = [int(number) for number in numbers]
    more = ", ..." if len(rows) > max_numbers else ""
    word = "row" if len(rows) == 1 else "rows"
    return f"{word} {', '.join(map(str, rows[:max_numbers]))}{more}"


def count_noun(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def _print_line(text: str) -> None:
    sys.stderr.write(f"opgd: {text}\n")


def _to_json_values(value: Any) -> Any:
    """Return plain data in which numbers that are not finite are null, as in JSON."""
    if isinstance(value, dict):
        return {str(key): _to_json_values(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_values(entry) for entry in value]
    if hasattr(value, "tolist"):  # NumPy's
        return _to_json_values(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
