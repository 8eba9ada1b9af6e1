"""Sentences of the first screen of a report."""

import math
from collections.abc import Sequence

import numpy as np

from opgd.comparison import MethodSummary
from opgd.inspection.evaluation import Evaluation
from opgd.inspection.loadings import AxisLoadings, CorrelatedPair
from opgd.inspection.tables import ListedRow
from opgd.inspection.text import format_percentage, shorten
from opgd.report.usual import OURS

MAX_NAMES = 6
MAX_PAIRS = 4
MIN_COMPARED = 30
"""With fewer tested rows, differences between methods are not described."""
IMBALANCE = 3.0
"""Ratio of the largest to the smallest class from which classes are imbalanced."""

MIN_CLASS = 5
"""With fewer rows of a class, its recall is not described."""
MAX_MISSED = 4

CLOSE = 0.5
"""Ratio of two probabilities from which a decision is close."""
HIGH_LOSS = 1.2
"""Ratio of log-losses from which that of the model is called high."""
WEIGHTED_CLASSES = (
    "The classes are weighted in this model, which the error on all rows does not reward; compare "
    "the recalls of the classes, too."
)


def join(names: Sequence[str]) -> str:
    """Return names as "a, b and c"."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def list_some(names: Sequence[str], max_names: int = MAX_NAMES) -> str:
    """Return at most `max_names` names, and how many more there are."""
    return _join_some([shorten(name, 30) for name in names], max_names)


def _join_some(parts: Sequence[str], max_parts: int) -> str:
    if len(parts) <= max_parts:
        return join(parts)
    return f"{', '.join(parts[: max_parts - 1])} and {len(parts) - max_parts + 1} more"


def count(number: int, noun: str) -> str:
    """Return a number with a noun, such as "1 row" or "1,200 rows"."""
    plural = {"axis": "axes", "class": "classes"}.get(noun, noun + "s")
    return f"{number:,} {noun if number == 1 else plural}"


def describe_task(
    target: str | None,
    groups: list[str],
    is_mixture: bool,
    n_rows: int,
    n_columns: int,
    n_used: int,
) -> str:
    """Return what was fitted, on what; `n_used` of the columns contribute to the features."""
    columns = count(n_columns, "column")
    if n_used < n_columns:
        columns = f"{n_used:,} of {columns}"
    data = f"{columns} of a table with {count(n_rows, 'row')}"
    if is_mixture:
        return f"{count(len(groups), 'cluster')} found in {data}, without labels."
    what = f"{shorten(target, 60)} ({list_some(groups)})" if target else list_some(groups)
    return f"A model that predicts {what} from {data}."


def describe_row_names(names: list[str] | None, n_rows: int) -> str:
    """Return what rows are called: `names` of the table's index, positions without names."""
    if names is None:
        return "Rows are numbered by their position in the table, counting data rows from 0."
    if not all(name.isdecimal() for name in names):
        return "Row names are those of the table's index."
    numbers = [int(name) for name in names]
    return (
        f"Row numbers are those of the table's index: {min(numbers)} to {max(numbers)}, for "
        f"{count(n_rows, 'row')}; a number is not always the position of its row."
    )


def describe_performance(
    evaluation: Evaluation, corrected_error: float | None = None, *, class_weighted: bool = False
) -> list[str]:
    """Return how good the predictions are, and how they were tested.

    `corrected_error` is that of a model that was selected by cross-validation. If it is weighted by
    class, it is not a share of rows.
    """
    n, error = evaluation.n_rows, evaluation.error
    tested = {
        "test": f"{count(n, 'test row')} that the model had not seen",
        "cv": f"{count(n, 'row')}, each predicted by a copy of the model fitted without it "
        f"({evaluation.note})",
        "training": f"the {count(n, 'row')} it was fitted to",
    }[evaluation.source]
    wrong = round(n * error)
    often = "no row" if not wrong else f"{count(wrong, 'row')}, about 1 in {round(1 / error)},"
    verb = "is" if wrong <= 1 else "are"
    sentences = [f"Tested on {tested}: {often} {verb} misclassified."]
    if evaluation.source == "cv" and corrected_error is not None:
        optimistic = "The model was selected on these rows, so this is optimistic"
        if class_weighted:
            sentences.append(f"{optimistic}.")
        elif corrected_error > error:
            sentences.append(
                f"{optimistic}: {corrected_error:.1%} of new rows are expected to be misclassified."
            )
    if evaluation.source == "training":
        sentences.append(f"This is optimistic: {evaluation.note}.")
    return sentences


def describe_missed(evaluation: Evaluation, groups: list[str]) -> str:
    """Return which classes have a recall below one half, "" without such classes.

    Classes with fewer than `MIN_CLASS` rows are ignored.
    """
    sizes, found = evaluation.confusion.sum(axis=1), np.diag(evaluation.confusion)
    missed = [k for k in evaluation.missed_classes if sizes[k] >= MIN_CLASS]
    if not missed:
        return ""
    rows = _name_rows(evaluation)
    hint = "if missing them is expensive, see the user guide on imbalanced classes and costs."
    if len(missed) == 1:
        k = missed[0]
        n_found = {0: "none is", 1: "1 is"}.get(int(found[k]), f"{found[k]:,} are")
        return (
            f"Of the {sizes[k]:,} {rows} of class {shorten(groups[k], 30)}, {n_found} found "
            f"(recall {evaluation.recalls[k]:.0%}); {hint}"
        )
    parts = [
        f"{shorten(groups[k], 30)} ({found[k]:,} of {sizes[k]:,}, recall "
        f"{evaluation.recalls[k]:.0%})"
        for k in missed
    ]
    return (
        f"Fewer than half of the {rows} are found of the classes {_join_some(parts, MAX_MISSED)}; "
        f"{hint}"
    )


def describe_unlisted(evaluation: Evaluation, groups: list[str]) -> str:
    """Return why rows of missed classes are not listed as label errors, "" without such classes."""
    missed = evaluation.missed_classes
    if not missed:
        return ""
    sizes, found = evaluation.confusion.sum(axis=1), np.diag(evaluation.confusion)
    rows = _name_rows(evaluation)
    share = f"fewer than half of their {rows}"
    if len(missed) == 1:
        k = missed[0]
        share = f"{found[k]:,} of its {count(int(sizes[k]), rows.removesuffix('s'))}"
    return (
        f"Rows of {name_classes(missed, groups)} are not listed: the model finds {share}, so that "
        "a wrong prediction says little about the label."
    )


def name_classes(classes: Sequence[int], groups: list[str]) -> str:
    """Return "class a", or "the classes a, b and 3 more"."""
    names = list_some([groups[k] for k in classes], MAX_MISSED)
    return f"class {names}" if len(classes) == 1 else f"the classes {names}"


def _name_rows(evaluation: Evaluation) -> str:
    return "test rows" if evaluation.source == "test" else "rows"


def describe_overconfidence(
    evaluation: Evaluation, methods: list[MethodSummary] | None, calibrated: bool
) -> str:
    """Return that probabilities are too extreme, and what to do; "" if they are not."""
    found = evaluation.overconfidence
    if found is None or evaluation.source == "training":
        return ""
    sentence = (
        f"The probabilities are too extreme: of {count(found.n_rows, 'row')} predicted with a "
        f"probability above {found.above:g}, {found.accuracy:.1%} are right, not "
        f"{found.confidence:.1%} as the probabilities say."
    )
    losses = {
        method.name: method.means["log_loss"]
        for method in methods or []
        if method.n_splits and "log_loss" in method.means
    }
    usual = {name: losses[name] for name in ("LDA", "logistic regression") if name in losses}
    if usual and OURS in losses and losses[OURS] > HIGH_LOSS * min(usual.values()):
        best = min(usual, key=lambda name: usual[name])
        sentence += (
            f" The log-loss, to which such errors add most, is {losses[OURS]:.3f}, against "
            f"{usual[best]:.3f} of {best}."
        )
    return sentence + ("" if calibrated else " OPGDClassifierCV calibrates probabilities.")


def describe_reason(row: ListedRow, groups: list[str], n_rows: int) -> str:
    """Return why a misclassified row should be checked; `n_rows` is the size of the table."""
    predicted = f"predicted {shorten(groups[row.predicted], 28)}"
    probability = row.predicted_probability
    share = f"{probability:.1%}" if probability < 0.9995 else "> 99.9%"
    if row.label < 0 or row.label_probability is None:
        reason = f"label unknown to the model, {predicted} with {share}"
    elif row.label_probability >= CLOSE * row.predicted_probability:
        label = shorten(groups[row.label], 28)
        reason = f"close decision: {predicted} with {share}, {label} {row.label_probability:.1%}"
    else:
        reason = f"label {shorten(groups[row.label], 28)}, {predicted} with {share}"
    return reason + ("; far from all classes" if row.typicality * n_rows < 1 else "")


def is_imbalanced(evaluation: Evaluation) -> bool:
    """Return whether the largest class has several times as many rows as the smallest."""
    sizes = evaluation.confusion.sum(axis=1)
    present = sizes[sizes > 0]
    return bool(len(present) > 1 and present.max() >= IMBALANCE * present.min())


def describe_comparison(methods: list[MethodSummary], n_rows: int) -> str:
    """Return which method has the lowest error, and which differences are clear.

    `n_rows` is the number of rows that the methods were tested on.
    """
    others = [method for method in methods if method.name != OURS and method.n_splits]
    if not others or len(others) == len(methods):
        return ""
    if n_rows < MIN_COMPARED:
        return f"{count(n_rows, 'row')} are too few to compare it with other methods."
    if any(method.low != method.low for method in others):  # a single test set has no intervals
        best = min(others, key=lambda method: method.mean)
        ours = next(method for method in methods if method.name == OURS)
        return _compare_two(ours.mean, best.mean, best.name, n_rows)
    return _compare_on_folds(methods)


def _compare_on_folds(methods: list[MethodSummary]) -> str:
    """Return which method has the lowest mean error, and where the others are."""
    n_splits = max(method.n_splits for method in methods)
    complete = [method for method in methods if method.n_splits == n_splits]
    ours = next(method for method in methods if method.name == OURS)
    best = min(complete, key=lambda method: (method.mean, method is not ours))
    if best is ours:
        first = f"The model has the lowest error ({ours.mean:.1%})"
    else:
        name = best.name[:1].upper() + best.name[1:]
        first = (
            f"{name} has the lowest error ({best.mean:.1%} against {ours.mean:.1%} of this model)"
        )
        first += (
            ", a clear difference"
            if is_clear(best)
            else f", but with {n_splits} folds the difference is not certain"
        )
    others = [method for method in complete if method not in (best, ours)]
    parts = [
        f"the error of {join(names)} is {verdict}"
        for verdict in VERDICTS
        if (names := [f"{m.name} ({m.mean:.1%})" for m in others if judge(m) == verdict])
    ]
    partly = [method.name for method in methods if method.n_splits < n_splits and method.n_splits]
    if partly:
        parts.append(f"{join(partly)} had results on some folds only")
    return "; ".join([first, *parts]) + " (95% intervals of the differences over the folds)."


VERDICTS = (
    "clearly lower",
    "lower, but not certainly",
    "equal",
    "higher, but not certainly",
    "clearly higher",
)


def judge(method: MethodSummary) -> str:
    """Return how the error of a method compares with that of the model."""
    if is_clear(method):
        return "clearly lower" if method.difference < 0 else "clearly higher"
    if not method.difference:
        return "equal"
    return f"{'lower' if method.difference < 0 else 'higher'}, but not certainly"


def is_clear(method: MethodSummary) -> bool:
    """Return whether the interval of the difference from the model does not contain 0."""
    return method.low > 0 or method.high < 0


def _compare_two(ours: float, best: float, name: str, n_rows: int) -> str:
    """Return how two errors on one test set differ, and whether this is more than chance.

    The standard error is that of two independent sets, which is larger than that of the same rows.
    """
    difference = best - ours
    if not difference:
        return f"Its error equals that of the best other method, {name}."
    points = f"{100 * abs(difference):.1f} percentage points"
    side = "lower" if difference > 0 else "higher"
    deviation = math.sqrt((ours * (1 - ours) + best * (1 - best)) / n_rows)
    doubt = ""
    if abs(difference) < 1.96 * deviation:
        doubt = f"; with {count(n_rows, 'test row')} this is not a clear difference"
    return f"Its error is {points} {side} than that of the best other method, {name}{doubt}."


def describe_axes(
    loadings: list[AxisLoadings],
    columns: list[str],
    shares: Sequence[float],
    pairs: Sequence[CorrelatedPair] = (),
) -> str:
    """Return the columns with the largest coefficients on the first two axes."""
    parts: list[str] = []
    named: set[int] = set()
    for axis in loadings[:2]:
        if parts and axis.axis < len(shares) and shares[axis.axis] < 0.005:
            break  # contributes nothing
        named |= set(axis.columns[:3])
        names = [shorten(columns[j], 30) for j in axis.columns[:3]]
        share = ""
        if axis.axis < len(shares):
            share = f" ({format_percentage(shares[axis.axis])} of the separation)"
        parts.append(f"axis {axis.axis + 1}{share} depends mostly on {join(names)}")
    sentence = "; ".join(parts)
    both = [pair for pair in pairs if {pair.first, pair.second} <= named]
    return sentence[:1].upper() + sentence[1:] + "." + describe_pairs(both, columns, " ")


def describe_pairs(pairs: Sequence[CorrelatedPair], columns: list[str], before: str = "") -> str:
    """Return which columns contain the same information, "" without such columns."""
    if not pairs:
        return ""
    listed = [
        f"{shorten(columns[pair.first], 30)} and {shorten(columns[pair.second], 30)} "
        f"(correlation {_format_signed(pair.correlation)})"
        for pair in sorted(pairs, key=lambda pair: -abs(pair.correlation))[:MAX_PAIRS]
    ]
    more = f", and {len(pairs) - MAX_PAIRS} more pairs" if len(pairs) > MAX_PAIRS else ""
    return (
        f"{before}Nearly the same information is in {'; '.join(listed)}{more}: read their "
        "coefficients together, since they can cancel each other."
    )


def _format_signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "\u2212")
