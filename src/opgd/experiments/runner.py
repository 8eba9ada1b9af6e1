"""Run the unfinished cells of an experiment in parallel processes."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from opgd.experiments.store import Key, Store


@dataclass(frozen=True)
class Cell:
    """A unit of work: a function of data set, replication and method, and its key."""

    key: Key
    compute: Callable[[str, int, str], dict[str, Any]]


def run_cells(cells: list[Cell], store: Store, n_jobs: int, console: Console) -> None:
    """Compute the unfinished cells and store each result as soon as it is available."""
    store.drop_cut_line()
    finished = store.finished()
    missing = [cell for cell in cells if cell.key not in finished]
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=console) as bar:
        name = cells[0].key.experiment if cells else "nothing to do"
        task = bar.add_task(name, total=len(cells), completed=len(cells) - len(missing))
        results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
            delayed(_compute_cell)(cell) for cell in missing
        )
        for key, values in results:
            store.add(key, values)
            bar.update(task, advance=1)


def _compute_cell(cell: Cell) -> tuple[Key, dict[str, Any]]:
    """Compute a cell without warnings, with BLAS on one thread; return its key and values."""
    start = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore")
        key = cell.key
        values = cell.compute(key.data, key.replication, key.method)
    return key, {**values, "seconds": round(time.perf_counter() - start, 3)}
