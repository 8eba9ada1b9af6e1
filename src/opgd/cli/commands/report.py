"""The command `opgd report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opgd.cli.console import Terminal, count_noun, quote
from opgd.cli.errors import BadInput
from opgd.cli.options import OUTPUT, AsJson, Data, DropMissing, Force, Groups, ModelFile, Quiet

if TYPE_CHECKING:
    from opgd.cli.models import Model


def report(
    model: ModelFile,
    data: Data,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="HTML file to write.",
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COL",
            help="Label column; by default that of opgd fit.",
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Test set, to evaluate the model on."),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Title of the page; by default the name of the table.")
    ] = None,
    cv: Annotated[
        int, typer.Option(min=0, help="Cross-validation folds if there is no test set; 0 disables.")
    ] = 5,
    max_rows: Annotated[
        int, typer.Option(min=1, rich_help_panel=OUTPUT, help="Maximum number of rows to draw.")
    ] = 50_000,
    groups: Groups = None,
    comparison: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Results of opgd compare -o, to show in the report."),
    ] = None,
    usual: Annotated[
        bool,
        typer.Option(
            "--usual/--no-usual",
            help="Compare with LDA, logistic regression and gradient boosting on the same rows.",
        ),
    ] = True,
    drop_missing: DropMissing = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write an interactive report on a model and its training table as an HTML file.

    opgd report wine.opgd wine.csv -o wine.html
    """
    from rich.text import Text

    from opgd import write_report
    from opgd.cli.models import open_model
    from opgd.cli.tables.write import check_new_file

    terminal = Terminal(quiet, as_json)
    tables = [table for table in (data, test, comparison) if table is not None]
    path = check_new_file(output, force=force, inputs=[model, *tables])
    opened = open_model(model)
    target = target or opened.target
    _check_options(opened, target, test, groups, comparison)
    results = "usual" if usual else None
    if comparison is not None:
        results = _read_comparison(comparison, terminal)
    cross_validated = opened.is_classifier and test is None and cv > 1
    group_column = (groups or opened.groups) if cross_validated else None
    rows = _read_labeled(opened, data, target, group_column, drop_missing, terminal)
    test_rows = LabeledRows(None)
    if test is not None:
        test_rows = _read_labeled(opened, test, target, None, drop_missing, terminal)
    with terminal.show_progress("writing the report"):
        write_report(
            opened.pipeline,
            rows.X,
            rows.y,
            path=path,
            title=title or _make_title(data, target if opened.is_classifier else None),
            X_test=test_rows.X,
            y_test=test_rows.y,
            cv=cv,
            groups=rows.groups,
            max_rows=max_rows,
            comparison=results,
            overwrite=force,
        )
    size = path.stat().st_size
    facts = {"report": str(path), "rows": len(rows.X), "bytes": size}
    page = Text(f"Wrote report on {len(rows.X)} rows to {path} ({size / 1e6:.1f} MB)")
    terminal.print_result(facts, page)


def _make_title(data: str, target: str | None) -> str:
    """Return a title made of the name of the table and of the label column."""
    name = "table" if data == "-" else Path(data).name
    return name if target is None else f"{name}: {target}"


@dataclass(frozen=True)
class LabeledRows:
    """Rows with the columns of the model, and their labels and groups, if any."""

    X: Any  # pandas.DataFrame, indexed by row number in the file
    y: Any = None
    groups: Any = None


def _check_options(
    model: "Model",
    target: str | None,
    test: str | None,
    groups: str | None,
    comparison: str | None,
) -> None:
    """Raise BadInput for unsupported models and for options that do not apply to the model."""
    from opgd.inspection.estimators import has_axes

    if not has_axes(model.estimator):
        name = type(model.estimator).__name__
        raise BadInput(f"{name} has no axes, which a report needs.")
    if model.is_classifier and target is None:
        raise BadInput("The model file does not name a label column; add --target COL.")
    if test is not None and not model.is_classifier:
        raise BadInput("--test can be used only with a classifier; this model is a clustering.")
    if groups is not None and not model.is_classifier:
        raise BadInput("--groups applies to classifiers only; clusters are not cross-validated.")
    if comparison is not None and not model.is_classifier:
        raise BadInput("--comparison applies to classifiers only; this model is a clustering.")


def _read_comparison(path: str, terminal: Terminal) -> Any:
    """Return the results of `opgd compare`, or raise BadInput for any other table."""
    from opgd.cli.tables.read import read_table
    from opgd.comparison import summarize_methods

    results = read_table(path, terminal).frame
    try:
        summarize_methods(results)
    except ValueError as error:
        raise BadInput(f"{quote(path)} is not a table of opgd compare -o: {error}") from None
    return results


def _read_labeled(
    model: "Model",
    data: str,
    target: str | None,
    groups: str | None,
    drop_missing: bool,
    terminal: Terminal,
) -> LabeledRows:
    """Read the rows of a table, with labels encoded as classes of the model, and groups."""
    from opgd.cli.models import select_new_rows
    from opgd.cli.tables.encode import encode_groups, encode_known_labels
    from opgd.cli.tables.read import read_table

    table = read_table(data, terminal)
    columns = {"--target": target, "--groups": groups}
    required = {option: name for option, name in columns.items() if name is not None}
    for option, name in required.items():
        table.column(name, option)
    rows = select_new_rows(
        model, table, terminal, drop_missing=drop_missing, expected=required.values()
    )
    X = rows.X if model.steps is None else rows.frame
    if target is None:
        return LabeledRows(X)
    series = rows.table.column(target, "--target")
    if not model.is_classifier:
        return LabeledRows(X, _encode_optional_labels(target, series))
    labels, missing = encode_known_labels(target, series, model.estimator.classes_)
    if missing.all():
        raise BadInput(f"Column {quote(target)} of {table.source} has no labels.")
    if missing.any():
        terminal.note(f"Dropped {count_noun(int(missing.sum()), 'row')} without a label.")
    group_labels = None if groups is None else encode_groups(rows.table, groups)[~missing]
    return LabeledRows(X[~missing], _name_labels(labels[~missing], target), group_labels)


def _name_labels(labels: Any, name: str) -> Any:
    """Return labels as a series with the name of their column, which the report shows."""
    import pandas

    return pandas.Series(labels, name=name)


def _encode_optional_labels(name: str, series: Any) -> Any:
    """Return labels to compare clusters with, None where missing."""
    from opgd.cli.tables.encode import encode_labels

    labels, missing = encode_labels(name, series)
    labels = labels.astype(object)
    labels[missing] = None
    return labels
