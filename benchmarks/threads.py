"""Two threads against one, per evaluation."""

import os

import numpy as np
from rich.console import Console

from benchmarks.harness import (
    OtherWork,
    fastest,
    make_table,
    one_blas_thread,
    scaled,
    show,
    verdict,
)
from benchmarks.kernel import Shape, make_rows, pose
from opgd.core.engines import RowEngine

SHAPE = Shape(1_000_000, 50, 9, 10)
N_THREADS = [1, 2]
N_RUNS = 25
LEAST_GAIN = 1.6


def measure(shape: Shape) -> dict[str, float]:
    """Seconds of an evaluation by number of threads."""
    rng = np.random.default_rng(0)
    X, labels, means = make_rows(shape, rng)
    directions, center = rng.normal(size=(shape.n_axes, shape.n_columns)), X.mean(axis=0)
    objectives = {
        str(n): pose(RowEngine(X, labels, center=center, n_threads=n), labels, means)
        for n in N_THREADS
    }
    calls = {
        n: lambda own=objective: own.value_and_gradient(directions)
        for n, objective in objectives.items()
    }
    return fastest(calls, N_RUNS)


def run(console: Console, scale: float) -> bool:
    """Print the gain; False if it is below its bound, or there is nothing to gain from."""
    if (os.cpu_count() or 1) < max(N_THREADS):
        console.print(
            f"\nThreads: skipped, this machine has {os.cpu_count()} core.", style="yellow"
        )
        return True
    shape = Shape(scaled(SHAPE.n_rows, scale), SHAPE.n_columns, SHAPE.n_axes, SHAPE.n_classes)
    with one_blas_thread(), OtherWork() as others:
        one, two = measure(shape).values()
    kept = one / two >= LEAST_GAIN
    table = make_table(["shape"], ["one ms", "two ms", "gain", "at least"])
    numbers = [f"{1e3 * one:.1f}", f"{1e3 * two:.1f}", f"{one / two:.2f}", f"{LEAST_GAIN:.1f}"]
    table.add_row(str(shape), *numbers, verdict(kept, "short" if others.idle else "busy"))
    how = f"Least of {N_RUNS} runs, taken in turns. {others}"
    if not kept and not others.idle:
        how += " Nothing is shown either way: run it again when they are done."
    show(console, "Threads: one value and gradient on one thread and on two", table, how)
    return kept
