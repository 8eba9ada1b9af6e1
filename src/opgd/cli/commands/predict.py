"""The command `opgd predict`."""

from functools import partial
from typing import Annotated

import typer

from opgd.cli.console import Terminal
from opgd.cli.errors import BadInput
from opgd.cli.options import (
    DECISIONS,
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
    scores: Annotated[
        bool,
        typer.Option(
            "--scores", rich_help_panel=OUTPUT, help="Add the coordinates on the axes of the model."
        ),
    ] = False,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            rich_help_panel=DECISIONS,
            help="Costs of errors, with columns true, predicted and cost; others cost 1.",
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            rich_help_panel=DECISIONS,
            help="Add sets of classes that contain the true one with this probability.",
        ),
    ] = None,
    estimate_priors: Annotated[
        bool,
        typer.Option(
            "--estimate-priors",
            rich_help_panel=DECISIONS,
            help="Estimate the class shares of the rows, and use them.",
        ),
    ] = False,
    reject_cost: Annotated[
        float | None,
        typer.Option(
            metavar="COST",
            rich_help_panel=DECISIONS,
            help="Reject rows for which every prediction is expected to cost more.",
        ),
    ] = None,
    reject_below: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            rich_help_panel=DECISIONS,
            help="Reject rows whose prediction has a smaller probability.",
        ),
    ] = None,
    reject_label: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            rich_help_panel=DECISIONS,
            help="Label of rejected rows; it must not be a class.",
        ),
    ] = None,
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
    from opgd.cli.decisions import Decision
    from opgd.cli.models import apply_model, decide_rows
    from opgd.cli.tables.read import is_large
    from opgd.cli.tables.write import TableOutput

    terminal = Terminal(quiet, as_json)
    if estimate_priors and is_large(data):
        raise BadInput(
            "--estimate-priors needs all rows in memory, but DATA is large and is read in batches; "
            "estimate the shares from a part of it."
        )
    decision = Decision(costs, reject_cost, reject_below, reject_label, coverage, estimate_priors)
    if costs is not None:
        terminal.note(
            "Predictions have the least expected cost; more of them may be wrong than without "
            "--costs."
        )
    inputs = [model, data, *([] if costs is None else [costs])]
    apply_model(
        partial(decide_rows, proba=proba, scores=scores, decision=decision, terminal=terminal),
        model,
        data,
        TableOutput(output, force=force, inputs=inputs, raw=raw),
        keep=keep or [],
        drop_missing=drop_missing,
        terminal=terminal,
    )
