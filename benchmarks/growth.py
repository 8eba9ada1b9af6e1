"""Time of an evaluation against rows, columns, classes and axes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.data import Recipe
from benchmarks.harness import fastest, make_table, one_blas_thread, scaled, show, verdict
from benchmarks.kernel import Shape, pose
from opgd.core.engines import RowEngine
from opgd.core.types import AnyArray, IntArray

N_RUNS = 5
BLOCK_ROWS = 100_000
FOLDER = Path("build/benchmarks")
MOST_GROWTH = 1.3
"""Of time per operation: the largest size against the smaller ones."""
EXP_OPERATIONS = 20
"""Additions or multiplications for which an exponential, and what goes with it, counts."""


def operations(shape: Shape) -> float:
    """Per row: two products with the columns, three with the features of scores, exponentials."""
    p, q, K = shape.n_columns, shape.n_axes, shape.n_classes
    return 4 * p * q + 6 * K * (2 * q + 1) + EXP_OPERATIONS * K


@dataclass(frozen=True)
class Case:
    """One size that grows while the others stay as they are."""

    letter: str
    name: str  # of the size in Shape
    sizes: list[int]
    base: Shape
    since: int = 0
    """Growth counts from here; the other sizes are context. 0: from the median of all others."""

    def shapes(self, scale: float) -> list[Shape]:
        """All of them, with rows times `scale`."""
        grown = [replace(self.base, **{self.name: size}) for size in self.sizes]
        return [replace(own, n_rows=scaled(own.n_rows, scale)) for own in grown]


BASE = Shape(100_000, 50, 9, 10)
CASES = [
    Case(
        "n",
        "n_rows",
        [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000],
        Shape(1, 20, 3, 4),
        since=1_000_000,
    ),
    Case("p", "n_columns", [10, 20, 50, 100, 200, 400], BASE),
    Case("K", "n_classes", [2, 5, 10, 20, 50, 100], BASE),
    Case("q", "n_axes", [1, 2, 5, 10, 20, 40], BASE),
]


def evaluation(shape: Shape, X: AnyArray, labels: IntArray) -> Callable[[], object]:
    """One value and gradient on one thread."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(shape.n_classes, shape.n_columns))
    objective = pose(RowEngine(X, labels), labels, means)
    directions = rng.normal(size=(shape.n_axes, shape.n_columns))
    return lambda: objective.value_and_gradient(directions)


def measure(shapes: list[Shape]) -> list[float]:
    """Seconds of an evaluation; shapes that differ in rows alone share them."""
    if len({shape.n_rows for shape in shapes}) == len(shapes):
        X, labels = made(shapes[-1])
        calls = [evaluation(own, X[: own.n_rows], labels[: own.n_rows]) for own in shapes]
        return timed(calls)
    return timed([evaluation(own, *made(own)) for own in shapes])


def made(shape: Shape) -> tuple[AnyArray, IntArray]:
    """Rows and labels of a shape."""
    return Recipe(shape.n_columns, shape.n_classes).made(shape.n_rows, BLOCK_ROWS)


def timed(calls: Iterable[Callable[[], object]]) -> list[float]:
    return list(fastest({str(i): call for i, call in enumerate(calls)}, N_RUNS).values())


def cost_growth(case: Case, costs: list[float]) -> float:
    """Cost at the largest size, against that at `since` or the median of all smaller ones."""
    if case.since:
        return costs[-1] / costs[case.sizes.index(case.since)]
    return float(costs[-1] / np.median(costs[:-1]))


def show_case(console: Console, case: Case, shapes: list[Shape], seconds: list[float]) -> bool:
    """Times and times per operation; False if these grow by more than the bound."""
    table = make_table(
        [case.letter], ["ms", "ns per row", "operations\nper row", "ps per\noperation", "bound"]
    )
    costs = []
    for shape, own in zip(shapes, seconds, strict=True):
        per_row, count = own / shape.n_rows, operations(shape)
        costs.append(per_row / count)
        numbers = [f"{1e3 * own:.2f}", f"{1e9 * per_row:.1f}", f"{count:.0f}"]
        table.add_row(str(getattr(shape, case.name)), *numbers, f"{1e12 * costs[-1]:.1f}")
    growth = cost_growth(case, costs)
    kept = growth <= MOST_GROWTH
    table.add_row("growth", "", "", "", f"{growth:.2f}", f"{MOST_GROWTH:.1f}", verdict(kept))
    against = f"the size {case.since}" if case.since else "the median of the others"
    how = (
        f"Growth: time per operation at the largest size against {against}. "
        f"Least of {N_RUNS} runs, taken in turns, one thread."
    )
    show(console, f"Growth with {case.letter} ({_others(case, shapes[0])})", table, how)
    return kept


def _others(case: Case, shape: Shape) -> str:
    names = {"n_rows": "rows", "n_columns": "columns", "n_axes": "axes", "n_classes": "classes"}
    return ", ".join(f"{getattr(shape, k)} {v}" for k, v in names.items() if k != case.name)


def draw(results: list[tuple[Case, list[Shape], list[float]]], folder: Path) -> Path:
    """Time against each size, beside the operation count, into one picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, axes = plt.subplots(1, len(results), figsize=(4 * len(results), 3.6), layout="tight")
    for ax, (case, shapes, seconds) in zip(np.ravel(axes), results, strict=True):
        sizes = [getattr(shape, case.name) for shape in shapes]
        counts = np.array([shape.n_rows * operations(shape) for shape in shapes])
        ax.loglog(sizes, 1e3 * np.array(seconds), "o-", label="measured")
        ax.loglog(sizes, 1e3 * seconds[0] * counts / counts[0], "--", label="operation count")
        ax.set(xlabel=case.letter, title=_others(case, shapes[0]))
        ax.title.set_fontsize(9)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5) if axis is ax.yaxis else (1,)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(NullFormatter())
    np.ravel(axes)[0].set_ylabel("ms per evaluation")
    np.ravel(axes)[0].legend()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "growth.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def run(console: Console, scale: float) -> bool:
    """Print and draw all cases; False if one grows faster than its operations."""
    all_kept, results = True, []
    with one_blas_thread():
        for case in CASES:
            shapes = case.shapes(scale)
            seconds = measure(shapes)
            results.append((case, shapes, seconds))
            all_kept &= show_case(console, case, shapes, seconds)
    console.print(
        f"Operations per row: 4 p q + 6 K (2 q + 1) + {EXP_OPERATIONS} K. "
        f"Plots: {draw(results, FOLDER)}",
        style="dim",
    )
    return all_kept
