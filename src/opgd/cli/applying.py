"""opgd predict and opgd transform."""

from typing import Annotated, Any

import typer

from opgd.cli.errors import BadInput
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
from opgd.cli.text import counted, quoted
from opgd.cli.voice import Voice


def predict(
    model: ModelFile,
    data: Data,
    output: TableFile = None,
    proba: Annotated[
        bool,
        typer.Option("--proba", rich_help_panel=OUTPUT, help="Probabilities of all classes too."),
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
    from opgd.cli.answers import predictions

    def answers(own: Any, X: Any) -> dict[str, Any]:
        return predictions(own, X, proba=proba)

    _apply(answers, model, data, output, keep, drop_missing, raw, force, Voice(quiet, as_json))


def transform(
    model: ModelFile,
    data: Data,
    output: TableFile = None,
    keep: Keep = None,
    drop_missing: DropMissing = False,
    raw: Raw = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Place every row of a table on the model's axes.

    opgd transform wine.opgd new.csv -o scores.csv
    """
    from opgd.cli.answers import scores

    _apply(scores, model, data, output, keep, drop_missing, raw, force, Voice(quiet, as_json))


def _apply(
    answers: Any,
    model_path: str,
    data: str,
    output: str | None,
    keep: list[str] | None,
    drop_missing: bool,
    raw: bool,
    force: bool,
    voice: Voice,
) -> None:
    """Read a model and a table, and write what the model says of its rows."""
    from rich.text import Text

    from opgd.cli.answers import answer_table, summary
    from opgd.cli.models import new_rows, open_model
    from opgd.cli.output import TableOutput
    from opgd.cli.reading import read_table

    target = TableOutput(output, force=force, inputs=[model_path, data], raw=raw)
    if voice.as_json and target.path is None:
        raise BadInput("--json prints a summary where the table would go; add -o FILE.")
    model = open_model(model_path)
    keep = keep or []
    table = read_table(data, voice)
    rows = new_rows(model, table, voice, drop_missing=drop_missing, keep=keep)
    columns = answers(model, rows.X)
    target.write(answer_table(rows, columns, keep), voice)
    if target.path is not None:
        facts = {"output": str(target.path)} | summary(model, rows, columns)
        error = ""
        if "error" in facts:
            error = f"; error {facts['error']:.3f} by its column {quoted(model.target)}"
        voice.result(facts, Text(f"{counted(facts['rows'], 'row')} in {target.path}{error}"))
