"""The command `opgd cluster`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from opgd.cli.console import Terminal, quote
from opgd.cli.errors import BadInput
from opgd.cli.model_summary import collect_facts, print_facts
from opgd.cli.options import (
    MODEL,
    OUTPUT,
    As,
    AsJson,
    Covariance,
    Data,
    DropMissing,
    DryRun,
    Force,
    Ignore,
    Impute,
    Jobs,
    NewModel,
    Quiet,
    Use,
    Weights,
    check_covariance,
    check_output,
)

if TYPE_CHECKING:
    from opgd.cli.tables.training import Training

CRITERIA = ("bic", "icl", "aic")


def cluster(
    data: Data,
    output: NewModel = None,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters",
            "-k",
            metavar="K|K,K|auto",
            rich_help_panel=MODEL,
            help="Number of clusters; auto tries 1, 2, ... until three in turn are no better.",
        ),
    ] = "auto",
    axes: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=MODEL, help="Number of axes.")
    ] = None,
    covariance: Covariance = None,
    criterion: Annotated[
        str,
        typer.Option(
            metavar="|".join(CRITERIA),
            rich_help_panel=MODEL,
            help="Criterion to select the number of clusters.",
        ),
    ] = "bic",
    merge: Annotated[
        int | None,
        typer.Option(
            min=1,
            rich_help_panel=MODEL,
            help="Merge overlapping Gaussians, of which -k is then the number, into as many "
            "clusters.",
        ),
    ] = None,
    noise: Annotated[
        bool,
        typer.Option(
            "--noise", rich_help_panel=MODEL, help="Leave outliers out of the clusters (label -1)."
        ),
    ] = False,
    labels: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=OUTPUT, help="Table of clusters to write."),
    ] = None,
    use: Use = None,
    ignore: Ignore = None,
    kinds: As = None,
    drop_missing: DropMissing = False,
    impute: Impute = None,
    weights: Weights = None,
    dry_run: DryRun = False,
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=MODEL, help="Random seed.")] = 0,
    jobs: Jobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit a mixture model to a table without labels and write it to a model file.

    opgd cluster wine.csv -k 3 -o clusters.opgd --labels clusters.csv
    """
    from opgd import OPGDMixture
    from opgd.cli.models import predict_rows, save_trained_model
    from opgd.cli.tables.training import Selection, parse_kinds, read_training, show_encoding
    from opgd.cli.tables.write import (
        TableOutput,
        build_answer_table,
        check_new_file,
        check_other_file,
    )

    terminal = Terminal(quiet, as_json)
    selection = Selection(
        use, ignore, drop_missing, impute, weights=weights, kinds=parse_kinds(kinds)
    )
    model_path = check_output(output, dry_run)
    if dry_run:
        silent = Terminal(quiet=True)
        show_encoding(read_training(data, selection, silent, allow_nan=True), terminal)
        return
    path = check_new_file(model_path, force=force, inputs=[data])
    table_output = None
    if labels is not None:
        check_other_file(labels, path)
        table_output = TableOutput(labels, force=force, inputs=[data])
    mixture = OPGDMixture(
        _parse_clusters(clusters),
        n_components=axes,
        covariance_type=check_covariance(covariance or "diag"),
        criterion=_check_criterion(criterion),
        merge=merge,
        noise=noise,
        random_state=seed,
        n_jobs=jobs,
    )
    allow_nan = mixture.__sklearn_tags__().input_tags.allow_nan
    training = read_training(data, selection, terminal, allow_nan=allow_nan)
    with terminal.show_progress("clustering", mixture):
        mixture.fit(training.X, sample_weight=training.weights)
    notes = _summarize_clusters(mixture, training, criterion)
    save_trained_model(mixture, path, notes, training, force=force)
    if table_output is not None:
        answers = predict_rows(mixture, training.X)
        table_output.write([build_answer_table(training.X.index.to_numpy(), answers)], terminal)
    facts: dict[str, Any] = {"model": str(path), "labels": labels}
    facts |= collect_facts(mixture, notes, training.fill_values, training.stored_encoder)
    print_facts(facts, terminal)


def _parse_clusters(text: str) -> int | list[int] | str:
    """Return the number or numbers of clusters, or "auto"."""
    if text == "auto":
        return text
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise BadInput(
            f"-k must be integers separated by commas or auto, got {quote(text)}."
        ) from None
    if min(numbers) < 1:
        raise BadInput(f"Each value of -k must be at least 1, got {min(numbers)}.")
    return numbers[0] if len(numbers) == 1 else numbers


def _check_criterion(name: str) -> str:
    """Return the name of a criterion; raise BadInput for another word."""
    if name not in CRITERIA:
        raise BadInput(f"--criterion must be one of {', '.join(CRITERIA)}; got {quote(name)}.")
    return name


def _describe_selection(mixture: Any, criterion: str) -> list[str]:
    """Return one line for each number of clusters that was tried, if there are several.

    The criterion is the one that selects, a mean of two densities (see `selection_`), relative to
    that of the selected number; lower is better.
    """
    from opgd._fit.cluster_numbers import is_admissible

    table = mixture.selection_
    if len(table["n_clusters"]) == 1:
        return []
    chosen = list(table["n_clusters"]).index(len(mixture.means_))
    columns = (table[key] for key in ("n_clusters", "selected_by", "smallest"))
    lines = [
        f"{number}: mean {criterion} {value - table['selected_by'][chosen]:+.0f}, smallest cluster "
        f"{smallest:.1%}{'' if admissible else ', too small'}"
        for number, value, smallest, admissible in zip(*columns, is_admissible(table), strict=True)
    ]
    lines[chosen] += " (selected)"
    return lines


def _summarize_clusters(mixture: Any, training: "Training", criterion: str) -> dict[str, Any]:
    """Return a summary of the training rows for the model file."""
    sizes = [int((mixture.labels_ == k).sum()) for k in range(mixture.n_clusters_)]
    chosen = list(mixture.selection_["n_clusters"]).index(len(mixture.means_))
    return {
        "rows": len(training.X),
        "rows_left_out": training.n_left_out,
        "cluster_sizes": sizes,
        "noise_rows": int((mixture.labels_ == -1).sum()),
        "cluster_profiles": [
            f"{profile.cluster}: {profile.describe('rows')}"
            for profile in mixture.profiles(training.X)
        ],
        "numbers_of_clusters": _describe_selection(mixture, criterion),
        criterion: float(mixture.selection_[criterion][chosen]),
    }
