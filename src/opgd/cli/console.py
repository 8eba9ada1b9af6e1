"""Terminal output: results on standard output, notes and progress on standard error."""

import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.segment import Segment
from rich.table import Table as Grid

from opgd._utils.progress import Progress
from opgd.cli.errors import escape_controls

WIDTH_OF_FILES = 100
"""Line width when the output is not a terminal and COLUMNS is not set."""
MAX_LENGTH = 60
"""Maximum length of a name in a message."""
MAX_NAMES = 8
"""Maximum number of names in a list."""

printed_warnings: list[str] = []
"""Warnings printed during this run, in order."""


@dataclass(frozen=True)
class Terminal:
    """Output settings: verbosity, and the format of results."""

    quiet: bool = False
    as_json: bool = False

    def note(self, text: str) -> None:
        """Print a note on standard error, unless quiet."""
        if not self.quiet:
            _print_line(text)

    def show(self, table: str) -> None:
        """Print a table on standard error, unless quiet or with --json."""
        if not self.quiet and not self.as_json:
            sys.stderr.write(escape_controls(table) + "\n")

    def print_result(self, facts: dict[str, Any], page: RenderableType) -> None:
        """Print the facts as JSON with --json, otherwise the page unless quiet."""
        if self.as_json:
            contents = _to_json_values(facts | {"warnings": list(printed_warnings)})
            sys.stdout.write(json.dumps(contents, indent=2) + "\n")
        elif not self.quiet:
            make_console().print(page)

    @contextmanager
    def show_progress(self, description: str, estimator: Any = None) -> Iterator[None]:
        """Show a bar on a terminal while work goes on; a selection shows how far it is."""
        is_shown = not self.quiet and make_console(stderr=True).is_terminal
        if is_shown and hasattr(estimator, "cv"):
            estimator.verbose = 1
            try:
                yield
            finally:
                estimator.verbose = 0
            return
        with Progress(description, enabled=is_shown):
            yield


def make_console(*, stderr: bool = False) -> Console:
    """Return a console for the stream; without a terminal, it has no colors.

    Its width is then that of the environment variable COLUMNS, if it is set.
    """
    stream = sys.stderr if stderr else sys.stdout
    columns = os.environ.get("COLUMNS", "")
    width = None if stream.isatty() or columns.isdecimal() else WIDTH_OF_FILES
    console = Console(file=stream, width=width, markup=False, emoji=False, highlight=False)
    console.push_render_hook(EscapeControls())
    return console


class EscapeControls(RenderHook):
    """Escape control characters in all text that a console prints."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Return the renderables with escaped text."""
        return [EscapedText(renderable) for renderable in renderables]


@dataclass(frozen=True)
class EscapedText:
    """A renderable whose text is escaped once it is laid out; sequences of rich are kept."""

    renderable: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for text, style, control in console.render(self.renderable, options):
            yield Segment(text if control else escape_controls(text), style, control)


def make_grid(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Grid:
    """Return a table to print, with all columns but the first right-aligned."""
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
        text = " ".join(sanitize(str(message), 2000).split())
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
    """Return text with control characters escaped, and the middle of long text elided."""
    text = str(value)
    if len(text) > max_length:
        tail = (max_length - 1) // 2
        text = f"{text[: max_length - 1 - tail]}…{text[-tail:]}"
    return escape_controls(text).replace("\n", "\\n")


def quote(value: Any) -> str:
    """Return sanitized text in quotes."""
    return f"'{sanitize(value)}'"


def list_names(values: Iterable[Any], max_names: int = MAX_NAMES) -> str:
    """Return the first few names in quotes and the number of further names."""
    names = list(values)
    more = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    return ", ".join(quote(name) for name in names[:max_names]) + more


def list_rows(numbers: Iterable[int], max_numbers: int = 3) -> str:
    """Return text such as "row 5" or "rows 1, 2, 3, ..."."""
    rows = [int(number) for number in numbers]
    more = ", ..." if len(rows) > max_numbers else ""
    word = "row" if len(rows) == 1 else "rows"
    return f"{word} {', '.join(map(str, rows[:max_numbers]))}{more}"


def count_noun(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with the noun in singular or plural."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def _print_line(text: str) -> None:
    sys.stderr.write(f"opgd: {escape_controls(text)}\n")


def _to_json_values(value: Any) -> Any:
    """Return values that JSON can represent; non-finite numbers become None."""
    if isinstance(value, dict):
        return {str(key): _to_json_values(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_values(entry) for entry in value]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return _to_json_values(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
