"""CPU seconds of a selection by OPGDClassifierCV beside those of a grid of an SVC."""

import time
import warnings
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from benchmarks.data import load
from benchmarks.harness import make_table, one_blas_thread, show, verdict
from benchmarks.selection import SearchedSVC, make_svc_grid
from opgd import OPGDClassifierCV
from opgd.core.types import AnyArray, FloatArray

SPEED_TABLES = [
    "more/breast_tissue",
    "iris",
    "wine",
    "seeds",
    "glass",
    "forest",
    "breast cancer",
    "vowel",
    "image_seg",
    "opt_digits",
]
MAX_SECONDS, MAX_RATIO, MAX_LARGE_RATIO = 2.0, 1.0, 0.5
N_RUNS = 3


def cpu_seconds(model: Any, X: FloatArray, y: AnyArray) -> float:
    """Return the CPU seconds of a fit."""
    begin = time.process_time()
    model.fit(X, y)
    return time.process_time() - begin


def make_large_table(n_rows: int = 20_000, true_number: int = 4) -> tuple[FloatArray, AnyArray]:
    """Draw 26 classes of several Gaussians each, in 16 dimensions."""
    rng = np.random.default_rng(0)
    centers = 3.0 * rng.normal(size=(26, true_number, 16))
    y = rng.integers(0, 26, n_rows)
    mixing = rng.normal(size=(16, 16))
    X = centers[y, rng.integers(0, true_number, n_rows)] + 1.5 * rng.normal(size=(n_rows, 16))
    return X @ mixing, y


def show_speed(console: Console) -> bool:
    """CPU seconds of the default selection beside the grid of an SVC on the same rows."""
    table = make_table(["data set"], ["rows", "opgd, s", "SVC grid, s", "ratio"])
    kept = True
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in SPEED_TABLES:
            data = load(name)
            seconds: dict[str, list[float]] = {"opgd": [], "svc": []}
            for _ in range(N_RUNS):
                seconds["opgd"].append(cpu_seconds(OPGDClassifierCV(), data.X, data.y))
                seconds["svc"].append(cpu_seconds(SearchedSVC(), data.X, data.y))
            ours, theirs = min(seconds["opgd"]), min(seconds["svc"])
            fast = ours <= max(MAX_SECONDS, MAX_RATIO * theirs)
            kept &= fast
            numbers = [f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}"]
            table.add_row(name, str(len(data.X)), *numbers, verdict(fast))
        kept &= _show_large(table)
    show(
        console,
        "CPU seconds of a selection",
        table,
        f"Minimum of {N_RUNS} interleaved runs, one thread. Bound: {MAX_SECONDS:g} s or the grid "
        f"of 5 x 5 with 5 folds, refit included; simulated: {MAX_LARGE_RATIO:g} of the grid, and "
        "the number of Gaussians within a factor of two of the truth (one run; the grid is stopped "
        "when the bound is reached).",
    )
    return kept


def seconds_of_grid(X: FloatArray, y: AnyArray, most: float) -> float:
    """Return the CPU seconds of the SVC's grid, which is stopped after `most` seconds."""
    begin = time.process_time()
    pipeline, grid = make_svc_grid(X.shape[1])
    for train, test in StratifiedKFold(5).split(X, y):
        for parameters in ParameterGrid(grid):
            pipeline.set_params(**parameters).fit(X[train], y[train]).score(X[test], y[test])
            if time.process_time() - begin > most:
                return time.process_time() - begin
    return time.process_time() - begin


def _show_large(table: Any) -> bool:
    X, y = make_large_table()
    model = OPGDClassifierCV()
    ours = cpu_seconds(model, X, y)
    theirs = seconds_of_grid(X, y, ours / MAX_LARGE_RATIO)
    number = len(model.gaussian_classes_) / 26
    kept = ours <= MAX_LARGE_RATIO * theirs and 2 <= number <= 8
    table.add_row(
        f"simulated, 26 classes of 4 Gaussians ({number:.1f} found)",
        str(len(X)),
        f"{ours:.1f}",
        f"> {theirs:.1f}",
        f"< {ours / theirs:.2f}",
        verdict(bool(kept)),
    )
    return bool(kept)
