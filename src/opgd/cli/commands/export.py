"""The command `opgd export`."""

from typing import Annotated

import typer

from opgd.cli.console import Terminal, quote
from opgd.cli.errors import BadInput
from opgd.cli.options import OUTPUT, AsJson, Force, ModelFile, Quiet

ENDING = ".onnx"
DTYPES = ("float32", "float64")


def export(
    model: ModelFile,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File to write: .onnx.")
    ],
    dtype: Annotated[
        str,
        typer.Option(
            metavar="float32|float64",
            rich_help_panel=OUTPUT,
            help="Type of the numbers in inputs and outputs.",
        ),
    ] = "float32",
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Convert a model file to an ONNX graph, which predicts without Python.

    opgd export wine.opgd -o wine.onnx
    """
    from rich.text import Text

    from opgd import to_onnx
    from opgd._utils.files import write_atomically
    from opgd.cli.models import open_model
    from opgd.cli.tables.write import check_new_file

    terminal = Terminal(quiet, as_json)
    if dtype not in DTYPES:
        raise BadInput(f"--dtype must be {' or '.join(DTYPES)}, got {quote(dtype)}.")
    path = check_new_file(output, force=force, inputs=[model])
    if path.suffix.lower() != ENDING:
        raise BadInput(f"{quote(output)} must end in {ENDING}.")
    opened = open_model(model)
    if opened.steps is not None:
        raise BadInput(
            f"{quote(model)} encodes columns of a table before it predicts, which no graph can do. "
            "In Python, encode the table with load_model(...)[:-1].transform(table), and convert "
            "the classifier with opgd.to_onnx(load_model(...)[-1])."
        )
    if opened.fill_values is not None:
        terminal.note("The graph does not fill missing cells; fill them before.")
    try:
        converted = to_onnx(opened.estimator, dtype=dtype)
    except TypeError as error:
        raise BadInput(str(error)) from None
    data = converted.SerializeToString()
    write_atomically(path, data, force)
    graph = converted.graph
    facts = {
        "output": str(path),
        "inputs": [entry.name for entry in graph.input],
        "outputs": [entry.name for entry in graph.output],
        "bytes": len(data),
    }
    names = ", ".join(entry.name for entry in graph.output)
    page = Text(f"Wrote graph with outputs {names} to {path} ({len(data) / 1e3:.0f} kB)")
    terminal.print_result(facts, page)
