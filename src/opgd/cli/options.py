"""Arguments and options that several commands have, and how their text is parsed."""

from typing import Annotated

import typer

from opgd.cli.console import quote
from opgd.cli.errors import BadInput

ROWS, MODEL, OUTPUT = "Rows and columns", "Model", "Output"
TABLE = "Table: .csv, .tsv, .parquet or .arrow; - is CSV on the standard input."

Data = Annotated[str, typer.Argument(metavar="DATA", help=TABLE)]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A file of opgd fit or cluster.")]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COL", help="Column of labels.", show_default=False)
]
NewModel = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.")
]
Use = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        rich_help_panel=ROWS,
        help="Use only this; repeat it for more. * is any text.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL", rich_help_panel=ROWS, help="Leave this column out; repeat it for more."
    ),
]
DropMissing = Annotated[
    bool,
    typer.Option("--drop-missing", rich_help_panel=ROWS, help="Leave out rows with missing cells."),
]
Impute = Annotated[
    str | None,
    typer.Option(
        metavar="median|mean",
        rich_help_panel=ROWS,
        help="Fill missing cells; the values are kept in the model.",
    ),
]
Weights = Annotated[
    str | None, typer.Option(metavar="COL", rich_help_panel=ROWS, help="Column of row weights.")
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COL", rich_help_panel=ROWS, help="Rows of a group are left out of folds together."
    ),
]
Covariance = Annotated[
    str | None,
    typer.Option(metavar="diag|full", rich_help_panel=MODEL, help="Covariances on the axes."),
]
Seed = Annotated[
    int | None, typer.Option(min=0, rich_help_panel=MODEL, help="For what is drawn at random.")
]
Jobs = Annotated[int, typer.Option(rich_help_panel=MODEL, help="Processes; -1 is all cores.")]
Force = Annotated[
    bool, typer.Option("--force", rich_help_panel=OUTPUT, help="Replace files that are there.")
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", rich_help_panel=OUTPUT, help="Say nothing but warnings and errors."
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print the result as JSON.")
]
TableFile = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        rich_help_panel=OUTPUT,
        help="A .csv, .tsv or .parquet; without it, CSV on the standard output.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL", rich_help_panel=OUTPUT, help="Copy this column of DATA; repeat it for more."
    ),
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw", rich_help_panel=OUTPUT, help="No apostrophe before text that looks like a formula."
    ),
]


def parse_folds(option: str, text: str) -> int | float:
    """Return a number of folds, or a share of rows."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if 0 < value < 1:
        return value
    if value >= 2 and value.is_integer():
        return int(value)
    raise BadInput(f"{option} is a whole number from 2 on, or a share below 1, not {quote(text)}.")
