"""Selection of a model on a Dask cluster, and how evaluations scale with the workers."""

import heapq
import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.cluster import (
    Checks,
    Size,
    cluster,
    engine_of,
    fit_with_a_death,
    no_longer_than,
    timed,
)
from benchmarks.harness import OtherWork, make_table, scaled, show
from benchmarks.kernel import pose
from benchmarks.rows import Recipe
from opgd import OPGDClassifierCV
from opgd.core.engines import Engine, RowBlock
from opgd.core.types import FloatArray

RECIPE = Recipe(n_columns=20, n_classes=4, distance=0.3)
N_ROWS, N_PARTS = 200_000, 8
SETTINGS: dict[str, Any] = {
    "n_components": 3,
    "shrinkage": (0, 0.1, 0.5),
    "ridge": 0.05,
    "n_subclasses": 1,
    "covariance_type": "diag",
    "cv": 0.2,
    "random_state": 0,
}
SAME = 1e-6
MOST_SECONDS = 3600
SCALING_ROWS, SCALING_PARTS = 2_000_000, 16
N_EVALUATIONS = 5
EMPTY_PARTS = 64
"""Parts of almost no rows, whose evaluation is all scheduling."""
SIMULATED = (1, 2, 4, 8, 16, 32, 64)
PLAN_ROWS, PLAN_COLUMNS, PLAN_WORKERS = 50_000_000, 40, 32
PLAN_PARTS_PER_WORKER = 4
PLAN_CLASSES, PLAN_COMPONENTS = 5, 4
HELD_OUT_SHARE = 0.2


@dataclass
class Timed:
    """Sums of a block with the seconds of the processor that it took."""

    sums: Any
    seconds: list[float]

    def __add__(self, other: "Timed") -> "Timed":
        return Timed(self.sums + other.sums, self.seconds + other.seconds)


@dataclass
class TimedFunction:
    """A function of blocks with its seconds, which other processes do not lengthen."""

    function: Callable[[RowBlock], Any]

    def __call__(self, block: RowBlock) -> Timed:
        begin = time.thread_time()
        sums = self.function(block)
        return Timed(sums, [time.thread_time() - begin])


class Stopwatch:
    """An engine that keeps the seconds of all blocks, and what was sent and returned."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.total_weight = engine, engine.total_weight
        self.seconds: list[float] = []
        self.n_sent = self.n_returned = 0

    def sum(self, function: Callable[[RowBlock], Any], width: int = 0) -> Any:
        import cloudpickle  # type: ignore[import-untyped]

        total = self.engine.sum(TimedFunction(function), width)
        self.seconds = total.seconds
        self.n_sent = len(cloudpickle.dumps(function))
        self.n_returned = len(pickle.dumps(total.sums))
        return total.sums


def differ(there: OPGDClassifierCV, here: OPGDClassifierCV) -> float:
    """Largest difference of all results of a selection, infinite if another model was selected."""
    if there.best_params_ != here.best_params_:
        return float("inf")
    columns = [
        name for name, values in here.cv_results_.items() if np.asarray(values).dtype.kind == "f"
    ]
    differences = [
        np.nan_to_num(np.abs(there.cv_results_[name] - here.cv_results_[name])).max()
        for name in columns
    ]
    relative = [
        abs(getattr(there, name) / getattr(here, name) - 1)
        for name in ("temperature_", "background_", "corrected_error_", "log_likelihood_")
    ]
    return float(max(*differences, *relative))


def check_selection(checks: Checks, n_rows: int) -> None:
    """Compare selections of rows in memory, on two workers, and while one is killed."""
    from distributed import wait

    size = Size(n_rows, -(-n_rows // N_PARTS), RECIPE)
    X, y = RECIPE.made(size.n_rows, size.block_rows)
    seconds, here = timed(lambda: OPGDClassifierCV(**SETTINGS).fit(X, y))
    checks.note("seconds of a selection in memory", f"{seconds:.1f}")
    with cluster("auto") as client:
        lazy_X, lazy_y = (own.persist() for own in size.born_there(1))
        wait([lazy_X, lazy_y])

        def fit() -> OPGDClassifierCV:
            return OPGDClassifierCV(**SETTINGS).fit(lazy_X, lazy_y)

        seconds, there = timed(fit)
        checks.note("seconds of a selection, two workers", f"{seconds:.1f}")
        checks.add("largest difference of all results", differ(there, here), SAME)
        killed = fit_with_a_death(client, fit, seconds / 2)
        what = f"the same, a worker killed after {killed.after:.1f} of {killed.seconds:.1f} s"
        checks.add(what, differ(killed.model, here), SAME)
        if not killed.in_the_middle:
            checks.all_kept = False
            checks.note("", "the selection had ended before: nothing is shown")
    checks.note("models compared", str(len(here.cv_results_["params"])))


@dataclass(frozen=True)
class Evaluations:
    """Evaluations of value and gradient on a cluster."""

    seconds: float  # least of one, by the clock
    own_seconds: float  # least of the processor in this process, which has the scheduler
    tasks: FloatArray  # seconds of the processor for each part, (n_parts,)
    n_sent: int  # bytes of the function
    n_returned: int  # bytes of the sums


def measure_evaluations(n_workers: int, n_rows: int, n_parts: int) -> Evaluations:
    """Measure evaluations of rows that the workers hold."""
    from distributed import wait

    size = Size(n_rows, -(-n_rows // n_parts), RECIPE)
    with cluster("auto", n_workers):
        X, y = (own.persist() for own in size.born_there(1))
        wait([X, y])
        watch = Stopwatch(engine_of(X, y))
        objective = pose(watch.engine, RECIPE.made_labels(n_rows, size.block_rows), RECIPE.means)
        objective = replace(objective, engine=watch)  # type: ignore[arg-type]
        at = np.random.default_rng(4).normal(size=(SETTINGS["n_components"], RECIPE.n_columns))
        least, least_own, tasks = np.inf, np.inf, []
        for _ in range(N_EVALUATIONS):
            begin = time.process_time()
            seconds, _ = timed(lambda: objective.value_and_gradient(at))
            least, least_own = min(least, seconds), min(least_own, time.process_time() - begin)
            tasks.append(np.array(watch.seconds).reshape(n_parts, -1).sum(axis=1))
    return Evaluations(least, least_own, np.min(tasks, axis=0), watch.n_sent, watch.n_returned)


def simulate(tasks: FloatArray, n_workers: int, dispatch: float) -> float:
    """Seconds of an evaluation whose tasks are sent one after the other to workers that are free.

    `dispatch` are the seconds of the scheduler for each task, its result included.
    """
    free = [0.0] * n_workers
    for number, seconds in enumerate(tasks):
        begin = max((number + 1) * dispatch, heapq.heappop(free))
        heapq.heappush(free, begin + seconds)
    return max(free)


def show_scaling(console: Console, n_rows: int) -> tuple[float, float]:
    """Print seconds of an evaluation by number of workers; return those per row and task."""
    with OtherWork() as others:
        measured = {n: measure_evaluations(n, n_rows, SCALING_PARTS) for n in (1, 2)}
        empty = measure_evaluations(2, EMPTY_PARTS * 10, EMPTY_PARTS)
    dispatch = empty.own_seconds / EMPTY_PARTS
    tasks = np.minimum(measured[1].tasks, measured[2].tasks)
    table = make_table(["workers"], ["seconds, measured", "simulated", "speedup", "of ideal"])
    whole = simulate(tasks, 1, dispatch)
    for n_workers in SIMULATED:
        seconds = simulate(tasks, n_workers, dispatch)
        found = f"{measured[n_workers].seconds:.3f}" if n_workers in measured else ""
        speedup = whole / seconds
        row = [str(n_workers), found, f"{seconds:.3f}", f"{speedup:.2f}"]
        table.add_row(*row, f"{speedup / min(n_workers, SCALING_PARTS):.0%}")
    console.print(str(others), style="dim")
    show(
        console,
        f"Dask: value and gradient of {n_rows} x {RECIPE.n_columns} in {SCALING_PARTS} parts",
        table,
        f"Measured: least of {N_EVALUATIONS} by the clock. Simulated: tasks of "
        f"{tasks.mean() * 1e3:.1f} ms of the processor (least of {N_EVALUATIONS} for each part) "
        f"on workers with a core each, {dispatch * 1e3:.2f} ms of client and scheduler per task "
        f"(of the processor, from {EMPTY_PARTS} parts of 10 rows). "
        f"An evaluation sends {measured[1].n_sent / 1e3:.1f} kB to each worker, and "
        f"{measured[1].n_returned / 1e3:.1f} kB return from each part.",
    )
    return float(tasks.sum() / n_rows), dispatch


def show_plan(console: Console, seconds_per_row: float, dispatch: float) -> None:
    """Print what travels and what is kept in a fit that is too large for this machine."""
    n, p, k, q = PLAN_ROWS, PLAN_COLUMNS, PLAN_CLASSES, PLAN_COMPONENTS
    n_parts = PLAN_WORKERS * PLAN_PARTS_PER_WORKER
    # operations per row: see the definitions in the page on benchmarks
    operations = [
        4 * columns * components + 6 * classes * (2 * components + 1) + 20 * classes
        for columns, classes, components in (
            (RECIPE.n_columns, RECIPE.n_classes, SETTINGS["n_components"]),
            (p, k, q),
        )
    ]
    per_row = seconds_per_row * operations[1] / operations[0]
    tasks = np.full(n_parts, per_row * n / n_parts)
    pass_seconds = simulate(tasks, PLAN_WORKERS, dispatch)
    n_sums = 8 * (1 + q * p + k * (2 * q + 1))  # value, slopes of rows, statistics of Gaussians
    moments = 8 * k * (1 + p + p * p)
    n_test = round(HELD_OUT_SHARE * n)
    table = make_table(["what"], ["figure"])
    lines = [
        ("rows kept on the workers, float32", f"{4 * n * p / 1e9:.1f} GB"),
        ("for each worker", f"{4 * n * p / PLAN_WORKERS / 1e6:.0f} MB"),
        (
            "training and held-out rows of a validation share beside them",
            f"{4 * n * p / 1e9:.1f} GB",
        ),
        ("parts", f"{n_parts} of {n // n_parts} rows, {4 * p * n / n_parts / 1e6:.0f} MB"),
        ("sums that a part returns in an evaluation", f"{n_sums / 1e3:.1f} kB"),
        ("sums of all parts in an evaluation", f"{n_parts * n_sums / 1e6:.2f} MB"),
        ("moments that a part returns, once per fit", f"{moments / 1e3:.0f} kB"),
        ("an evaluation", f"{pass_seconds:.2f} s"),
        ("of which the scheduler", f"{n_parts * dispatch:.2f} s"),
        ("on one worker", f"{simulate(tasks, 1, dispatch):.0f} s"),
        ("labels collected for the splits of a selection, once", f"{n / 1e6:.0f} MB"),
        ("positions of the splits in this process", f"{8 * n / 1e6:.0f} MB"),
        ("selections of rows and labels sent back, once per split", f"{3 * n / 1e6:.0f} MB"),
        ("misclassified rows that return for each model", f"{n_test / 1e6:.0f} MB"),
        ("log joints collected for the calibration, once", f"{8 * k} MB"),
    ]
    for line in lines:
        table.add_row(*line)
    show(
        console,
        f"On paper: {n} x {p}, {k} classes, {q} components on {PLAN_WORKERS} workers",
        table,
        "Seconds from those per row and task above, by the number of operations per row.",
    )


def run(console: Console, scale: float) -> bool:
    """Print agreement and a death, scaling, and a plan; False if a bound is not kept."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        console.print('\nDask: skipped, not installed (pip install "opgd[dask]").', style="yellow")
        return True
    checks, n_rows = Checks(), scaled(N_ROWS, scale)
    try:
        with no_longer_than(MOST_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_selection(checks, n_rows)
    except TimeoutError as error:
        checks.all_kept = False
        checks.note("selection", f"hangs: {error}")
    settings = ", ".join(f"{name}={value}" for name, value in SETTINGS.items())
    show(
        console,
        f"Dask: {n_rows} x {RECIPE.n_columns}, {RECIPE.n_classes} classes, two workers",
        checks.table,
        f"OPGDClassifierCV({settings}). Results: scores, errors and log-losses of all models "
        "(absolute); temperature, background, corrected error and log-likelihood (relative).",
    )
    with no_longer_than(MOST_SECONDS):
        show_plan(console, *show_scaling(console, scaled(SCALING_ROWS, scale)))
    return checks.all_kept
