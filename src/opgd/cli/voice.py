"""What the command says: results on the standard output, everything else on the other."""

import json
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from opgd.cli.text import shown

NARROWEST = 100
"""Columns of a page when the output is no terminal."""


def console(*, stderr: bool = False) -> Console:
    """A console of the stream as it is now; files get no colours and lines of a fixed length."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else NARROWEST
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def say(text: str) -> None:
    """A line on the standard error, as it is."""
    sys.stderr.write(f"opgd: {text}\n")


@dataclass(frozen=True)
class Voice:
    """How much to say, and in which form results are wanted."""

    quiet: bool = False
    as_json: bool = False

    def note(self, text: str) -> None:
        """Something worth knowing that is no result."""
        if not self.quiet:
            say(text)

    def result(self, facts: dict[str, Any], page: RenderableType) -> None:
        """The result: data for a program, a page for a person."""
        if self.as_json:
            text = json.dumps(_finite(facts | {"warnings": list(warned)}), indent=2)
            sys.stdout.write(text + "\n")
        elif not self.quiet:
            console().print(page)

    @contextmanager
    def watching(self, what: str, estimator: Any = None) -> Iterator[None]:
        """A bar on the terminal while work goes on; it counts what the estimator tells of."""
        screen = console(stderr=True)
        if self.quiet or not screen.is_terminal:
            yield
            return
        with Watch(what, screen) as watch:
            if hasattr(estimator, "set_callbacks"):  # scikit-learn 1.9 and later
                estimator.set_callbacks(watch)
            try:
                yield
            finally:
                if estimator is not None:
                    vars(estimator).pop("_skl_callbacks", None)  # no part of the model


class Watch:
    """A bar that is a callback of scikit-learn: tasks make it grow, iterations are counted."""

    def __init__(self, what: str, screen: Console) -> None:
        columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()]
        self.bar = Progress(*columns, TimeElapsedColumn(), console=screen, transient=True)
        self.what, self.done = what, 0
        self.task = self.bar.add_task(what, total=None)

    def __enter__(self) -> "Watch":
        self.bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.bar.stop()

    def setup(self, estimator: Any, context: Any) -> None:
        """A fit begins."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A part of it begins."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:  # noqa: ARG002
        """A part has ended; nobody asks to stop."""
        if context.parent is not None:
            self.done += 1
            if context.task_name == "iteration":  # how many there will be is not known
                self.bar.update(self.task, description=f"{self.what}, iteration {self.done}")
            else:
                total = context.parent.max_subtasks
                self.bar.update(self.task, total=total, completed=self.done)
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """The fit has ended."""


warned: list[str] = []
"""Warnings of this run, in the order in which they were said."""


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Warnings as one line each, and each of them once."""

    def line(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:  # noqa: ARG001
        text = " ".join(shown(str(message), 600).split())
        if text not in warned:
            warned.append(text)
            say(f"warning: {text}")

    warned.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for unwanted in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", unwanted)
        warnings.showwarning = line
        yield


def _finite(value: Any) -> Any:
    """Plain data in which numbers that are not finite are null, as JSON has it."""
    if isinstance(value, dict):
        return {str(key): _finite(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(own) for own in value]
    if hasattr(value, "tolist"):  # NumPy's
        return _finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
