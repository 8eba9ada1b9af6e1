"""Arguments and options shared by several commands."""

from typing import Annotated

import typer

from opgd.cli.console import quote
from opgd.cli.errors import BadInput

ROWS, MODEL, OUTPUT, DECISIONS = "Rows and columns", "Model", "Output", "Decisions"
TABLE = (
    "Table: .csv, .tsv, .parquet, .arrow, compressed text (.csv.gz) or a folder of tables; - reads "
    "CSV from standard input."
)

Data = Annotated[str, typer.Argument(metavar="DATA", help=TABLE)]
ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="Model file, from opgd fit or opgd cluster.")
]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COL", help="Label column.", show_default=False)
]
NewModel = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Model file to write.", show_default="required"
    ),
]
Use = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        rich_help_panel=ROWS,
        help="Use only this column; repeatable. * matches any text.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        rich_help_panel=ROWS,
        help="Do not use this column; repeatable. * matches any text.",
    ),
]
As = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="COL=KIND",
        rich_help_panel=ROWS,
        help="Kind of a column: category, number, date or ignore; repeatable.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", rich_help_panel=ROWS, help="Show how columns are encoded, and stop."),
]
DropMissing = Annotated[
    bool,
    typer.Option("--drop-missing", rich_help_panel=ROWS, help="Drop rows with missing cells."),
]
Impute = Annotated[
    str | None,
    typer.Option(
        metavar="median|mean",
        rich_help_panel=ROWS,
        help="Fill missing cells; the fill values are stored in the model.",
    ),
]
Weights = Annotated[
    str | None, typer.Option(metavar="COL", rich_help_panel=ROWS, help="Column of sample weights.")
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        rich_help_panel=ROWS,
        help="Group column; cross-validation keeps groups together.",
    ),
]
COVARIANCES = ("diag", "full")
Covariance = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(COVARIANCES),
        rich_help_panel=MODEL,
        help="Form of the covariances on the axes.",
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, rich_help_panel=MODEL, help="Random seed.")]
Jobs = Annotated[
    int, typer.Option(rich_help_panel=MODEL, help="Number of parallel jobs; -1 uses all cores.")
]
Force = Annotated[
    bool, typer.Option("--force", rich_help_panel=OUTPUT, help="Replace existing files.")
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, help="Print only warnings and errors."),
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
        help="Output table (.csv, .tsv or .parquet); by default CSV on standard output.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        rich_help_panel=OUTPUT,
        help="Copy this column of DATA to the output; repeatable.",
    ),
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw", rich_help_panel=OUTPUT, help="Do not escape text that looks like a formula."
    ),
]


def check_output(output: str | None, dry_run: bool) -> str:
    """Return the path of the model file, which only a dry run does not need."""
    if output is None and not dry_run:
        raise BadInput("Missing option '--output' / '-o': the model file to write.")
    return output or ""


def check_covariance(form: str) -> str:
    """Return a form of covariances; raise BadInput for another word."""
    if form not in COVARIANCES:
        raise BadInput(f"--covariance must be {' or '.join(COVARIANCES)}, got {quote(form)}.")
    return form


def parse_folds(option: str, text: str) -> int | float:
    """Return a number of folds (int) or a share of held-out rows (float)."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if 0 < value < 1:
        return value
    if value >= 2 and value.is_integer():
        return int(value)
    raise BadInput(
        f"{option} must be an integer of at least 2 or a fraction between 0 and 1, "
        f"got {quote(text)}."
    )
