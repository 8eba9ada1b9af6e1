"""The command `opgd reproduce`."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    what: Annotated[
        list[str],
        typer.Argument(help="vowel, splits, clustering, starts, figures, tables, or all."),
    ],
    replications: Annotated[
        int, typer.Option(min=1, help="Number of splits, seeds or random starts.")
    ] = 20,
    datasets: Annotated[str, typer.Option(help="Only these data sets, separated by commas.")] = "",
    methods: Annotated[str, typer.Option(help="Only these methods, separated by semicolons.")] = "",
    jobs: Annotated[int, typer.Option(help="Number of parallel jobs; -1 uses all cores.")] = -1,
    out: Annotated[Path, typer.Option(help="Results folder.")] = Path("results"),
    own_settings: Annotated[
        bool,
        typer.Option(
            "--own/--no-own",
            help="Use the settings recommended by opgd instead of those of the paper.",
        ),
    ] = False,
) -> None:
    """Run the experiments of the paper; finished results in the folder are reused."""
    from rich.console import Console

    from opgd.datasets import list_datasets
    from opgd.experiments.reproduce import EXPERIMENTS, STEPS, cells_of
    from opgd.experiments.reproduce import reproduce as run_experiments

    steps = [step for step in STEPS if step != "tables"] if "all" in what else what
    _check_names("experiment", steps, STEPS)
    dataset_names, method_names = _split_names(datasets, ","), _split_names(methods, ";")
    _check_names("data set", dataset_names, [dataset.name for dataset in list_datasets()])
    known_methods = {
        cell.key.method
        for step in steps
        if step in EXPERIMENTS
        for cell in cells_of(step, replications=1, own_settings=own_settings)
    }
    _check_names("method", method_names, sorted(known_methods), separator="; ")
    page = run_experiments(
        steps,
        out,
        replications=replications,
        own_settings=own_settings,
        data=dataset_names or None,
        methods=method_names or None,
        n_jobs=jobs,
        console=Console(stderr=True),
    )
    typer.echo(f"Wrote tables and raw results to {page.parent}; see {page}.")


def _split_names(text: str, separator: str) -> list[str]:
    return [name.strip() for name in text.split(separator) if name.strip()]


def _check_names(
    kind: str, names: list[str], known: Collection[str], separator: str = ", "
) -> None:
    """Raise ValueError for the first unknown name."""
    for name in names:
        if name not in known:
            raise ValueError(f"Unknown {kind} {name!r}; choose from {separator.join(known)}.")
