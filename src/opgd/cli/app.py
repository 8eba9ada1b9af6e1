"""The commands, together."""

from typing import Annotated

import typer

from opgd import __version__
from opgd.cli.applying import predict, transform
from opgd.cli.clustering import cluster
from opgd.cli.comparing import compare
from opgd.cli.demonstration import demo
from opgd.cli.describing import info
from opgd.cli.fitting import fit
from opgd.cli.reporting import report
from opgd.cli.reproducing import reproduce

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"opgd {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Gaussian discriminants, and the few axes that show them, for tables in files.

    Begin with: opgd demo
    """


for command in (fit, predict, transform, cluster, report, compare, info, demo, reproduce):
    app.command()(command)
