"""The typer application with all commands."""

import sys
from typing import Annotated

import typer

from opgd import __version__
from opgd.cli.commands.cluster import cluster
from opgd.cli.commands.compare import compare
from opgd.cli.commands.export import export
from opgd.cli.commands.fit import fit
from opgd.cli.commands.info import info
from opgd.cli.commands.predict import predict
from opgd.cli.commands.report import report
from opgd.cli.console import print_warnings_as_lines

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run_app(arguments: list[str] | None) -> None:
    """Run the command that the arguments name; always raises SystemExit."""
    try:
        with print_warnings_as_lines():
            app(arguments, prog_name="opgd")
    finally:
        sys.stdout.flush()  # raise write errors here, not when the interpreter exits


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"opgd {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Gaussian discriminant analysis on optimal projections, for tables in files."""


for command in (
    fit,
    predict,
    cluster,
    report,
    compare,
    info,
    export,
):
    app.command()(command)
