"""Rows on disk, several times what a fit may hold in memory."""

import shutil
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.harness import in_fresh_process, make_table, scaled, show, verdict
from benchmarks.memory import BYTES_PER_MEGABYTE, PeakMemory
from benchmarks.rows import Recipe
from opgd import OPGDClassifier

STATUS = Path("/proc/self/status")
RECIPE = Recipe(n_columns=100, n_classes=5, dtype=np.float32, distance=0.15)
N_BYTES = 12e9
SPARE_BYTES = 5e9
"""Of the disk, not to be touched."""
BLOCK_ROWS = 50_000
PARAMETERS: dict[str, Any] = {"n_components": 4, "tol": 1e-3, "n_jobs": 2}
MOST_MEGABYTES = 1500


class PeakOwnMemory(PeakMemory):
    """Resident memory without pages of files, which the system takes back whenever it likes."""

    def _sample(self) -> int:
        lines = dict(line.split(":", 1) for line in STATUS.read_text(encoding="utf-8").splitlines())
        kilobytes = [int(lines[name].split()[0]) for name in ("RssAnon", "RssShmem")]
        return 1024 * sum(kilobytes)


@dataclass(frozen=True)
class Outcome:
    """A fit of rows on disk."""

    seconds: float
    megabytes: float  # of the whole process, at the peak
    n_evaluations: int
    converged: bool
    log_likelihood: float


def fit_on_disk(folder: Path, n_rows: int) -> Outcome:
    """To be called in a fresh process: its memory is what is measured."""
    X = np.memmap(folder / "X", np.float32, mode="r", shape=(n_rows, RECIPE.n_columns))
    y = np.memmap(folder / "y", np.int8, mode="r", shape=(n_rows,))
    model = OPGDClassifier(**PARAMETERS)
    with PeakOwnMemory() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - begin
    return Outcome(
        seconds,
        memory.peak / BYTES_PER_MEGABYTE,
        model.n_evaluations_,
        model.converged_,
        model.log_likelihood_ / n_rows,
    )


def rows_that_fit(folder: Path, scale: float) -> int:
    """Rows of the size wanted, or as many as the disk has room for."""
    room = shutil.disk_usage(folder).free - SPARE_BYTES
    bytes_per_row = RECIPE.n_columns * np.dtype(RECIPE.dtype).itemsize + 1
    return min(scaled(round(N_BYTES / bytes_per_row), scale), int(room // bytes_per_row))


def write_rows(folder: Path, n_rows: int) -> float:
    """Seconds of writing rows and labels, block by block."""
    begin = time.perf_counter()
    X = np.memmap(folder / "X", np.float32, mode="w+", shape=(n_rows, RECIPE.n_columns))
    y = np.memmap(folder / "y", np.int8, mode="w+", shape=(n_rows,))
    RECIPE.fill(X, y, BLOCK_ROWS)
    X.flush()
    y.flush()
    return time.perf_counter() - begin


def run(console: Console, scale: float) -> bool:
    """Print size, memory and time of the fit; False if memory is over its bound."""
    if not STATUS.exists():
        console.print("\nLarger than memory: skipped, there is no /proc here.", style="yellow")
        return True
    with tempfile.TemporaryDirectory(prefix="opgd-bench-") as name:
        folder = Path(name)
        n_rows = rows_that_fit(folder, scale)
        if n_rows < BLOCK_ROWS:
            console.print(f"\nLarger than memory: skipped, {name} has no room.", style="yellow")
            return True
        writing = write_rows(folder, n_rows)
        outcome = in_fresh_process(fit_on_disk, folder, n_rows)
        gigabytes = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
    kept = outcome.megabytes <= MOST_MEGABYTES and outcome.converged
    table = make_table(
        ["float32 memory map"],
        ["GB", "written\nin s", "fitted\nin s", "evaluations", "objective", "peak MB", "bound MB"],
    )
    size = f"{n_rows} x {RECIPE.n_columns}, {RECIPE.n_classes} classes"
    numbers = [f"{gigabytes:.2f}", f"{writing:.0f}", f"{outcome.seconds:.0f}"]
    numbers += [str(outcome.n_evaluations), f"{outcome.log_likelihood:.5f}"]
    numbers += [f"{outcome.megabytes:.0f}", str(MOST_MEGABYTES)]
    table.add_row(size, *numbers, verdict(kept, "over" if outcome.converged else "not converged"))
    settings = ", ".join(f"{name}={value}" for name, value in PARAMETERS.items())
    how = (
        f"OPGDClassifier({settings}) in a fresh process; evaluations on samples included. Peak: "
        "resident memory of the whole process but for pages of files (RssAnon + RssShmem)."
    )
    if scale == 1 and gigabytes < 0.99 * N_BYTES / 1e9:
        how += f" Smaller than {N_BYTES / 1e9:.0f} GB, for want of disk."
    show(console, "Larger than memory: a fit of rows on disk", table, how)
    return kept
