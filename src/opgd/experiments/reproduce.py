"""`opgd reproduce`: which cells there are, running them, and writing what they say."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

import opgd.experiments.classification as classification
import opgd.experiments.clustering as clustering
from opgd.datasets import load_dataset
from opgd.experiments.runner import Cell, run_cells
from opgd.experiments.store import Key, Store, versions

EXPERIMENTS = ["vowel", "splits", "clustering", "starts"]
STEPS = [*EXPERIMENTS, "figures", "tables"]
Compute = Callable[[str, int, str], dict[str, Any]]


def cells_of(
    experiment: str,
    *,
    replications: int,
    own: bool,
    data: list[str] | None = None,
    methods: list[str] | None = None,
) -> list[Cell]:
    """All cells of an experiment: the paper's columns, or our own."""
    if experiment == "starts":
        return _starts(replications, data, methods) if not own else []
    compute: dict[str, tuple[Compute, list[str], list[str], list[str]]] = {
        "vowel": (
            classification.vowel,
            ["vowel"],
            classification.METHODS,
            classification.OWN_METHODS,
        ),
        "splits": (
            classification.splits,
            classification.SPLIT_DATA,
            classification.METHODS,
            classification.OWN_METHODS,
        ),
        "clustering": (
            clustering.clustering,
            clustering.DATA,
            clustering.METHODS,
            clustering.OWN_METHODS,
        ),
    }
    function, all_data, paper_methods, own_methods = compute[experiment]
    count = 1 if experiment == "vowel" else replications
    return [
        Cell(Key(experiment, name, replication, method), function)
        for name in _some(all_data, data)
        for replication in range(count)
        for method in _some(own_methods if own else paper_methods, methods)
    ]


def _starts(replications: int, data: list[str] | None, methods: list[str] | None) -> list[Cell]:
    return [
        Cell(Key("starts", name, replication, method), classification.starts)
        for name in _some(["vowel", *classification.SPLIT_DATA], data)
        for method in _some(["auto", "lda", "paper", "random"], methods)
        for replication in range(replications if method == "random" else 1)
    ]


def _some(everything: list[str], wanted: list[str] | None) -> list[str]:
    return everything if wanted is None else [name for name in everything if name in wanted]


def reproduce(
    steps: list[str],
    folder: Path,
    *,
    replications: int = 20,
    own: bool = False,
    data: list[str] | None = None,
    methods: list[str] | None = None,
    n_jobs: int = -1,
    console: Console | None = None,
) -> Path:
    """Run experiments (what is finished is not run again), then write tables and the page.

    Parameters
    ----------
    steps : of `STEPS`
    folder : where raw results are, and tables go
    replications : random splits, seeds of clustering, or random starts
    own : our own settings instead of the paper's
    data, methods : names to restrict an experiment to
    """
    console = console or Console()
    store = Store(folder)
    for experiment in [step for step in steps if step in EXPERIMENTS]:
        cells = cells_of(experiment, replications=replications, own=own, data=data, methods=methods)
        used = sorted({cell.key.data for cell in cells})
        hashes = {f"data {name}": hash_of(name) for name in used}
        store.note_settings({"versions": versions(), **hashes})
        run_cells(cells, store, n_jobs, console)
    return write_all(store, figures="figures" in steps)


def hash_of(name: str) -> str:
    """Of the rows and classes of a data set, to be kept with results."""
    data = load_dataset(name)
    text = data.data.tobytes() + "\n".join(map(str, data.target)).encode()
    return hashlib.sha256(text).hexdigest()


def write_all(store: Store, *, figures: bool) -> Path:
    """Tables, the page, and the figures, from the raw results."""
    from opgd.experiments.page import write_page
    from opgd.experiments.tables import results_of

    rows = store.rows()
    store.folder.mkdir(parents=True, exist_ok=True)
    splits = results_of(rows, "splits")
    if len(splits) or figures:
        import opgd.experiments.figures as drawing

        if len(splits):
            drawing.save(drawing.draw_boxplots(splits), store.folder, "splits")
        if figures:
            for name in ("texture", "forest"):
                drawing.save(drawing.draw_clusters(name), store.folder, name)
            drawing.save(drawing.draw_seeds(), store.folder, "seeds")
    return write_page(rows, store.folder)
