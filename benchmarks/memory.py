"""How much a fit adds to the memory of its process: the rows should never be copied."""

import multiprocessing
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import psutil
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import make_table, one_blas_thread, show, verdict
from opgd import OPGDClassifier

N_ROWS, N_COLUMNS, N_CLASSES = 1_000_000, 50, 10
N_AXES, MAX_ITER = 9, 20
MAX_GROWTH = 150.0
SAMPLING_SECONDS = 0.005
BYTES_PER_MEGABYTE = 1e6


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


def measure_growth() -> tuple[float, float]:
    """Megabytes of the rows themselves, and by which memory grows during a fit on them.

    To be called in a fresh process: memory that an earlier task freed but the allocator kept would
    hide growth.
    """
    rng = np.random.default_rng(0)
    X = np.empty((N_ROWS, N_COLUMNS))
    rng.standard_normal(out=X)  # in place, so that no freed temporary is left to grow into
    y = rng.integers(0, N_CLASSES, N_ROWS)
    for own, mean in enumerate(rng.normal(size=(N_CLASSES, N_COLUMNS))):
        np.add(X, mean, out=X, where=(y == own)[:, None])
    model = OPGDClassifier(n_components=N_AXES, max_iter=MAX_ITER)
    with one_blas_thread(), warnings.catch_warnings(), PeakMemory() as memory:
        warnings.simplefilter("ignore", ConvergenceWarning)  # twenty iterations are not meant to
        model.fit(X, y)
    return X.nbytes / BYTES_PER_MEGABYTE, memory.growth


def run(console: Console) -> bool:
    """Print the growth; False if it is over its bound."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        rows, growth = fresh.submit(measure_growth).result()
    kept = growth <= MAX_GROWTH
    table = make_table(["fit"], ["rows MB", "growth MB", "bound MB"])
    fit = f"{N_ROWS} x {N_COLUMNS}, {N_AXES} axes, {N_CLASSES} classes, max_iter={MAX_ITER}"
    table.add_row(fit, f"{rows:.0f}", f"{growth:.1f}", f"{MAX_GROWTH:.0f}", verdict(kept))
    show(
        console,
        "Memory: growth of resident memory during a fit",
        table,
        f"Peak, sampled every {1e3 * SAMPLING_SECONDS:.0f} ms in a fresh process.",
    )
    return kept
