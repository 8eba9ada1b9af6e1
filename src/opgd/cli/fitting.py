"""opgd fit."""

from typing import Annotated

import typer

from opgd.cli.estimates import training_notes
from opgd.cli.options import (
    MODEL,
    AsJson,
    Covariance,
    Data,
    DropMissing,
    Force,
    Groups,
    Ignore,
    Impute,
    Jobs,
    NewModel,
    Quiet,
    Seed,
    Target,
    Use,
    Weights,
)
from opgd.cli.settings import Settings, whole_or_share
from opgd.cli.voice import Voice


def fit(
    data: Data,
    target: Target,
    output: NewModel,
    axes: Annotated[
        str,
        typer.Option(
            metavar="auto|N|N,N",
            rich_help_panel=MODEL,
            help="Number of axes; auto, or several, are tried by cross-validation.",
        ),
    ] = "auto",
    shrinkage: Annotated[
        str | None,
        typer.Option(
            metavar="S|S,S|auto",
            rich_help_panel=MODEL,
            help="Towards the pooled covariance, 0 to 1.",
        ),
    ] = None,
    ridge: Annotated[
        str | None,
        typer.Option(
            metavar="R|R,R", rich_help_panel=MODEL, help="Towards independent columns, 0 to 1."
        ),
    ] = None,
    subclasses: Annotated[
        str | None,
        typer.Option(metavar="N|N,N|auto", rich_help_panel=MODEL, help="Gaussians per class."),
    ] = None,
    covariance: Covariance = None,
    cv: Annotated[
        str,
        typer.Option(
            metavar="N|SHARE", rich_help_panel=MODEL, help="Folds, or the share left out once."
        ),
    ] = "5",
    scoring: Annotated[
        str,
        typer.Option(
            metavar="error|log-loss", rich_help_panel=MODEL, help="What the choice makes small."
        ),
    ] = "error",
    use: Use = None,
    ignore: Ignore = None,
    drop_missing: DropMissing = False,
    impute: Impute = None,
    weights: Weights = None,
    groups: Groups = None,
    seed: Seed = None,
    jobs: Jobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit a classifier to a table with a column of labels, and write it to a file.

    opgd fit wine.csv --target cultivar -o wine.opgd
    """
    settings = Settings(
        axes=axes,
        shrinkage=shrinkage,
        ridge=ridge,
        subclasses=subclasses,
        covariance=covariance,
        cv=whole_or_share("--cv", cv),
        scoring=scoring,
        seed=seed,
        jobs=jobs,
    )
    estimator = settings.estimator()

    from opgd.cli.facts import model_facts, page
    from opgd.cli.output import new_file
    from opgd.cli.reading import read_table
    from opgd.cli.selection import Choice
    from opgd.cli.training import check_imputation, prepare
    from opgd.model_file import save_model

    voice = Voice(quiet, as_json)
    check_imputation(impute)
    path = new_file(output, force=force, inputs=[data])
    choice = Choice(
        use=use or [],
        ignore=ignore or [],
        drop_missing=drop_missing,
        impute=impute,
        target=target,
        weights=weights,
        groups=groups,
    )
    training = prepare(read_table(data, voice), choice, voice)
    fitted, estimate = settings.fitted(estimator, training, voice)
    notes = training_notes(fitted, target, training.y, training.n_left_out, groups) | estimate
    save_model(
        fitted,
        path,
        notes={"training": notes, "preprocessing": training.preprocessing},
        overwrite=force,
    )
    values = None if training.imputation is None else training.imputation["values"]
    facts = {"model": str(path)} | model_facts(fitted, notes, values)
    voice.result(facts, page(facts, f"Model {path}"))
