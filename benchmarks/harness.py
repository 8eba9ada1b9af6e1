"""What every section shares: where it runs, how it times, how it says whether a bound is kept."""

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import TypeVar

import psutil
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text
from threadpoolctl import threadpool_limits

PACKAGES = ["opgd", "numpy", "scipy", "scikit-learn"]
MIN_WIDTH = 124
"""Characters that the widest table needs; a narrower terminal would lose digits."""

Section = Callable[[Console], bool]
"""Measures, prints a table, and says whether all bounds were kept."""
ScaledSection = Callable[[Console, float], bool]
"""A section whose numbers of rows are multiplied by a scale: 1, or less for a quick look."""

IDLE_CORES = 0.15
"""Cores that other processes may use before times say more about them than about us."""

Result = TypeVar("Result")


def make_console() -> Console:
    """A console that is wide enough for the tables, in a terminal or a file."""
    console = Console(highlight=False, record=True)
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


class OtherWork:
    """How many cores other processes kept busy while a block of code ran."""

    def __init__(self) -> None:
        self.cores = 0.0

    def __enter__(self) -> "OtherWork":
        self._begin = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        seconds, busy, own = (
            end - begin for end, begin in zip(self._now(), self._begin, strict=True)
        )
        self.cores = max(0.0, busy - own) / seconds

    def _now(self) -> tuple[float, float, float]:
        """Seconds: of a clock, of all cores at work, of this process and its children at work."""
        everyone, own = psutil.cpu_times()._asdict(), psutil.Process().cpu_times()
        not_work = ("idle", "iowait", "guest", "guest_nice")  # guests are in user and nice already
        busy = sum(spent for name, spent in everyone.items() if name not in not_work)
        children = own.children_user + own.children_system
        return time.perf_counter(), busy, own.user + own.system + children

    @property
    def idle(self) -> bool:
        """Whether the machine was ours."""
        return self.cores <= IDLE_CORES

    def __str__(self) -> str:
        load = ", ".join(f"{share:.2f}" for share in os.getloadavg())
        words = f"Other processes used {self.cores:.2f} of {os.cpu_count()} cores (load {load})"
        return f"{words}." if self.idle else f"{words}: too busy for times to mean much."


def scaled(n_rows: int, scale: float, least: int = 1000) -> int:
    """So many rows, times the scale."""
    return max(least, round(n_rows * scale))


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
