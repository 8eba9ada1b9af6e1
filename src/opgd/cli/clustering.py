"""opgd cluster."""

from typing import Annotated

import typer

from opgd.cli.errors import BadInput
from opgd.cli.options import (
    MODEL,
    OUTPUT,
    AsJson,
    Covariance,
    Data,
    DropMissing,
    Force,
    Ignore,
    Impute,
    Jobs,
    NewModel,
    Quiet,
    Use,
    Weights,
)
from opgd.cli.text import quoted
from opgd.cli.voice import Voice

MOST_TRIED = 10
"""-k auto tries 1 to so many clusters."""


def cluster(
    data: Data,
    output: NewModel,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters",
            "-k",
            metavar="K|K,K|auto",
            rich_help_panel=MODEL,
            help="Number of clusters; auto chooses among 1 to 10 by BIC.",
        ),
    ] = "auto",
    axes: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=MODEL, help="Number of axes.")
    ] = None,
    covariance: Covariance = None,
    criterion: Annotated[
        str, typer.Option(metavar="bic|icl|aic", rich_help_panel=MODEL, help="Chooses the number.")
    ] = "bic",
    labels: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=OUTPUT, help="Table of the rows' clusters."),
    ] = None,
    use: Use = None,
    ignore: Ignore = None,
    drop_missing: DropMissing = False,
    impute: Impute = None,
    weights: Weights = None,
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=MODEL, help="For the starts.")] = 0,
    jobs: Jobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find clusters in a table without labels, and write them to a model file.

    opgd cluster wine.csv -k 3 -o clusters.opgd --labels clusters.csv
    """
    from opgd import OPGDMixture
    from opgd.cli.answers import answer_table, predictions
    from opgd.cli.facts import model_facts, page
    from opgd.cli.models import Model, NewRows
    from opgd.cli.output import TableOutput, new_file
    from opgd.cli.reading import read_table
    from opgd.cli.selection import Choice
    from opgd.cli.training import check_imputation, prepare
    from opgd.model_file import save_model

    voice = Voice(quiet, as_json)
    check_imputation(impute)
    path = new_file(output, force=force, inputs=[data])
    table_output = None
    if labels is not None:
        table_output = TableOutput(labels, force=force, inputs=[data, output], raw=False)
    table = read_table(data, voice)
    choice = Choice(use or [], ignore or [], drop_missing, impute, weights=weights)
    training = prepare(table, choice, voice)
    mixture = OPGDMixture(
        _numbers(clusters, len(training.X)),
        n_components=axes,
        covariance_type=covariance or "diag",
        criterion=criterion,
        random_state=seed,
        n_jobs=jobs,
    )
    with voice.watching("clustering", mixture):
        mixture.fit(training.X, sample_weight=training.weights)
    sizes = [int((mixture.labels_ == k).sum()) for k in range(mixture.n_clusters_)]
    notes = {
        "rows": len(training.X),
        "rows_left_out": training.n_left_out,
        "cluster_sizes": sizes,
        criterion: float(min(mixture.selection_[criterion])),
    }
    whole = {"training": notes, "preprocessing": training.preprocessing}
    save_model(mixture, path, notes=whole, overwrite=force)
    if table_output is not None:
        rows = NewRows(training.X, table.numbered(training.X.index.to_numpy()))
        columns = predictions(Model(mixture, None, None, {}), training.X, proba=False)
        table_output.write(answer_table(rows, columns, []), voice)
    values = None if training.imputation is None else training.imputation["values"]
    facts = {"model": str(path), "labels": labels} | model_facts(mixture, notes, values)
    voice.result(facts, page(facts, f"Model {path}"))


def _numbers(text: str, n_rows: int) -> int | list[int]:
    """One number, several, or all up to ten that leave a few rows to each cluster."""
    if text == "auto":
        return list(range(1, max(2, min(MOST_TRIED, n_rows // 5) + 1)))
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise BadInput(f"-k is a whole number or auto, not {quoted(text)}.") from None
    return numbers[0] if len(numbers) == 1 else numbers
