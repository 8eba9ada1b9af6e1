"""The command `opgd fit`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opgd.cli.console import Terminal, quote
from opgd.cli.error_estimates import estimate_error, get_search_error, summarize_training
from opgd.cli.errors import BadInput
from opgd.cli.model_summary import collect_facts, print_facts
from opgd.cli.options import (
    MODEL,
    As,
    AsJson,
    Covariance,
    Data,
    DropMissing,
    DryRun,
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
    check_covariance,
    check_output,
    parse_folds,
)

if TYPE_CHECKING:
    from opgd.cli.tables.training import Training

SCORES = {
    "error": "accuracy",
    "log-loss": "neg_log_loss",
    "balanced": "balanced_accuracy",
    "f1": "f1_macro",
    "average-precision": "average_precision",
}
AUTO, ALL = "auto", "all"
RULES = {"best": "best", "one-se": "one_se"}


def fit(
    data: Data,
    target: Target,
    output: NewModel = None,
    axes: Annotated[
        str,
        typer.Option(
            metavar="auto|N|N,N",
            rich_help_panel=MODEL,
            help="Number of axes; several values or auto use cross-validation.",
        ),
    ] = "auto",
    shrinkage: Annotated[
        str | None,
        typer.Option(
            metavar="S|S,S|auto",
            rich_help_panel=MODEL,
            help="Shrinkage toward the pooled covariance, 0 to 1.",
        ),
    ] = None,
    ridge: Annotated[
        str | None,
        typer.Option(
            metavar="R|R,R",
            rich_help_panel=MODEL,
            help="Shrinkage toward uncorrelated columns, 0 to 1.",
        ),
    ] = None,
    subclasses: Annotated[
        str | None,
        typer.Option(
            metavar="N|N,N|auto", rich_help_panel=MODEL, help="Number of Gaussians per class."
        ),
    ] = None,
    covariance: Covariance = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="auto|all|N|N,N",
            rich_help_panel=MODEL,
            help="Number of columns to use, after encoding (a category is encoded as several); "
            "several values or auto use cross-validation. By default, cross-validation of other "
            "settings removes columns if this is clearly better.",
        ),
    ] = None,
    class_weight: Annotated[
        str | None,
        typer.Option(
            metavar="balanced", rich_help_panel=MODEL, help="Give all classes the same weight."
        ),
    ] = None,
    cv: Annotated[
        str,
        typer.Option(
            metavar="N|SHARE",
            rich_help_panel=MODEL,
            help="Number of folds, or held-out share of rows.",
        ),
    ] = "5",
    scoring: Annotated[
        str,
        typer.Option(
            metavar="|".join(SCORES), rich_help_panel=MODEL, help="Criterion to select settings by."
        ),
    ] = "error",
    rule: Annotated[
        str,
        typer.Option(
            metavar="best|one-se",
            rich_help_panel=MODEL,
            help="Select the best model, or the simplest within one standard error of it.",
        ),
    ] = "best",
    use: Use = None,
    ignore: Ignore = None,
    kinds: As = None,
    drop_missing: DropMissing = False,
    impute: Impute = None,
    weights: Weights = None,
    groups: Groups = None,
    dry_run: DryRun = False,
    seed: Seed = None,
    jobs: Jobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit a classifier to a table with a label column and write it to a model file.

    opgd fit wine.csv --target cultivar -o wine.opgd

    Columns can be numbers, categories, dates or text such as 21% and $5; identifiers, constant
    columns and free text are dropped. --dry-run shows what is done with each column, and --as
    changes it.
    """
    settings = Settings(
        axes=axes,
        shrinkage=shrinkage,
        ridge=ridge,
        subclasses=subclasses,
        covariance=covariance,
        columns=columns,
        class_weight=class_weight,
        cv=parse_folds("--cv", cv),
        scoring=scoring,
        rule=rule,
        seed=seed,
        jobs=jobs,
    )
    estimator = settings.make_estimator()

    from opgd.cli.models import save_trained_model
    from opgd.cli.tables.training import Selection, parse_kinds, read_training, show_encoding
    from opgd.cli.tables.write import check_new_file

    terminal = Terminal(quiet, as_json)
    selection = Selection(
        use, ignore, drop_missing, impute, target, weights, groups, parse_kinds(kinds)
    )
    model_path = check_output(output, dry_run)
    read = partial(read_training, data, selection, in_batches=True, dry_run=dry_run)
    if dry_run:
        show_encoding(read(Terminal(quiet=True), allow_nan=True), terminal)
        return
    path = check_new_file(model_path, force=force, inputs=[data])
    allow_nan = estimator.__sklearn_tags__().input_tags.allow_nan
    training = read(terminal, allow_nan=allow_nan)
    estimate = settings.fit(estimator, training, terminal)
    notes = summarize_training(estimator, target, training.y, training.n_left_out, groups)
    notes |= estimate
    save_trained_model(estimator, path, notes, training, force=force)
    facts = {"model": str(path)}
    facts |= collect_facts(estimator, notes, training.fill_values, training.stored_encoder)
    print_facts(facts, terminal)


@dataclass(frozen=True)
class Settings:
    """The options of `opgd fit`, as text."""

    axes: str
    shrinkage: str | None
    ridge: str | None
    subclasses: str | None
    covariance: str | None
    columns: str | None
    class_weight: str | None
    cv: int | float
    scoring: str
    rule: str
    seed: int | None
    jobs: int

    def make_estimator(self) -> Any:
        """Return a classifier, or a cross-validated search if any option has several values."""
        from opgd import OPGDClassifier, OPGDClassifierCV

        values = self._parse_values()
        scores, rules = (table | {v: v for v in table.values()} for table in (SCORES, RULES))
        if self.scoring not in scores:
            names = ", ".join(SCORES)
            raise BadInput(f"--scoring must be one of {names}; got {quote(self.scoring)}.")
        if self.class_weight not in (None, "balanced"):
            raise BadInput(f"--class-weight must be balanced, got {quote(self.class_weight)}.")
        if self.rule not in rules:
            raise BadInput(f"--rule must be best or one-se, got {quote(self.rule)}.")
        if self._is_selection(values):
            grid: Any = {key: tuple(candidates) for key, candidates in values.items()}
            if self.columns == AUTO:
                grid["sparsity"] = AUTO
            return OPGDClassifierCV(
                **grid,
                class_weight=self.class_weight,
                cv=self.cv,
                scoring=scores[self.scoring],
                rule=rules[self.rule],
                n_jobs=self.jobs,
                random_state=self.seed,
            )
        if self.rule != "best":
            raise BadInput("--rule one-se needs --axes auto or several values of an option.")
        single: Any = {key: candidates[0] for key, candidates in values.items()}
        return OPGDClassifier(
            **single, class_weight=self.class_weight, n_jobs=self.jobs, random_state=self.seed
        )

    def _is_selection(self, values: dict[str, list[Any]]) -> bool:
        """Return whether settings are selected by cross-validation."""
        is_auto = AUTO in (self.axes, self.columns)
        return is_auto or any(len(candidates) > 1 for candidates in values.values())

    def fit(self, estimator: Any, training: "Training", terminal: Terminal) -> dict[str, Any]:
        """Fit the estimator and return an estimate of its error."""
        sample = training if training.sample is None else training.sample
        self._check_folds(sample)
        if not hasattr(estimator, "cv"):
            with terminal.show_progress("fitting", estimator):
                estimator.fit(training.X, training.y, sample_weight=training.weights)
            with terminal.show_progress("estimating the error"):
                return _name_sample(estimate_error(estimator, sample, self.cv), training)
        self._select(estimator, sample, terminal)
        if training.sample is not None:
            with terminal.show_progress("fitting the selected model to all rows"):
                estimator.refit(training.X, training.y, sample_weight=training.weights)
        error = get_search_error(
            estimator, sample.y, sample.weights, grouped=sample.groups is not None
        )
        return _name_sample(error, training)

    def _select(self, estimator: Any, training: "Training", terminal: Terminal) -> None:
        """Select settings by cross-validation."""
        if training.groups is not None:
            from sklearn.model_selection import StratifiedGroupKFold

            estimator.set_params(cv=StratifiedGroupKFold(int(self.cv)))
        estimator.set_params(verbose=int(not terminal.quiet))
        estimator.fit(
            training.X, training.y, sample_weight=training.weights, groups=training.groups
        )
        # splitters cannot be stored in a model file, and progress is not a property of the model
        estimator.set_params(cv=self.cv, verbose=0)

    def _parse_values(self) -> dict[str, list[Any]]:
        """Return lists of values by parameter, for the options that were passed."""
        covariances = _parse_list("--covariance", self.covariance, str)
        values: dict[str, list[Any]] = {
            "n_components": _parse_numbers("--axes", self.axes),
            "shrinkage": _parse_shares("--shrinkage", self.shrinkage),
            "ridge": _parse_shares("--ridge", self.ridge),
            "n_subclasses": _parse_counts("--subclasses", self.subclasses, AUTO),
            "covariance_type": [check_covariance(form) for form in covariances],
            "sparsity": [0] if self.columns == ALL else _parse_numbers("--columns", self.columns),
        }
        return {key: candidates for key, candidates in values.items() if candidates}

    def _check_folds(self, training: "Training") -> None:
        if training.groups is not None:
            n_groups = len(set(training.groups))
            if isinstance(self.cv, float) or n_groups < self.cv:
                raise BadInput(
                    f"--groups needs at least as many groups as folds: got {n_groups} groups "
                    f"and --cv {self.cv}."
                )
        elif isinstance(self.cv, int):
            assert training.y is not None
            largest = max((training.y == label).sum() for label in set(training.y.tolist()))
            if largest < self.cv:
                raise BadInput(
                    f"{self.cv} folds (--cv) need a class with at least {self.cv} rows; "
                    f"the largest has {largest}."
                )


def _name_sample(estimate: dict[str, Any], training: "Training") -> dict[str, Any]:
    """Return an error estimate that says from which rows of a large table it is."""
    if training.sample is None:
        return estimate
    rows = f"{len(training.sample.X)} of {len(training.X)} rows"
    return estimate | {"estimated_by": f"{estimate['estimated_by']}, on {rows}"}


def _parse_numbers(option: str, text: str | None) -> list[Any]:
    """Return positive numbers, none for auto."""
    return [] if text == AUTO else _parse_counts(option, text)


def _parse_counts(option: str, text: str | None, word: str | None = None) -> list[Any]:
    """Return positive numbers; `word` is kept as text."""
    numbers = _parse_list(option, text, int, word)
    for number in numbers:
        if number != word and number < 1:
            raise BadInput(f"Each value of {option} must be at least 1, got {number}.")
    return numbers


def _parse_shares(option: str, text: str | None) -> list[Any]:
    """Return numbers from 0 to 1; the word auto is kept as text."""
    shares = _parse_list(option, text, float, AUTO)
    for share in shares:
        if share != AUTO and not 0 <= share <= 1:
            raise BadInput(
                f"Each value of {option} must be auto or a number from 0 to 1, got {share:g}."
            )
    return shares


def _parse_list(
    option: str, text: str | None, parse: Callable[[str], Any], word: str | None = None
) -> list[Any]:
    """Return the comma-separated values; `word` is kept as text."""
    values = []
    for part in [] if text is None else text.split(","):
        try:
            values.append(part.strip() if part.strip() == word else parse(part.strip()))
        except ValueError:
            kind = "an integer" if parse is int else "a number"
            alternative = " or auto" if word or option == "--axes" else ""
            if option == "--columns":
                kind = "an integer, unless it is auto or all"
            raise BadInput(
                f"Each value of {option} must be {kind}{alternative}, got {quote(part)}."
            ) from None
    return values
