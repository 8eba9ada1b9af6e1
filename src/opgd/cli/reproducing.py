"""opgd reproduce."""

from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    what: Annotated[
        list[str],
        typer.Argument(help="vowel, splits, clustering, starts, figures, tables, or all."),
    ],
    replications: Annotated[int, typer.Option(min=1, help="Splits, seeds or random starts.")] = 20,
    datasets: Annotated[str, typer.Option(help="Only these, separated by commas.")] = "",
    methods: Annotated[str, typer.Option(help="Only these, separated by semicolons.")] = "",
    jobs: Annotated[int, typer.Option(help="Processes; -1 means all cores.")] = -1,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    own: Annotated[bool, typer.Option(help="Our own settings instead of the paper's.")] = False,
) -> None:
    """Run the paper's experiments; what is finished in the folder is not run again."""
    from rich.console import Console

    from opgd.datasets import list_datasets
    from opgd.experiments.reproduce import EXPERIMENTS, STEPS, cells_of
    from opgd.experiments.reproduce import reproduce as run

    steps = [step for step in STEPS if step != "tables"] if "all" in what else what
    unknown = [step for step in steps if step not in STEPS]
    if unknown:
        raise ValueError(f"There is no experiment {unknown[0]!r}; there are {', '.join(STEPS)}.")
    data, chosen = _names(datasets, ","), _names(methods, ";")
    known = [own_set.name for own_set in list_datasets()]
    for name in data or []:
        if name not in known:
            raise ValueError(f"There is no data set {name!r}; there are {', '.join(known)}.")
    possible = {
        cell.key.method
        for step in steps
        if step in EXPERIMENTS
        for cell in cells_of(step, replications=1, own=own)
    }
    for name in chosen or []:
        if name not in possible:
            raise ValueError(
                f"There is no method {name!r}; there are {'; '.join(sorted(possible))}."
            )
    page = run(
        steps,
        out,
        replications=replications,
        own=own,
        data=data,
        methods=chosen,
        n_jobs=jobs,
        console=Console(stderr=True),
    )
    typer.echo(f"Tables and raw results are in {page.parent}; begin with {page}.")


def _names(text: str, separator: str) -> list[str] | None:
    names = [name.strip() for name in text.split(separator) if name.strip()]
    return names or None
