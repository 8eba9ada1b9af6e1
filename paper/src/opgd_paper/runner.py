"""Run the cells of an experiment in parallel processes and store each result at once.

A cell is one data set, replication and method of an experiment: a line of `raw.jsonl`, written when
it is finished. So an interrupted run can be resumed; its incomplete last line is dropped, and the
cell computed again.
"""

import hashlib
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from opgd_paper.datasets import load_dataset

PACKAGES = ["opgd", "numpy", "scipy", "scikit-learn"]

Key = tuple[str, str, int, str]
"""Experiment, data set, replication and method of a cell."""
Compute = Callable[[str, int, str], dict[str, Any]]
"""A function of data set, replication and method."""


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Return the results of all finished cells, sorted by their keys."""
    path = folder / "raw.jsonl"
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return sorted((json.loads(line) for line in lines if line.endswith("\n")), key=get_key)


def get_key(row: dict[str, Any]) -> Key:
    """Return the key of a result."""
    return row["experiment"], row["data"], row["replication"], row["method"]


def run_cells(compute: Compute, keys: list[Key], folder: Path, n_jobs: int) -> None:
    """Compute the unfinished cells of an experiment, with progress on the error output."""
    experiment = keys[0][0]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "raw.jsonl"
    check_settings(folder, experiment, sorted({data for _, data, _, _ in keys}))
    if path.exists():  # without the line in which a run was interrupted
        content = path.read_bytes()
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)
    finished = {get_key(row) for row in read_results(folder)}
    missing = [key for key in keys if key not in finished]
    n_done, start = len(keys) - len(missing), time.perf_counter()
    results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(compute_cell)(compute, key) for key in missing
    )
    show_progress(experiment, n_done, len(keys), start)
    for row in results:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(row) + "\n")
        n_done += 1
        show_progress(experiment, n_done, len(keys), start)
    print(file=sys.stderr)


def show_progress(experiment: str, n_done: int, n_cells: int, start: float) -> None:
    """Write the number of finished cells over the last line."""
    seconds = time.perf_counter() - start
    print(f"\r{experiment}: {n_done} of {n_cells}, {seconds:.0f} s", end="", file=sys.stderr)


def compute_cell(compute: Compute, key: Key) -> dict[str, Any]:
    """Compute a cell without warnings, with BLAS on one thread; return its line."""
    experiment, data, replication, method = key
    start = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore")
        values = compute(data, replication, method)
    names = {"experiment": experiment, "data": data, "replication": replication, "method": method}
    return {**names, **values, "seconds": round(time.perf_counter() - start, 3)}


def check_settings(folder: Path, experiment: str, data: list[str]) -> None:
    """Store versions and hashes of the data; raise ValueError if results have other ones."""
    path = folder / "settings.json"
    settings = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    versions = {name: version(name) for name in PACKAGES}
    new = {
        "versions": {
            **versions,
            "python": platform.python_version(),
            "machine": platform.machine(),
        },
        **{f"data {name}": hash_dataset(name) for name in data},
    }
    old = settings.setdefault(experiment, {})
    different = [name for name in new if name in old and old[name] != new[name]]
    if different:
        raise ValueError(
            f"{folder} has results of {experiment} that were computed with other settings "
            f"({', '.join(different)}); choose another folder or delete this one."
        )
    settings[experiment] = old | new
    write_atomically(path, json.dumps(settings, indent=2, sort_keys=True).encode() + b"\n")


def hash_dataset(name: str) -> str:
    """Return a hash of the samples and classes of a data set."""
    data = load_dataset(name)
    text = data.data.tobytes() + "\n".join(map(str, data.target)).encode()
    return hashlib.sha256(text).hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file under a temporary name first, so that no half of it is ever seen."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)  # already renamed on success
