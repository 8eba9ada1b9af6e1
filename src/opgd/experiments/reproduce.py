"""Implementation of `opgd reproduce`: list cells, run them, and write the results."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

import opgd.experiments.classification as classification
import opgd.experiments.clustering as clustering
from opgd.datasets import load_dataset
from opgd.experiments.runner import Cell, run_cells
from opgd.experiments.store import Key, Store, collect_versions

EXPERIMENTS = ["vowel", "splits", "clustering", "starts"]
STEPS = [*EXPERIMENTS, "figures", "tables"]
Compute = Callable[[str, int, str], dict[str, Any]]


def cells_of(
    experiment: str,
    *,
    replications: int,
    own_settings: bool,
    data: list[str] | None = None,
    methods: list[str] | None = None,
) -> list[Cell]:
    """Return all cells of an experiment, with the methods of the paper or those of opgd."""
    if experiment == "starts":
        return [] if own_settings else _list_starts_cells(replications, data, methods)
    compute: dict[str, tuple[Compute, list[str], list[str], list[str]]] = {
        "vowel": (
            classification.run_vowel,
            ["vowel"],
            classification.METHODS,
            classification.OWN_METHODS,
        ),
        "splits": (
            classification.run_splits,
            classification.SPLIT_DATA,
            classification.METHODS,
            classification.OWN_METHODS,
        ),
        "clustering": (
            clustering.run_clustering,
            clustering.DATA,
            clustering.METHODS,
            clustering.OWN_METHODS,
        ),
    }
    function, all_data, paper_methods, own_methods = compute[experiment]
    count = 1 if experiment == "vowel" else replications
    return [
        Cell(Key(experiment, name, replication, method), function)
        for name in _restrict(all_data, data)
        for replication in range(count)
        for method in _restrict(own_methods if own_settings else paper_methods, methods)
    ]


def _list_starts_cells(
    replications: int, data: list[str] | None, methods: list[str] | None
) -> list[Cell]:
    return [
        Cell(Key("starts", name, replication, method), classification.run_starts)
        for name in _restrict(["vowel", *classification.SPLIT_DATA], data)
        for method in _restrict(["auto", "lda", "paper", "random"], methods)
        for replication in range(replications if method == "random" else 1)
    ]


def _restrict(names: list[str], selected: list[str] | None) -> list[str]:
    return names if selected is None else [name for name in names if name in selected]


def reproduce(
    steps: list[str],
    folder: Path,
    *,
    replications: int = 20,
    own_settings: bool = False,
    data: list[str] | None = None,
    methods: list[str] | None = None,
    n_jobs: int = -1,
    console: Console | None = None,
) -> Path:
    """Run unfinished cells of experiments, then write tables, figures and the page.

    Parameters
    ----------
    steps : list of str
        Names in `STEPS`.
    folder : Path
        Folder of raw results and tables.
    replications : int, default=20
        Number of random splits, seeds of clustering, or random initializations.
    own_settings : bool, default=False
        Whether to run the settings of opgd instead of those of the paper.
    data, methods : list of str, default=None
        Data sets and methods to run; by default all.
    n_jobs : int, default=-1
        Number of processes.
    console : rich.console.Console, default=None
        Console for the progress bar.

    Returns
    -------
    path : Path
        Path of RESULTS.md.
    """
    console = console or Console()
    store = Store(folder)
    for experiment in [step for step in steps if step in EXPERIMENTS]:
        cells = cells_of(
            experiment,
            replications=replications,
            own_settings=own_settings,
            data=data,
            methods=methods,
        )
        used = sorted({cell.key.data for cell in cells})
        hashes = {f"data {name}": hash_dataset(name) for name in used}
        store.note_settings({"versions": collect_versions(), **hashes})
        run_cells(cells, store, n_jobs, console)
    return write_all(store, figures="figures" in steps)


def hash_dataset(name: str) -> str:
    """Return a hash of the samples and classes of a data set, to be stored with the results."""
    data = load_dataset(name)
    text = data.data.tobytes() + "\n".join(map(str, data.target)).encode()
    return hashlib.sha256(text).hexdigest()


def write_all(store: Store, *, figures: bool) -> Path:
    """Write tables, figures and the page from the raw results; return the path of the page."""
    from opgd.experiments.page import write_page
    from opgd.experiments.tables import select_results

    rows = store.rows()
    store.folder.mkdir(parents=True, exist_ok=True)
    splits = select_results(rows, "splits")
    if len(splits) or figures:
        import opgd.experiments.figures as drawing

        if len(splits):
            drawing.save(drawing.draw_boxplots(splits), store.folder, "splits")
        if figures:
            for name in ("texture", "forest"):
                drawing.save(drawing.draw_clusters(name), store.folder, name)
            drawing.save(drawing.draw_seeds(), store.folder, "seeds")
    return write_page(rows, store.folder)
