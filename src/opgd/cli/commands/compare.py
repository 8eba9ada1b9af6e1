"""The command `opgd compare`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from opgd.cli.console import Terminal, make_console, make_grid, quote
from opgd.cli.errors import BadInput
from opgd.cli.options import (
    MODEL,
    ROWS,
    As,
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
    parse_folds,
)


def compare(
    data: Data,
    target: Target,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME;NAME",
            rich_help_panel=MODEL,
            help="Methods to compare, separated by semicolons; 'all' adds all others.",
        ),
    ] = None,
    cv: Annotated[
        int, typer.Option(min=2, rich_help_panel=MODEL, help="Number of test folds.")
    ] = 5,
    inner_cv: Annotated[
        str,
        typer.Option(
            metavar="N|SHARE", rich_help_panel=MODEL, help="Folds (or share) to select settings."
        ),
    ] = "5",
    output: TableFile = None,
    use: Use = None,
    ignore: Ignore = None,
    kinds: As = None,
    drop_missing: DropMissing = False,
    impute: Annotated[
        str | None,
        typer.Option(metavar="median|mean", rich_help_panel=ROWS, help="Fill missing cells."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=MODEL, help="Random seed.")] = 0,
    jobs: Jobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare OPGD with LDA, RDA, SAVE, CPCDA and MDA by cross-validation.

    opgd compare wine.csv --target cultivar

    All methods use the same folds, and their settings are selected within the training folds. OPGD
    is run as in the paper and with all settings. Use -o to write the results of every fold.
    """
    from opgd import compare as compare_estimators
    from opgd.cli.tables.training import Selection, parse_kinds, read_training
    from opgd.cli.tables.write import TableOutput

    terminal = Terminal(quiet, as_json)
    selection = Selection(use, ignore, drop_missing, impute, target, kinds=parse_kinds(kinds))
    inner_folds = parse_folds("--inner-cv", inner_cv)
    names = None if methods is None else _parse_methods(methods)
    table_output = None
    if output is not None:
        table_output = TableOutput(output, force=force, inputs=[data])
    training = read_training(data, selection, terminal, allow_nan=False)
    verbose = not quiet and make_console(stderr=True).is_terminal
    with _draw_bars_on_stderr():
        results = compare_estimators(
            training.X,
            training.y,
            names,
            cv=cv,
            inner_cv=inner_folds,
            n_jobs=jobs,
            random_state=seed,
            verbose=int(verbose),
        )
    if table_output is not None:
        table_output.write(_to_polars(results), terminal)
    summaries = _summarize_methods(results)
    facts = {"methods": summaries, "folds": cv, "rows": len(training.X)}
    terminal.print_result(facts, _make_page(summaries, cv))
    if results["error"].isna().all():
        raise RuntimeError("all methods failed on all folds")


def _parse_methods(text: str) -> str | list[str]:
    """Return "all" or a list of valid method names."""
    from opgd.comparison import default_estimators, further_estimators

    if text.strip() == "all":
        return "all"
    names = [name.strip() for name in text.split(";")]
    known = [*default_estimators(2, 2), *further_estimators(2, 2)]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BadInput(
            f"Unknown method {quote(unknown[0])} (--methods). Choose from, separated by "
            f"semicolons: {'; '.join(known)}."
        )
    return names


@contextmanager
def _draw_bars_on_stderr() -> Iterator[None]:
    """Draw the progress bar of the library on standard error instead of standard output."""
    from rich import get_console

    before = get_console().stderr
    get_console().stderr = True
    try:
        yield
    finally:
        get_console().stderr = before


def _summarize_methods(results: Any) -> list[dict[str, Any]]:
    """Return the means over folds and the standard error of the mean error, by method."""
    return [
        {
            "method": name,
            "error": float(folds["error"].mean()),
            "standard_error": float(folds["error"].sem()),
            "log_loss": float(folds["log_loss"].mean()),
            "seconds": float(folds["seconds"].mean()),
            "failed": int(folds["error"].isna().sum()),
        }
        for name, folds in results.groupby("method", sort=False)
    ]


def _make_page(summaries: list[dict[str, Any]], cv: int) -> Any:
    columns = ["method", "error", "± standard error", "log-loss", "seconds"]
    keys = ["error", "standard_error", "log_loss"]
    rows = [
        [row["method"], *[f"{row[key]:.3f}" for key in keys], f"{row['seconds']:.1f}"]
        for row in summaries
    ]
    return make_grid(f"Means over {cv} folds", columns, rows)


def _to_polars(results: Any) -> Any:
    """Return the results of all folds as a polars table, with the settings as text."""
    import polars as pl

    columns = {name: results[name].tolist() for name in results.columns}
    columns["parameters"] = [str(parameters) for parameters in columns["parameters"]]
    return pl.DataFrame(columns)
