"""opgd compare."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from opgd.cli.errors import BadInput
from opgd.cli.options import (
    MODEL,
    ROWS,
    AsJson,
    Data,
    DropMissing,
    Force,
    Ignore,
    Jobs,
    Quiet,
    TableFile,
    Target,
    Use,
)
from opgd.cli.settings import whole_or_share
from opgd.cli.text import quoted
from opgd.cli.voice import Voice, console


def compare(
    data: Data,
    target: Target,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME;NAME",
            rich_help_panel=MODEL,
            help="Only these, separated by semicolons; all further ones with 'all'.",
        ),
    ] = None,
    cv: Annotated[int, typer.Option(min=2, rich_help_panel=MODEL, help="Folds to test on.")] = 5,
    inner_cv: Annotated[
        str,
        typer.Option(metavar="N|SHARE", rich_help_panel=MODEL, help="Folds to choose settings by."),
    ] = "5",
    output: TableFile = None,
    use: Use = None,
    ignore: Ignore = None,
    drop_missing: DropMissing = False,
    impute: Annotated[
        str | None,
        typer.Option(metavar="median|mean", rich_help_panel=ROWS, help="Fill missing cells."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=MODEL, help="Draws the folds.")] = 0,
    jobs: Jobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare OPGD, as in the paper and with all settings, to LDA, RDA, SAVE, CPCDA and MDA.

    opgd compare wine.csv --target cultivar

    All get the same folds of a table, and their settings are chosen on the training folds. With -o,
    the table of all folds is written.
    """
    from opgd import compare as run
    from opgd.cli.output import TableOutput
    from opgd.cli.reading import read_table
    from opgd.cli.selection import Choice
    from opgd.cli.training import check_imputation, prepare

    voice = Voice(quiet, as_json)
    check_imputation(impute)
    folds = whole_or_share("--inner-cv", inner_cv)
    chosen = None if methods is None else _method_names(methods)
    table_output = None
    if output is not None:
        table_output = TableOutput(output, force=force, inputs=[data], raw=False)
    choice = Choice(use or [], ignore or [], drop_missing, impute, target=target)
    training = prepare(read_table(data, voice), choice, voice)
    watched = not quiet and console(stderr=True).is_terminal
    with _bars_on_stderr():
        results = run(
            training.X,
            training.y,
            chosen,
            cv=cv,
            inner_cv=folds,
            n_jobs=jobs,
            random_state=seed,
            verbose=int(watched),
        )
    if table_output is not None:
        table_output.write(_plain_table(results), voice)
    rows = _summary(results)
    voice.result({"methods": rows, "folds": cv, "rows": len(training.X)}, _page(rows, cv))
    if results["error"].isna().all():
        raise RuntimeError("no method could be fitted")


@contextmanager
def _bars_on_stderr() -> Iterator[None]:
    """The library draws its bar on rich's own console, which is the standard output."""
    from rich import get_console

    before = get_console().stderr
    get_console().stderr = True
    try:
        yield
    finally:
        get_console().stderr = before


def _summary(results: Any) -> list[dict[str, Any]]:
    """Means over the folds, and the standard error of the mean error."""
    rows = []
    for name, own in results.groupby("method", sort=False):
        rows.append(
            {
                "method": name,
                "error": float(own["error"].mean()),
                "standard_error": float(own["error"].sem()),
                "log_loss": float(own["log_loss"].mean()),
                "seconds": float(own["seconds"].mean()),
                "failed": int(own["error"].isna().sum()),
            }
        )
    return rows


def _method_names(text: str) -> str | list[str]:
    """What --methods says: "all", or names that exist."""
    from opgd.comparison import default_estimators, further_estimators

    if text.strip() == "all":
        return "all"
    names = [name.strip() for name in text.split(";")]
    known = [*default_estimators(2, 2), *further_estimators(2, 2)]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BadInput(
            f"--methods has no method {quoted(unknown[0])}; there are {'; '.join(known)}. "
            "Separate them by semicolons."
        )
    return names


def _page(rows: list[dict[str, Any]], cv: int) -> Any:
    from rich.table import Table

    page = Table(title=f"Means over {cv} folds", title_justify="left")
    page.add_column("method")
    for name in ("error", "± standard error", "log-loss", "seconds"):
        page.add_column(name, justify="right")
    for own in rows:
        numbers = [own["error"], own["standard_error"], own["log_loss"]]
        page.add_row(own["method"], *[f"{x:.3f}" for x in numbers], f"{own['seconds']:.1f}")
    return page


def _plain_table(results: Any) -> Any:
    """The table of all folds; settings as text."""
    import polars as pl

    columns = {name: results[name].tolist() for name in results.columns}
    columns["parameters"] = [str(own) for own in columns["parameters"]]
    return pl.DataFrame(columns)
