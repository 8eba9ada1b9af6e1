"""Running the cells of an experiment that are not finished, on several processes."""

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
    """What to compute: a function of the data set's name, the replication and the method."""

    key: Key
    compute: Callable[[str, int, str], dict[str, Any]]


def run_cells(cells: list[Cell], store: Store, n_jobs: int, console: Console) -> None:
    """Compute what is missing; every result is on disk before the next one begins."""
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
            delayed(_computed)(cell) for cell in missing
        )
        for key, values in results:
            store.add(key, values)
            bar.update(task, advance=1)


def _computed(cell: Cell) -> tuple[Key, dict[str, Any]]:
    """One cell in a process of its own, with its warnings silenced and BLAS on one thread."""
    start = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore")
        key = cell.key
        values = cell.compute(key.data, key.replication, key.method)
    return key, {**values, "seconds": round(time.perf_counter() - start, 3)}
