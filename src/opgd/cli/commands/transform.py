"""The command `opgd transform`."""

from typing import Any

from opgd.cli.console import Terminal
from opgd.cli.errors import BadInput
from opgd.cli.options import (
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
    """Project every row of a table on the axes of a model.

    opgd transform wine.opgd new.csv -o scores.csv
    """
    from opgd.cli.models import apply_model
    from opgd.cli.tables.write import TableOutput

    apply_model(
        _score_rows,
        model,
        data,
        TableOutput(output, force=force, inputs=[model, data], raw=raw),
        keep=keep or [],
        drop_missing=drop_missing,
        terminal=Terminal(quiet, as_json),
    )


def _score_rows(estimator: Any, X: Any) -> dict[str, Any]:
    """Return the scores of the rows, one column for each axis."""
    import numpy as np

    if not hasattr(estimator, "transform"):
        raise BadInput(f"{type(estimator).__name__} has no axes to project rows on.")
    scores = np.asarray(estimator.transform(X))
    return {f"axis_{j + 1}": scores[:, j] for j in range(scores.shape[1])}
