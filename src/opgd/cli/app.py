"""The commands, together."""

import sys
from typing import Annotated

import typer

from opgd import __version__
from opgd.cli.commands.cluster import cluster
from opgd.cli.commands.compare import compare
from opgd.cli.commands.demo import demo
from opgd.cli.commands.fit import fit
from opgd.cli.commands.info import info
from opgd.cli.commands.predict import predict
from opgd.cli.commands.report import report
from opgd.cli.commands.reproduce import reproduce
from opgd.cli.commands.transform import transform
from opgd.cli.console import print_warnings_as_lines

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run_app(arguments: list[str] | None) -> None:
    """Run the command that the arguments name; it ends in SystemExit."""
    try:
        with print_warnings_as_lines():
            app(arguments, prog_name="opgd")
    finally:
        sys.stdout.flush()  # an error of writing is raised now, not when the interpreter ends


def _print_version(wanted: bool) -> None:
    if wanted:
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
    """Gaussian discriminants, and the few axes that show them, for tables in files.

    Begin with: opgd demo
    """


for command in (fit, predict, transform, cluster, report, compare, info, demo, reproduce):
    app.command()(command)
