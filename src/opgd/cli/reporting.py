"""opgd report."""

from typing import Annotated, Any

import typer

from opgd.cli.errors import BadInput
from opgd.cli.options import OUTPUT, AsJson, Data, DropMissing, Force, Groups, ModelFile, Quiet
from opgd.cli.text import quoted
from opgd.cli.voice import Voice


def report(
    model: ModelFile,
    data: Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The .html file to write.")
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COL",
            help="Column of labels; known from the fit if it was here.",
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Table of rows that the fit has not seen, to judge by."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    cv: Annotated[int, typer.Option(min=0, help="Folds without test rows; 0 for none.")] = 5,
    max_rows: Annotated[
        int, typer.Option(min=1, rich_help_panel=OUTPUT, help="Draw at most so many rows.")
    ] = 50_000,
    groups: Groups = None,
    drop_missing: DropMissing = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write an interactive page on a model and its training rows: one HTML file, no network.

    opgd report wine.opgd wine.csv -o wine.html
    """
    from rich.text import Text

    from opgd import write_report
    from opgd.cli.models import open_model
    from opgd.cli.output import new_file
    from opgd.inspection.estimators import has_gaussians_on_axes

    voice = Voice(quiet, as_json)
    tables = [data] if test is None else [data, test]
    path = new_file(output, force=force, inputs=[model, *tables])
    own = open_model(model)
    if not has_gaussians_on_axes(own.estimator):
        name = type(own.estimator).__name__
        raise BadInput(f"{name} has no axes with Gaussians on them, which a report draws.")
    is_classifier = hasattr(own.estimator, "classes_")
    label_column = target or own.target
    if is_classifier and label_column is None:
        raise BadInput("The model does not say which column has the labels: add --target COL.")
    if test is not None and not is_classifier:
        raise BadInput("--test is for classifiers; clusters have no labels to test.")
    if groups is not None and not is_classifier:
        raise BadInput("--groups is for classifiers: no row of a mixture is left out.")
    left_out = is_classifier and test is None and cv > 1
    group_column = (groups or own.groups) if left_out else None
    X, y, together = _labelled(own, data, label_column, group_column, drop_missing, voice)
    X_test, y_test = None, None
    if test is not None:
        X_test, y_test, _ = _labelled(own, test, label_column, None, drop_missing, voice)
    with voice.watching("writing the report"):
        write_report(
            own.estimator,
            X,
            y,
            path=path,
            title=title,
            X_test=X_test,
            y_test=y_test,
            cv=cv,
            groups=together,
            max_rows=max_rows,
            overwrite=force,
        )
    size = path.stat().st_size
    facts = {"report": str(path), "rows": len(X), "bytes": size}
    voice.result(facts, Text(f"Report of {len(X)} rows in {path} ({size / 1e6:.1f} MB)"))


def _labelled(
    model: Any,
    data: str,
    target: str | None,
    groups: str | None,
    drop_missing: bool,
    voice: Voice,
) -> tuple[Any, Any, Any]:
    """Rows of a table as the model takes them, their labels as its classes, and their groups."""
    from opgd.cli.labels import known_labels, read_labels
    from opgd.cli.models import new_rows
    from opgd.cli.reading import read_table
    from opgd.cli.text import rows_listed
    from opgd.cli.training import read_groups

    table = read_table(data, voice)
    if target is not None:
        table.column(target, "--target")
    wanted = [own for own in (target, groups) if own is not None]
    if groups is not None:
        table.column(groups, "--groups")
    rows = new_rows(model, table, voice, drop_missing=drop_missing, besides=wanted)
    if target is None:
        return rows.X, None, None
    series = rows.table.frame[target]
    if not hasattr(model.estimator, "classes_"):  # clusters are only compared with labels
        labels, missing = read_labels(series)
        labels = labels.astype(object)
        labels[missing] = None
        return rows.X, labels, None
    labels, missing = known_labels(series, model.estimator.classes_)
    if missing.any() and not drop_missing:
        raise BadInput(
            f"Column {quoted(target)} of {table.source} has no label in "
            f"{rows_listed(rows.table.row_numbers[missing])}; --drop-missing leaves them out."
        )
    together = None if groups is None else read_groups(rows.table, groups)[~missing]
    return rows.X[~missing], labels[~missing], together
