"""A folder of Parquet files that a fit may not load: memory, time, and the same result."""

import shutil
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from benchmarks.harness import in_fresh_process, make_table, scaled, show, verdict
from benchmarks.larger import STATUS, PeakOwnMemory
from benchmarks.memory import BYTES_PER_MEGABYTE, PeakMemory
from benchmarks.passes import watched
from benchmarks.rows import Recipe
from opgd import OPGDClassifier, open_table
from opgd.core.types import AnyArray, FloatArray

RECIPE = Recipe(n_columns=100, n_classes=5, distance=0.15)
N_BYTES = 4e9
N_FILES = 4
BLOCK_ROWS = 50_000
SPARE_BYTES = 5e9
PARAMETERS: dict[str, Any] = {"n_components": 4, "tol": 1e-3}
MOST_MEGABYTES = 500
MOST_DIFFERENCE = 1e-6
TARGET = "label"


@dataclass(frozen=True)
class Outcome:
    """A fit, and what it took."""

    reading: float  # seconds
    fitting: float  # seconds
    megabytes: float  # of the process, without pages of files, at the peak
    total: float  # with them
    passes: float  # over all rows
    components: FloatArray
    log_likelihood: float


def write_files(folder: Path, n_rows: int) -> float:
    """Seconds of writing rows and labels as Parquet, with the row groups that pyarrow chooses."""
    begin = time.perf_counter()
    names = [f"x{j}" for j in range(RECIPE.n_columns)]
    schema = pa.schema([*((name, pa.float64()) for name in names), (TARGET, pa.string())])
    n_blocks = -(-n_rows // BLOCK_ROWS)
    ends = np.linspace(0, n_blocks, N_FILES + 1).astype(int)
    for k in range(N_FILES):
        with pq.ParquetWriter(
            folder / f"part-{k}.parquet", schema, use_dictionary=[TARGET]
        ) as writer:
            for first in range(ends[k], ends[k + 1], 20):  # row groups of a million rows
                group = [
                    make_batch(number, min(BLOCK_ROWS, n_rows - number * BLOCK_ROWS), schema)
                    for number in range(first, min(first + 20, ends[k + 1]))
                ]
                writer.write_table(pa.Table.from_batches(group, schema))
    return time.perf_counter() - begin


def make_batch(number: int, n_rows: int, schema: Any) -> Any:
    """One block of the recipe, with labels as text."""
    columns = [pa.array(column) for column in RECIPE.rows(number, n_rows).T]
    labels = [f"class {code}" for code in RECIPE.labels(number, n_rows)]
    return pa.record_batch([*columns, pa.array(labels)], schema=schema)


def read_all(folder: Path) -> tuple[AnyArray, AnyArray]:
    """All rows and labels, in memory."""
    files = [pq.ParquetFile(path, pre_buffer=False) for path in sorted(folder.iterdir())]
    n_rows = sum(file.metadata.num_rows for file in files)
    X, y = np.empty((n_rows, RECIPE.n_columns)), np.empty(n_rows, dtype=object)
    first = 0
    for file in files:
        for batch in file.iter_batches(BLOCK_ROWS):
            last = first + batch.num_rows
            for j in range(RECIPE.n_columns):
                X[first:last, j] = batch.column(j).to_numpy()
            y[first:last] = batch.column(RECIPE.n_columns).to_pylist()
            first = last
    return X, y


def fit_files(folder: Path, in_memory: bool) -> Outcome:
    """To be called in a fresh process: its memory is what is measured."""
    model = OPGDClassifier(**PARAMETERS)
    with PeakOwnMemory() as memory, PeakMemory() as total, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        X, y = read_all(folder) if in_memory else open_table(folder, cache=folder).split(TARGET)
        middle = time.perf_counter()
        with watched(len(X)) as reading:
            model.fit(X, y)
        end = time.perf_counter()
    return Outcome(
        middle - begin,
        end - middle,
        memory.peak / BYTES_PER_MEGABYTE,
        total.peak / BYTES_PER_MEGABYTE,
        reading.passes,
        model.components_,
        model.log_likelihood_,
    )


def compare(streamed: Outcome, in_memory: Outcome) -> float:
    """Largest difference of the components, relative to the largest of them, and of the value."""
    scale = np.abs(in_memory.components).max()
    components = float(np.abs(streamed.components - in_memory.components).max() / scale)
    return max(components, abs(streamed.log_likelihood / in_memory.log_likelihood - 1))


def run(console: Console, scale: float) -> bool:
    """Print memory, time and difference of two fits; False if a bound is not kept."""
    if not STATUS.exists():
        console.print("\nFiles: skipped, there is no /proc here.", style="yellow")
        return True
    with tempfile.TemporaryDirectory(prefix="opgd-bench-", dir="/var/tmp") as name:
        folder = Path(name)
        n_rows = scaled(round(N_BYTES / (8 * RECIPE.n_columns)), scale)
        if shutil.disk_usage(folder).free < 2.2 * 8 * RECIPE.n_columns * n_rows + SPARE_BYTES:
            console.print(f"\nFiles: skipped, {name} has no room.", style="yellow")
            return True
        writing = write_files(folder, n_rows)
        gigabytes = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
        outcomes = {
            "open_table": in_fresh_process(fit_files, folder, False),
            "in memory": in_fresh_process(fit_files, folder, True),
        }
    difference = compare(*outcomes.values())
    kept = difference <= MOST_DIFFERENCE and outcomes["open_table"].megabytes <= MOST_MEGABYTES
    table = make_table(
        ["rows"],
        ["read\nin s", "fitted\nin s", "passes", "peak MB", "with pages\nof files", "bound MB"],
    )
    for way, outcome in outcomes.items():
        numbers = [f"{outcome.reading:.0f}", f"{outcome.fitting:.0f}", f"{outcome.passes:.1f}"]
        numbers += [f"{outcome.megabytes:.0f}", f"{outcome.total:.0f}"]
        is_bound = way == "open_table"
        numbers += [str(MOST_MEGABYTES) if is_bound else ""]
        table.add_row(way, *numbers, verdict(kept) if is_bound else "")
    settings = ", ".join(f"{name}={value}" for name, value in PARAMETERS.items())
    how = (
        f"{n_rows} x {RECIPE.n_columns} float64, {RECIPE.n_classes} classes with text labels, in "
        f"{N_FILES} Parquet files of {gigabytes:.2f} GB together, written in {writing:.0f} s. "
        f"OPGDClassifier({settings}) on one thread, each in a fresh process. Passes over all rows, "
        "of the fit. Peak: resident memory of the whole process except for pages of files "
        "(RssAnon + RssShmem). Largest relative difference of components and log-likelihood: "
        f"{difference:.1e} (bound {MOST_DIFFERENCE:g})."
    )
    show(console, "Files larger than memory: open_table", table, how)
    return kept
