"""The command `opgd compare`."""

import re
from typing import Annotated, Any

import typer

from opgd.cli.comparison_page import make_comparison_page
from opgd.cli.console import Terminal
from opgd.cli.errors import BadInput
from opgd.cli.options import (
    MODEL,
    OUTPUT,
    ROWS,
    As,
    AsJson,
    Data,
    DropMissing,
    Force,
    Groups,
    Ignore,
    Jobs,
    Quiet,
    Target,
    Use,
    Weights,
    parse_folds,
)


def compare(
    data: Data,
    target: Target,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME",
            rich_help_panel=MODEL,
            help="Methods, separated by commas, or all.",
        ),
    ] = None,
    cv: Annotated[
        int, typer.Option(min=2, rich_help_panel=MODEL, help="Number of test folds.")
    ] = 5,
    inner_cv: Annotated[
        str,
        typer.Option(
            metavar="N|SHARE", rich_help_panel=MODEL, help="Folds (or share) to select settings."
        ),
    ] = "5",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write the results to a table (.csv, .tsv or .parquet) as well.",
        ),
    ] = None,
    use: Use = None,
    ignore: Ignore = None,
    kinds: As = None,
    drop_missing: DropMissing = False,
    impute: Annotated[
        str | None,
        typer.Option(metavar="median|mean", rich_help_panel=ROWS, help="Fill missing cells."),
    ] = None,
    weights: Weights = None,
    groups: Groups = None,
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=MODEL, help="Random seed.")] = 0,
    jobs: Jobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare OPGD with LDA, QDA, logistic regression, an SVC, forests and others.

    opgd compare wine.csv --target cultivar --methods LDA,QDA,"random forest"

    All methods use the same folds, and their settings are selected within the training folds. A
    star marks methods that are not significantly worse than the best. Use -o to write the results
    of every fold. Methods that do not accept missing cells get the medians of the training folds
    instead.
    """
    from opgd import compare as compare_estimators
    from opgd.cli.tables.training import Selection, parse_kinds, read_training
    from opgd.cli.tables.write import TableOutput
    from opgd.comparison import summarize_methods

    terminal = Terminal(quiet, as_json)
    selection = Selection(
        use, ignore, drop_missing, impute, target, weights, groups, kinds=parse_kinds(kinds)
    )
    inner_folds = parse_folds("--inner-cv", inner_cv)
    names = None if methods is None else parse_methods(methods)
    table_output = None
    if output is not None:
        table_output = TableOutput(output, force=force, inputs=[data])
    training = read_training(data, selection, terminal, allow_nan=True)
    results = compare_estimators(
        training.X,
        training.y,
        names,
        cv=cv,
        inner_cv=inner_folds,
        groups=training.groups,
        sample_weight=training.weights,
        n_jobs=jobs,
        random_state=seed,
        verbose=int(not quiet),
    )
    if table_output is not None:
        table_output.write([results.assign(parameters=results["parameters"].map(str))], terminal)
    summaries = summarize_methods(results)
    facts = {
        "methods": [_to_facts(summary) for summary in summaries],
        "folds": cv,
        "rows": len(training.X),
    }
    terminal.print_result(facts, make_comparison_page(summaries, f"Means over {cv} folds"))
    if results["error"].isna().all():
        raise RuntimeError("all methods failed on all folds")


def parse_methods(text: str) -> str | list[str]:
    """Return "all", or a list of valid names of methods.

    Names are separated by commas or semicolons, and may contain commas themselves.
    """
    from opgd.comparison import make_methods, match_name

    if text.strip() == "all":
        return "all"
    known = list(make_methods(n_features=2, n_classes=2, inner_cv=2))
    parts = [part.strip() for part in re.split("[,;]", text) if part.strip()]
    names = []
    while parts:
        for number in (2, 1):  # "OPGD, all settings" before "OPGD"
            try:
                names.append(match_name(" ".join(parts[:number]), known))
            except ValueError as error:
                if number == 1:
                    raise BadInput(f"{error} (--methods)") from None
            else:
                del parts[:number]
                break
    if not names:
        raise BadInput("--methods is empty; name at least one method.")
    return names


def _to_facts(summary: Any) -> dict[str, Any]:
    """Return the results of a method for JSON."""
    return {
        "method": summary.name,
        **summary.means,
        "standard_error": summary.standard_error,
        "difference": summary.difference,
        "low": summary.low,
        "high": summary.high,
        "winner": summary.winner,
        "failed": summary.n_failed,
    }
