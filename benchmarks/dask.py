"""Rows born on the workers of a Dask cluster, against the same rows here."""

import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.data import Recipe
from benchmarks.harness import (
    OtherWork,
    make_table,
    one_blas_thread,
    scaled,
    show,
    verdict,
)
from benchmarks.kernel import pose
from opgd import OPGDClassifier
from opgd.core.engines import Engine, RowEngine
from opgd.core.types import AnyArray, FloatArray, IntArray

RECIPE = Recipe(n_columns=40, n_classes=5, distance=0.3)
N_ROWS = 5_000_000
BLOCK_ROWS = 50_000
N_PARTS = 10
"""Of rows that workers hold: the fewer, the less there is to schedule. Others come by blocks."""
N_WORKERS = 2
PARAMETERS: dict[str, Any] = {"n_components": 4, "tol": 1e-5}
N_RUNS = 2
SMALL_MEMORY = 600_000_000
"""Bytes of each worker that cannot hold its share of the rows; 250 MB go to what it imports."""
MOST_SECONDS = 900
"""Of a fit; beyond that it hangs."""
SAME_EVALUATION, SAME_FIT = 1e-12, 1e-6
MOST_RATIO = 1.5


@dataclass(frozen=True)
class Reference:
    """What the same rows in memory say."""

    value: float
    gradient: FloatArray
    log_likelihood: float
    seconds: float


@dataclass(frozen=True)
class Size:
    """How many rows, made in blocks of how many."""

    n_rows: int
    block_rows: int
    recipe: Recipe = RECIPE

    def born_there(self, blocks_per_part: int) -> tuple[Any, Any]:
        """Dask arrays of rows and labels, which the workers make themselves."""
        import dask.array as da

        block_rows, part_rows = self.block_rows, blocks_per_part * self.block_rows
        recipe = self.recipe
        starts = range(0, self.n_rows, part_rows)
        lengths = tuple(min(part_rows, self.n_rows - first) for first in starts)

        def part(block_info: Any) -> tuple[int, int, int]:
            number, n_rows = (block_info[None][k][0] for k in ("chunk-location", "chunk-shape"))
            return n_rows, block_rows, number * blocks_per_part

        def rows(block_info: Any = None) -> AnyArray:
            return recipe.made(*part(block_info))[0]

        def labels(block_info: Any = None) -> IntArray:
            return recipe.made_labels(*part(block_info))

        no_rows, no_labels = np.empty((0, 0), recipe.dtype), np.empty(0, np.intp)
        chunks = (lengths, (recipe.n_columns,))
        return (
            da.map_blocks(rows, chunks=chunks, dtype=no_rows.dtype, meta=no_rows),
            da.map_blocks(labels, chunks=(lengths,), dtype=no_labels.dtype, meta=no_labels),
        )


def evaluate(engine: Engine, labels: IntArray) -> tuple[float, FloatArray]:
    """Value and gradient at some projection."""
    at = np.random.default_rng(4).normal(size=(PARAMETERS["n_components"], RECIPE.n_columns))
    return pose(engine, labels, RECIPE.means).value_and_gradient(at)


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what the function returned."""
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def fitted(X: Any, y: Any, n_jobs: int | None = None) -> OPGDClassifier:
    """The fit that all parts have in common."""
    return OPGDClassifier(**PARAMETERS, n_jobs=n_jobs).fit(X, y)


def here(size: Size) -> Reference:
    """Rows in memory, on as many threads as there are workers; they are gone afterwards."""
    X, y = RECIPE.made(size.n_rows, size.block_rows)
    with one_blas_thread():
        value, gradient = evaluate(RowEngine(X, y, n_threads=N_WORKERS), y)
    runs = [timed(lambda: fitted(X, y, N_WORKERS)) for _ in range(N_RUNS)]
    seconds, model = min(runs, key=lambda run: run[0])
    return Reference(value, gradient, model.log_likelihood_, seconds)


@contextmanager
def cluster(memory_limit: Any, n_workers: int = N_WORKERS) -> Iterator[Any]:
    """Workers of one thread each, which only this machine can reach."""
    from distributed import Client

    settings = {"host": "127.0.0.1", "threads_per_worker": 1, "dashboard_address": None}
    with Client(
        n_workers=n_workers, memory_limit=memory_limit, silence_logs=logging.CRITICAL, **settings
    ) as client:
        yield client


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Interrupt what hangs with a TimeoutError."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no answer after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def engine_of(X: Any, y: Any) -> Engine:
    """The rows as a fit sees them."""
    from opgd._dask.inputs import validate_dask_input
    from opgd._utils.labels import encode_known_labels, encode_labels

    return validate_dask_input(
        OPGDClassifier(), X, y, None, encode_labels, encode_known_labels
    ).engine


@dataclass(frozen=True)
class Killed:
    """A fit in the middle of which a worker was killed."""

    model: Any
    after: float  # seconds until then
    seconds: float  # of the whole fit

    @property
    def in_the_middle(self) -> bool:
        return self.after < self.seconds


def fit_with_a_death(client: Any, fit: Callable[[], Any], delay: float) -> Killed:
    """Kill one of our own workers `delay` seconds after the fit began."""
    victim = next(iter(client.run(os.getpid).values()))
    begin, times = time.perf_counter(), []

    def kill() -> None:
        os.kill(victim, signal.SIGKILL)
        times.append(time.perf_counter() - begin)

    timer = threading.Timer(delay, kill)
    timer.start()
    seconds, model = timed(fit)
    timer.join()
    return Killed(model, times[0], seconds)


class Checks:
    """Rows of the table, and whether all of them were kept."""

    def __init__(self) -> None:
        self.table = make_table(["what"], ["figure", "bound"])
        self.all_kept = True

    def add(self, what: str, figure: float, bound: float, remark: str = "over") -> None:
        kept = bool(figure <= bound)
        self.all_kept &= kept
        self.table.add_row(what, f"{figure:.3g}", f"{bound:g}", verdict(kept, remark))

    def note(self, what: str, figure: str) -> None:
        self.table.add_row(what, figure, "", "")


def check_agreement(checks: Checks, reference: Reference, size: Size) -> None:
    """Evaluation, fit, time and a death, on rows that the workers hold."""
    from distributed import wait

    with cluster("auto") as client:
        blocks_per_part = -(-size.n_rows // (N_PARTS * size.block_rows))
        X, y = (own.persist() for own in size.born_there(blocks_per_part))
        wait([X, y])
        labels = y.compute()
        value, gradient = evaluate(engine_of(X, y), labels)
        scale = np.abs(reference.gradient).max()
        checks.add("value, relative", abs(value / reference.value - 1), SAME_EVALUATION)
        difference = np.abs(gradient - reference.gradient).max() / scale
        checks.add("gradient, relative", difference, SAME_EVALUATION)
        runs = [timed(lambda: fitted(X, y)) for _ in range(N_RUNS)]
        seconds, model = min(runs, key=lambda run: run[0])
        checks.add("fitted value, relative", _off(model, reference), SAME_FIT)
        ratio = seconds / reference.seconds
        checks.note("seconds of a fit, two threads here", f"{reference.seconds:.1f}")
        checks.note("seconds of a fit, two workers", f"{seconds:.1f}")
        checks.add("ratio", ratio, MOST_RATIO)
        killed = fit_with_a_death(client, lambda: fitted(X, y), seconds / 2)
        what = f"fitted value, a worker killed after {killed.after:.1f} of {killed.seconds:.1f} s"
        checks.add(what, _off(killed.model, reference), SAME_FIT)
        if not killed.in_the_middle:
            checks.all_kept = False
            checks.note("", "the fit had ended before: nothing is shown")


def check_small_memory(checks: Checks, reference: Reference, size: Size) -> None:
    """Fit the same samples on workers whose memory cannot hold them."""
    with cluster(SMALL_MEMORY):
        X, y = size.born_there(1)
        share = X.nbytes / (N_WORKERS * SMALL_MEMORY)
        seconds, model = timed(lambda: fitted(X, y))
    what = f"fitted value, rows {share:.1f} x the workers' memory, {seconds:.0f} s"
    checks.add(what, _off(model, reference), SAME_FIT)
    if share <= 1:
        checks.all_kept = False
        checks.note("", "they fit: nothing is shown")


def _off(model: OPGDClassifier, reference: Reference) -> float:
    return float(abs(model.log_likelihood_ / reference.log_likelihood - 1))


def run(console: Console, scale: float) -> bool:
    """Print agreement, time, a death and small memory; False if a bound is not kept."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        console.print("\nDask: skipped, the extra 'dask' is not installed.", style="yellow")
        return True
    checks = Checks()
    n_rows = scaled(N_ROWS, scale)
    size = Size(n_rows, min(BLOCK_ROWS, -(-n_rows // (2 * N_PARTS))))
    with OtherWork() as others, no_longer_than(MOST_SECONDS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = here(size)
    console.print(str(others), style="dim")
    for part in (check_agreement, check_small_memory):
        try:
            with no_longer_than(MOST_SECONDS), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                part(checks, reference, size)
        except TimeoutError as error:
            checks.all_kept = False
            checks.note(part.__name__, f"hangs: {error}")
    settings = ", ".join(f"{name}={value}" for name, value in PARAMETERS.items())
    show(
        console,
        f"Dask: {n_rows} x {RECIPE.n_columns}, {RECIPE.n_classes} classes, {N_WORKERS} workers of "
        "one thread",
        checks.table,
        f"OPGDClassifier({settings}) to convergence, all of fit() but not the making of rows, less "
        f"of {N_RUNS} runs; small memory: {SMALL_MEMORY / 1e6:.0f} MB for each worker.",
    )
    return checks.all_kept
