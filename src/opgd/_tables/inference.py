"""Decide how a column is encoded, from its cells in the training table."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from opgd._tables.cells import Cells, DateCells, NumberCells, OtherCells, WordCells, read_words
from opgd._tables.columns import (
    BOOLEANS,
    CYCLES,
    CategoryColumn,
    ChangedColumn,
    Column,
    DateColumn,
    NumberColumn,
    get_position,
    quote,
)
from opgd._tables.text_dates import (
    DAY_FIRST,
    MONTH_FIRST,
    describe_ambiguity,
    find_clock_time,
    find_date_format,
    is_ambiguous,
)
from opgd._tables.text_numbers import (
    MIN_SHARE,
    PLAIN,
    find_common_text,
    find_format,
    find_role_of_points,
    is_missing_number,
)
from opgd._utils.text import list_names
from opgd.core.types import AnyArray, FloatArray, IntArray

KINDS = ("category", "number", "date", "ignore")
"""Kinds that can be requested."""
ID_NAME = re.compile(r"(^|[\W_])(id|uid|uuid|guid|key|index|nr)$|[a-z](ID|Id|Key)$", re.ASCII)
"""Names of columns whose distinct integers identify rows."""
MIN_ROWS_FOR_ID = 10
MIN_DIGITS_OF_CODES = 9
"""Digits from which different integers of one length, in groups, are codes like "612 345 678"."""
DISTINCT_SHARE = 0.95
"""Share of distinct values from which text identifies rows."""
FREQUENT_SHARE = 0.5
"""Share of rows in frequent categories from which text with many values is categorical."""
WORDS_OF_TEXT = 3.0
"""Mean number of words in a cell from which text is free text."""
REPORTED_SHARE = 0.5
"""Share of numbers or dates from which dropping a column of text is reported."""
DAYS_PER_YEAR = 365
MIN_POSITIONS = 3
"""Distinct positions in a cycle; with two, sine and cosine are collinear."""
DROPPED = "dropped: "
AUTO_COUNT, AUTO_SHARE = 10, 0.05


class UnreadableColumn(ValueError):  # noqa: N818
    """Raised for a column of which no cell can be read as the requested kind."""

    def __init__(self, name: str, kind: str, reason: str) -> None:
        super().__init__(
            f"kinds[{name!r}] is {kind!r}, but {reason}; convert the column, or pass another kind."
        )
        self.name, self.kind, self.reason = name, kind, reason


@dataclass(frozen=True)
class Decision:
    """How a column is encoded, or why it is dropped."""

    kind: str
    action: str
    column: Column | None = None
    requested: bool = False
    note: str = ""  # what to warn of


@dataclass(frozen=True)
class CategoryLimits:
    """Limits of the number of categories of a column."""

    max_categories: int
    min_count: int  # rows that a category must have to be a level of its own

    @classmethod
    def make(cls, max_categories: int, min_frequency: Any, n_rows: int) -> "CategoryLimits":
        """Return the limits for a table; `min_frequency` is "auto", a count or a share."""
        if min_frequency == "auto":
            return cls(max_categories, min(AUTO_COUNT, int(np.ceil(AUTO_SHARE * n_rows))))
        if isinstance(min_frequency, float):
            return cls(max_categories, int(np.ceil(min_frequency * n_rows)))
        return cls(max_categories, int(min_frequency))


def drop(kind: str, reason: str) -> Decision:
    """Return the decision to drop a column."""
    return Decision(kind, DROPPED + reason)


def decide(name: str, cells: Cells, kind: str | None, limits: CategoryLimits) -> Decision:
    """Return how a column is encoded; `kind` is the requested kind, None to infer it."""
    if kind == "ignore":
        return drop("ignored", "as requested")
    if np.all(cells.missing):
        return drop("empty", "no values")
    if isinstance(cells, OtherCells):
        if kind is not None:
            raise ValueError(f"Column {name!r} cannot be encoded as a {kind}: it has {cells.what}.")
        return drop("unsupported", cells.what)
    if kind is not None:
        return _decide_as_requested(name, cells, kind, limits)
    if isinstance(cells, DateCells):
        return _decide_date(DateColumn(name), cells)
    if isinstance(cells, NumberCells):
        return _decide_number(NumberColumn(name), cells.values)
    return _decide_words(name, cells, limits)


def _decide_as_requested(name: str, cells: Cells, kind: str, limits: CategoryLimits) -> Decision:
    try:
        decision = _decide_kind(name, cells, kind, limits)
    except ChangedColumn as error:
        raise UnreadableColumn(name, kind, _find_unreadable(cells, kind) or error.now) from None
    if decision.kind == "empty" and (reason := _find_unreadable(cells, kind)):
        raise UnreadableColumn(name, kind, reason)
    if decision.column is None:
        return _refuse_request(name, kind, decision)
    return replace(decision, requested=True)


def _find_unreadable(cells: Cells, kind: str) -> str:
    """Return why no cell can be read as a kind, an empty string if all are missing."""
    if isinstance(cells, DateCells):
        return "the column has dates"
    if not isinstance(cells, WordCells):
        return "the column has numbers"
    missing = is_missing_number(cells.words)
    examples = [word for word, is_dash in zip(cells.words, missing, strict=True) if not is_dash]
    if not examples:
        return ""
    return f"none of the cells can be read as a {kind}, for example {quote(examples[0])}"


def _decide_kind(name: str, cells: Cells, kind: str, limits: CategoryLimits) -> Decision:
    if kind == "number":
        column = NumberColumn(name)
        if isinstance(cells, WordCells):
            found = find_format(cells.words, cells.count_words(), min_share=0.0)
            column = column if found is None else NumberColumn(name, found.style, found.unit)
            return _decide_written_number(column, cells, requested=True)
        return _decide_number(column, column.encode(cells, [])[:, 0], requested=True)
    if kind == "date":
        found_format = ""
        if isinstance(cells, WordCells):
            found_format = find_date_format(cells.words, cells.count_words(), 0.0) or ""
        return _decide_date(DateColumn(name, found_format), cells)
    words = cells
    if isinstance(cells, NumberCells):
        words = read_words(cells.values.tolist(), declared=True, numeric=True)
    if not isinstance(words, WordCells):
        raise ValueError(f"Column {name!r} has dates, which cannot be encoded as a category.")
    return _decide_category(name, words, limits)


def _refuse_request(name: str, kind: str, decision: Decision) -> Decision:
    """Return the decision to drop a column that would have no features as the requested kind."""
    found = decision.action.removeprefix(DROPPED)
    reasons = {
        "constant": f"it is {found}",
        "empty": f"it has {found}",
        "identifier": "every value is rare",
    }
    reason = reasons.get(decision.kind, found)
    note = f"Column {name!r} was requested as {kind}, but {reason}. The column was dropped."
    return replace(drop(decision.kind, f"requested as {kind}, but {reason}"), note=note)


# numbers and dates


def _decide_number(column: NumberColumn, values: AnyArray, requested: bool = False) -> Decision:
    observed = values[~np.isnan(values)]
    if not len(observed):
        return drop("empty", "no values")
    if np.ptp(observed) == 0:
        return drop("constant", f"always {observed[0]:g}")
    if not requested and not column.unit and (reason := _find_identifier(column, observed)):
        return drop("identifier", reason)
    written = str(column.format)
    return Decision("number", f"kept ({written})" if written else "kept", column)


def _decide_written_number(
    column: NumberColumn, cells: WordCells, requested: bool = False
) -> Decision:
    """Return how numbers in text are encoded, with a note if points may separate thousands."""
    decision = _decide_number(column, column.encode(cells, [])[:, 0], requested)
    if column.style != "plain" or find_role_of_points(cells.words, column.unit) != "unclear":
        return decision
    example = next(word for word in cells.words if "." in word)
    note = (
        f"Column {column.name!r} has amounts such as {quote(example)}, whose point is read as a "
        "decimal one. If points separate thousands, remove them."
    )
    return replace(decision, note=note)


def _find_identifier(column: NumberColumn, observed: AnyArray) -> str:
    """Return why distinct integers identify the rows, an empty string if they do not."""
    if len(observed) < MIN_ROWS_FOR_ID or np.any(observed != np.rint(observed)):
        return ""
    ordered = np.unique(observed)
    if len(ordered) < len(observed):
        return ""
    if np.ptp(ordered) == len(ordered) - 1:
        return "it numbers the rows"
    if ID_NAME.search(column.name):
        return "a different integer in every row"
    n_digits = len(str(int(ordered[-1])))
    same_length = ordered[0] >= 10 ** (n_digits - 1)
    if column.style == "spaced" and same_length:
        return f"{n_digits} digits in every row" if n_digits >= MIN_DIGITS_OF_CODES else ""
    return ""


def _decide_date(column: DateColumn, cells: Cells) -> Decision:
    days = column.read_days(cells, [])
    observed = days[np.isfinite(days)]
    if not len(observed):
        return drop("empty", "no values")
    if np.ptp(observed) == 0:
        return drop("constant", f"always {_format_day(observed[0])}")
    cycles = [cycle for cycle in CYCLES if _varies(observed, cycle)]
    origin = float(np.floor(observed.min()))
    extra = "".join(f", {cycle}" for cycle in cycles)
    written = f" ({column.format})" if column.format else ""
    action = f"days since {_format_day(origin)}{extra}{written}"
    return Decision("date", action, DateColumn(column.name, column.format, origin, cycles))


def order_ambiguous_dates(decisions: dict[str, Decision], columns: dict[str, Cells]) -> list[str]:
    """Read ambiguous dates in text in the order of the other dates of the table.

    If there are no others, or in different orders, the month comes first; return notes on these.
    """
    ambiguous, orders = [], set()
    for name, decision in decisions.items():
        cells = columns[name]
        if isinstance(decision.column, DateColumn) and isinstance(cells, WordCells):
            order = decision.column.format
            if order == MONTH_FIRST and is_ambiguous(cells.words):
                ambiguous.append(name)
            elif order in (MONTH_FIRST, DAY_FIRST):
                orders.add(order)
    if orders == {DAY_FIRST}:
        for name in ambiguous:
            decision = _decide_date(DateColumn(name, DAY_FIRST), columns[name])
            decisions[name] = replace(decision, requested=decisions[name].requested)
    known = len(orders) == 1
    return [describe_ambiguity(ambiguous)] if ambiguous and not known else []


def _varies(days: FloatArray, cycle: str) -> bool:
    """Return whether a cycle varies; within a year, the month follows from the elapsed days."""
    if cycle == "month" and np.ptp(days) < DAYS_PER_YEAR:
        return False
    return len(np.unique(np.floor(get_position(days, cycle)))) >= MIN_POSITIONS


def _format_day(days: float) -> str:
    return str(np.datetime64(int(np.floor(days)), "D"))


# words


def _decide_words(name: str, cells: WordCells, limits: CategoryLimits) -> Decision:
    if cells.declared or set(cells.words) <= set(BOOLEANS):
        return _decide_category(name, cells, limits)
    column = _find_parser(name, cells, MIN_SHARE)
    if isinstance(column, NumberColumn):
        decision = _decide_written_number(column, cells)
        if decision.kind != "constant" or not is_missing_number(cells.words).any():
            return decision  # "1" and "-" are two categories
    if isinstance(column, DateColumn):
        return _decide_date(column, cells)
    counts = cells.count_words()
    frequent = counts[counts >= limits.min_count].sum() / counts.sum()
    if len(counts) > limits.max_categories and frequent < FREQUENT_SHARE:
        decision = _drop_text(cells)
    else:
        decision = _decide_category(name, cells, limits)
    if decision.column is None:
        decision = replace(decision, note=_describe_dropped(name, cells, decision.kind))
    return decision


def _find_parser(name: str, cells: WordCells, min_share: float) -> NumberColumn | DateColumn | None:
    """Return the column that reads at least a share of the cells as numbers or dates, or None."""
    counts = cells.count_words()
    if found := find_format(cells.words, counts, min_share):
        return NumberColumn(name, found.style, found.unit)
    if found_date := find_date_format(cells.words, counts, min_share):
        return DateColumn(name, found_date)
    return None


def _describe_dropped(name: str, cells: WordCells, kind: str) -> str:
    """Return a note on dropped text if many of its cells are numbers or dates."""
    column = _find_parser(name, cells, REPORTED_SHARE)
    if column is None:
        if time := find_clock_time(cells.words, cells.count_words()):
            return (
                f"Column {name!r} was dropped as {kind}, although its cells are times such as "
                f"{quote(time)}. Convert them to dates with times, or to hours, to use the column."
            )
        text, example = find_common_text(cells.words, cells.count_words())
        return text and (
            f"Column {name!r} was dropped as {kind}, although its cells are numbers with "
            f"{quote(text)}, such as {quote(example)}. Convert them to numbers to use the column."
        )
    known = np.isfinite(column.encode(cells, [])[:, 0])
    other = ~np.append(is_missing_number(cells.words), True)[cells.codes] & ~known
    share = known.sum() / (known | other).sum()
    example = quote(cells.words[cells.codes[np.argmax(other)]])
    readable = "number" if isinstance(column, NumberColumn) else "date"
    return (
        f"Column {name!r} was dropped as {kind}, although {share:.0%} of its cells are "
        f"{readable}s; others are such as {example}. Pass kinds={{{name!r}: {readable!r}}} to use "
        f"it (on the command line: --as {name}={readable})."
    )


def _drop_text(cells: WordCells) -> Decision:
    n_words = np.mean([len(word.split()) for word in cells.words])
    if n_words >= WORDS_OF_TEXT:
        return drop("text", f"free text, {len(cells.words)} different values")
    if len(cells.words) >= DISTINCT_SHARE * np.sum(cells.codes >= 0):
        return drop("identifier", f"{len(cells.words)} different values")
    return drop("text", f"{len(cells.words)} different values, most of them rare")


def _decide_category(name: str, cells: WordCells, limits: CategoryLimits) -> Decision:
    counts = cells.count_words()
    n_missing = int(np.sum(cells.missing))
    if len(counts) == 1 and n_missing < limits.min_count:
        return drop("constant", f"always {quote(cells.words[0])}")
    column = make_category_column(name, cells, limits)
    if column is None:
        if len(counts) >= DISTINCT_SHARE * counts.sum():
            return drop("identifier", f"{len(counts)} different values")
        return drop("category", f"no two categories with at least {limits.min_count} rows")
    shown = list_names([output[1:] for output in column.outputs])
    action = f"{shown} (reference {column.levels[column.reference]})"
    n_rare = sum(place in (-1, column.other) for place in column.places)
    if n_rare:
        action += f"; {n_rare} rare categor{'ies' if n_rare > 1 else 'y'}"
        action += " as other" if column.other >= 0 else " ignored"
    return Decision("category", action, column)


def make_category_column(
    name: str, cells: WordCells, limits: CategoryLimits
) -> CategoryColumn | None:
    """Return the levels of a categorical column, None if there are fewer than two.

    Missing cells are a level of their own unless they are rare.
    """
    order = sorted(range(len(cells.words)), key=cells.words.__getitem__)
    words = [cells.words[place] for place in order]
    codes = np.append(np.argsort(order), -1)[cells.codes]
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    rare = _find_rare(codes[codes >= 0], len(words), limits)
    levels = [word for word, is_rare in zip(words, rare, strict=True) if not is_rare]
    n_missing = int(np.sum(codes < 0))
    other = missing = -1
    if "other" in levels:
        other = levels.index("other")
    elif counts[rare].sum() >= limits.min_count:
        other = len(levels)
        levels.append("other")
    if n_missing >= limits.min_count:
        missing = levels.index("missing") if "missing" in levels else len(levels)
        levels += ["missing"] * (missing == len(levels))
    if len(levels) < 2:
        return None
    frequent = {word: place for place, word in enumerate(levels)}
    places = [other if is_rare else frequent[w] for w, is_rare in zip(words, rare, strict=True)]
    totals = np.bincount(np.maximum(places, 0), counts * (np.array(places) >= 0), len(levels))
    if missing >= 0:
        totals[missing] += n_missing
    shares = (totals / totals.sum()).tolist()
    numeric = all(PLAIN.fullmatch(word) or word in BOOLEANS for word in words)
    reference = _select_reference(levels, totals, (other, missing))
    return CategoryColumn(name, levels, shares, words, places, reference, other, missing, numeric)


def _select_reference(levels: list[str], totals: AnyArray, groups: tuple[int, int]) -> int:
    """Return the level without an indicator: the most frequent, or the first of two levels.

    Of a category and a group of categories, it is the group.
    """
    if len(levels) > 2:
        return int(np.argmax(totals))
    return max(0, *groups)


def _find_rare(codes: IntArray, n_words: int, limits: CategoryLimits) -> AnyArray:
    """Return a mask of the words that scikit-learn's OneHotEncoder groups as infrequent.

    Of one or two words, none is rare.
    """
    rare: AnyArray = np.zeros(n_words, dtype=bool)
    if n_words > 2:
        encoder = OneHotEncoder(
            min_frequency=limits.min_count,
            max_categories=limits.max_categories,
            handle_unknown="infrequent_if_exist",
        ).fit(codes[:, None])
        infrequent = encoder.infrequent_categories_[0]
        rare[[] if infrequent is None else infrequent] = True
    return rare
