"""What every section shares: where it runs, how it times, how it says whether a bound is kept."""

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text
from threadpoolctl import threadpool_limits

PACKAGES = ["opgd", "numpy", "scipy", "scikit-learn"]
MIN_WIDTH = 108
"""Characters that the widest table needs; a narrower terminal would lose digits."""

Section = Callable[[Console], bool]
"""Measures, prints a table, and says whether all bounds were kept."""


def make_console() -> Console:
    """A console that is wide enough for the tables, in a terminal or a file."""
    console = Console(highlight=False)
    console.width = max(console.width, MIN_WIDTH)
    return console


def print_machine(console: Console) -> None:
    """Where and among what load the numbers below were measured."""
    load = ", ".join(f"{share:.2f}" for share in os.getloadavg())
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    console.print(f"Python {platform.python_version()}, {packages}")
    console.print(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load}, "
        "BLAS on one thread"
    )


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Ours and what it is compared with get one thread each, whatever the environment says."""
    with threadpool_limits(1, user_api="blas"):
        yield


def fastest(functions: Mapping[str, Callable[[], object]], n_runs: int) -> dict[str, float]:
    """Least seconds of each function, called in turns.

    Other work on the machine only ever adds time, so the minimum is the steadiest summary; turns
    make a slow moment fall on all functions alike, so that ratios keep their meaning.
    """
    seconds = dict.fromkeys(functions, float("inf"))
    for _ in range(n_runs):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def verdict(kept: bool, otherwise: str = "over") -> Text:
    """The last column of a row that has a bound."""
    return Text("ok", style="green") if kept else Text(otherwise, style="bold red")


def make_table(texts: Sequence[str], numbers: Sequence[str], remark: str = "") -> Table:
    """A plain table: columns of text, columns of numbers, and a last one for remarks."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for heading in texts:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(remark)
    return table


def show(console: Console, title: str, table: Table, how: str) -> None:
    """Print what was measured, the numbers, and how."""
    console.print(f"\n[bold]{title}[/bold]")
    console.print(table)
    console.print(how, style="dim")
