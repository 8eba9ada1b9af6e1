"""The command `opgd predict`."""

from functools import partial
from typing import Annotated

import typer

from opgd.cli.console import Terminal
from opgd.cli.options import (
    OUTPUT,
    AsJson,
    Data,
    DropMissing,
    Force,
    Keep,
    ModelFile,
    Quiet,
    Raw,
    TableFile,
)


def predict(
    model: ModelFile,
    data: Data,
    output: TableFile = None,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba", rich_help_panel=OUTPUT, help="Add the probabilities of all classes."
        ),
    ] = False,
    keep: Keep = None,
    drop_missing: DropMissing = False,
    raw: Raw = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Predict the class (or cluster) of every row of a table.

    opgd predict wine.opgd new.csv -o predictions.csv
    """
    from opgd.cli.models import apply_model, predict_rows
    from opgd.cli.tables.write import TableOutput

    apply_model(
        partial(predict_rows, proba=proba),
        model,
        data,
        TableOutput(output, force=force, inputs=[model, data], raw=raw),
        keep=keep or [],
        drop_missing=drop_missing,
        terminal=Terminal(quiet, as_json),
    )
