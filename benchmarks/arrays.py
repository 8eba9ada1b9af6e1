"""Predictions for PyTorch tensors beside those for NumPy arrays."""

import os
import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import sklearn
from rich.console import Console

from benchmarks.harness import in_fresh_process, make_table, one_blas_thread, scaled, show, verdict
from opgd import OPGDClassifier

N_ROWS, N_FEATURES, N_CLASSES, N_COMPONENTS = 1_000_000, 50, 5, 4
METHODS = ("predict_proba", "predict", "transform", "typicality")
N_RUNS = 5
MAX_RATIO = 1.5


def run(console: Console, scale: float) -> bool:
    """CPU seconds of predictions by library, in a process with SciPy's array API."""
    if find_spec("torch") is None:
        console.print("PyTorch is not installed; the section is skipped.")
        return True
    os.environ["SCIPY_ARRAY_API"] = "1"
    try:
        rows = in_fresh_process(_measure, scaled(N_ROWS, scale))
    finally:
        del os.environ["SCIPY_ARRAY_API"]
    table = make_table(["method"], ["NumPy, s", "PyTorch, s", "ratio", "difference"])
    kept = True
    for name, (of_numpy, of_torch, difference) in rows.items():
        ratio = of_torch / of_numpy
        kept &= ratio <= MAX_RATIO
        table.add_row(
            name,
            f"{of_numpy:.2f}",
            f"{of_torch:.2f}",
            f"{ratio:.2f}",
            f"{difference:.0e}",
            verdict(ratio <= MAX_RATIO),
        )
    show(
        console,
        "Predictions for tensors",
        table,
        f"{scaled(N_ROWS, scale)} x {N_FEATURES}, {N_CLASSES} classes, {N_COMPONENTS} components, "
        f"one thread, minimum of {N_RUNS} interleaved runs. Bound: {MAX_RATIO:g} times NumPy's.",
    )
    return kept


def _measure(n_rows: int) -> dict[str, tuple[float, float, float]]:
    """CPU seconds with arrays and with tensors, and the largest difference, by method."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, 20_000)
    X = rng.standard_normal((len(y), N_FEATURES))
    X[:, :N_COMPONENTS] += y[:, None]
    samples = rng.standard_normal((n_rows, N_FEATURES))
    tensors, results = torch.asarray(samples), {}
    with one_blas_thread(), sklearn.config_context(array_api_dispatch=True):
        model = OPGDClassifier(N_COMPONENTS).fit(X, y)
        for name in METHODS:
            method: Any = getattr(model, name)
            seconds: list[list[float]] = [[], []]
            for _ in range(N_RUNS):
                for of_library, values in zip(seconds, (samples, tensors), strict=True):
                    begin = time.process_time()
                    method(values)
                    of_library.append(time.process_time() - begin)
            difference = np.abs(np.asarray(method(tensors)) - method(samples)).max()
            results[name] = (min(seconds[0]), min(seconds[1]), float(difference))
    return results
