"""How much a fit adds to the memory of its process: the rows should never be copied."""

import threading
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil
from rich.console import Console

from benchmarks.harness import in_fresh_process, make_table, one_blas_thread, show, verdict
from opgd import OPGDClassifier

SAMPLING_SECONDS = 0.005
BYTES_PER_MEGABYTE = 1e6


@dataclass(frozen=True)
class Case:
    """A fit, and the megabytes by which it may grow."""

    n_rows: int
    n_columns: int
    n_classes: int
    bound: float
    parameters: dict[str, Any]

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.n_rows} x {self.n_columns}, {self.n_classes} classes, {settings}"


CASES = [
    Case(1_000_000, 50, 10, 150, {"n_components": 9, "max_iter": 20}),
    Case(200, 2_000, 3, 100, {"n_components": 2}),
    Case(100, 20_000, 3, 200, {"n_components": 2}),
]
"""Many rows, which must not be copied; many columns, whose covariances must not be made (those of
20 000 columns would take 3 200 MB each)."""


class PeakMemory:
    """Resident memory of this process, watched by a thread while a block of code runs."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._done = threading.Event()
        self._sampler = threading.Thread(target=self._watch, daemon=True)
        self.before = self.peak = 0

    def _sample(self) -> int:
        return int(self._process.memory_info().rss)

    def _watch(self) -> None:
        while not self._done.wait(SAMPLING_SECONDS):
            self.peak = max(self.peak, self._sample())

    def __enter__(self) -> "PeakMemory":
        self.before = self.peak = self._sample()
        self._sampler.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._sampler.join()
        self.peak = max(self.peak, self._sample())

    @property
    def growth(self) -> float:
        """Megabytes by which memory grew at its peak."""
        return (self.peak - self.before) / BYTES_PER_MEGABYTE


def measure(case: Case) -> tuple[float, float, float]:
    """Megabytes of the rows, megabytes by which a fit grows beyond them, and its seconds.

    To be called in a fresh process: memory that an earlier task freed but the allocator kept would
    hide growth.
    """
    rng = np.random.default_rng(0)
    X = np.empty((case.n_rows, case.n_columns))
    rng.standard_normal(out=X)  # in place, so that no freed temporary is left to grow into
    y = rng.integers(0, case.n_classes, case.n_rows)
    for own, mean in enumerate(rng.normal(size=(case.n_classes, case.n_columns))):
        np.add(X, mean, out=X, where=(y == own)[:, None])
    model = OPGDClassifier(**case.parameters)
    with one_blas_thread(), warnings.catch_warnings(), PeakMemory() as memory:
        warnings.simplefilter("ignore")  # twenty iterations are not meant to converge
        begin = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - begin
    return X.nbytes / BYTES_PER_MEGABYTE, memory.growth, seconds


def run(console: Console) -> bool:
    """Print the growth; False if one is over its bound."""
    table = make_table(["fit"], ["seconds", "rows MB", "growth MB", "bound MB"])
    all_kept = True
    for case in CASES:
        rows, growth, seconds = in_fresh_process(measure, case)
        kept = growth <= case.bound
        all_kept &= kept
        numbers = [f"{seconds:.1f}", f"{rows:.0f}", f"{growth:.1f}", f"{case.bound:.0f}"]
        table.add_row(str(case), *numbers, verdict(kept))
    show(
        console,
        "Memory: growth of resident memory during a fit",
        table,
        f"Peak, sampled every {1e3 * SAMPLING_SECONDS:.0f} ms in a fresh process.",
    )
    return all_kept
