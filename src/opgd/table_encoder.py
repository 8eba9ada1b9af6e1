"""TableEncoder: from tables with numbers, categories, dates and text to numeric features."""

import re
from collections import Counter
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from opgd._table_cells import (
    CODE,
    Cells,
    find_number_format,
    import_pandas,
    parse_dates,
    parse_numbers,
    read_cells,
    to_words,
)
from opgd._utils.features import fill_masked
from opgd._utils.text import list_names
from opgd._utils.validation import check_integer
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core.types import AnyArray, FloatArray

__all__ = ["TableEncoder"]

KINDS = ("category", "number", "date", "text", "ignore")
"""Kinds that can be requested."""
WORDS = ("category", "text")
"""Kinds of text that is not read as numbers."""
READABLE, REPORTED = 0.9, 0.5
"""Share of the cells of a text column that must be numbers (or dates), and share from which a
warning says that they could be."""
LOST_SHARE = 0.01
"""Share of lost cells from which a column is named in a warning."""
PLAIN = {"decimal": ".", "unit": ""}
MIN_ROWS = 10
ID_NAME = re.compile(r"(?i:(^|[\W_])(id|uid|uuid|guid|key|index|nr)$)|[a-z](ID|Id|Key)$", re.ASCII)
"""Names of columns whose distinct integers identify the samples."""
N_HASHES = 2**11
"""Number of hashed groups of characters, which bounds the size of an encoder of text."""
CYCLES = {"hour": 24, "weekday": 7, "month": 12}
"""Cycles of dates and their lengths."""


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a data frame as numeric features.

    Numbers are passed on, missing ones as NaN. Text becomes a number if at least 90 % of the cells
    of the column are numbers, with a currency, a unit, a percent sign or separators of thousands;
    or a date. Text with few distinct values and booleans are categories: one indicator for each
    category except the reference. Dates become elapsed days and, where they vary, the sine and
    cosine of hour, weekday and month. Free text becomes a few components of its hashed groups of
    characters. Identifiers, constant columns and columns equal to another one are left out.

    A warning names every column that is left out, or of which more than 1 % of the cells are lost,
    and `summary_` lists all of them. The encoder does not use labels.

    Parameters
    ----------
    kinds : dict, default=None
        Kinds of columns by name, where the inferred ones are not suitable: ``"category"``,
        ``"number"``, ``"date"``, ``"text"`` or ``"ignore"``. Columns of arrays are named ``"x0"``,
        ``"x1"``... Set it when `summary_` shows a column that is encoded in another way than you
        want.
    max_categories : int, default=30
        Maximum number of categories of a column. Text with more distinct values is a category only
        if at least half of its cells have a frequent one. Decrease it when there are few samples,
        since each category is a feature.
    min_frequency : {"auto"}, int or float, default="auto"
        Minimum number (int) or share (float) of samples of a category. Rarer categories are
        combined as ``other``, unless there are only two categories. "auto" is 10 or 5 % of the
        samples, whichever is less. Increase it when rare categories are noise; decrease it when
        they matter.
    text_components : int, default=8
        Number of features of a column of free text. Decrease it when there are few samples.

    Attributes
    ----------
    summary_ : pandas.DataFrame
        What became of each column: its kind, the encoding or why it was left out, the share of
        lost cells, the number of missing cells (lost ones included) and of features.
    columns_ : list of dict
        The same as plain data, with the names of the features (`outputs`).
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; only if all of them are strings.

    Warns
    -----
    DataWarning
        If columns are left out, if more than 1 % of the cells of a column are lost or are unknown
        categories, if the order of day and month is not certain, or if a value far from the others
        that occurs many times may stand for a missing cell, such as -999.

    See Also
    --------
    OPGDClassifierCV : Classifier; use both in a pipeline.

    Notes
    -----
    New tables need the columns that are used; their order does not matter, and further columns are
    ignored. Unknown categories count as ``other`` if there is this category, and otherwise as the
    reference, which is the most frequent category, or the first of two (no, False). Missing
    categories are a category of their own, ``missing``, if they are not rare; otherwise their
    indicators are NaN. Upper and lower case and surrounding spaces do not matter.

    The decimal mark of a column is what most of its cells say; "1,234" and "1.234" alone say
    nothing, and the point is decimal. "(12.50)" is negative; "<5" is the limit, 5. Digits with a
    leading zero, such as ZIP codes, are not numbers. Where dates such as 03/04/2024 do not say
    whether the day or the month comes first, the month does. Time zones are dropped, so that times
    are those that are written. Integers identify the samples if they are all different, and either
    fill at least two thirds of their range or are in a column named like ``id``; text does if at
    least 95 % of the cells are different and most are single words.

    Numeric arrays are passed on without changes. pandas data frames are encoded, and every
    container that can be converted to one with its ``to_pandas``, such as a polars data frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from opgd import TableEncoder
    >>> table = pd.DataFrame({"age": [31, 45, 52, 38], "plan": ["gold", "basic", "gold", "free"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out()
    array(['age', 'plan=basic', 'plan=free'], dtype=object)
    >>> encoder.transform(table.head(2))
    array([[31.,  0.,  0.],
           [45.,  1.,  0.]])
    >>> encoder.summary_[["column", "kind", "encoding"]]
      column      kind                     encoding
    0    age    number                         kept
    1   plan  category  reference gold; basic, free
    """

    def __init__(
        self,
        kinds: dict[str, str] | None = None,
        *,
        max_categories: int = 30,
        min_frequency: Any = "auto",
        text_components: int = 8,
    ) -> None:
        self.kinds = kinds
        self.max_categories = max_categories
        self.min_frequency = min_frequency
        self.text_components = text_components

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide how each column is encoded.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Training table.
        y : None
            Ignored.

        Returns
        -------
        self : TableEncoder
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> AnyArray:  # noqa: ARG002
        """Fit the encoder, and return the encoded features of the same table.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Training table.
        y : None
            Ignored.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features_out)
            Features, as returned by `transform`.
        """
        self._check_parameters()
        frame, is_numeric = self._read_frame(X, reset=True)
        kinds = {str(name): kind for name, kind in (self.kinds or {}).items()}
        if unknown := [repr(name) for name in kinds if name not in frame]:
            raise ValueError(f"kinds names columns that X does not have: {list_names(unknown)}.")
        columns, blocks, notes = list[dict[str, Any]](), list[FloatArray](), list[str]()
        first_of: dict[bytes, str] = {}
        for name in frame:
            kind = kinds.get(name)
            cells = read_cells(name, frame[name], as_words=kind in WORDS)
            choice, doubt = _describe("number", "kept", PLAIN), ""
            if not is_numeric or kind is not None:
                choice, doubt = self._choose(name, cells, kind)
            column = {"column": name, "lost": 0.0, "missing": int(cells.missing.sum())} | choice
            note = ""
            if column["state"] is not None:
                block, n_lost, note = _encode(column, cells)
                column |= {"lost": n_lost / len(frame), "missing": column["missing"] + n_lost}
                original = first_of.setdefault(blake2b(block.tobytes()).digest(), name)
                if original != name and not is_numeric and kind is None:
                    column |= _leave_out("duplicate", f"the same as {original!r}")
                else:
                    column["outputs"] = _name_outputs(column)
                    blocks.append(block)
            if column["state"] is None and kind != "ignore":
                note = f"{column['kind']}, {column['encoding']}"
            columns.append(column)
            note = "; ".join(filter(None, (note, doubt)))
            notes += [f"{name!r}: {note}"] * bool(note)
        if not blocks:
            reasons = [f"{column['column']!r} ({column['kind']})" for column in columns]
            raise ValueError(
                f"No column of X can be used: {list_names(reasons)}. Pass other columns or `kinds`."
            )
        names = [output for column in columns for output in column["outputs"]]
        if repeated := [repr(name) for name, n in Counter(names).items() if n > 1]:
            raise ValueError(f"Several features are named {list_names(repeated)}. Rename a column.")
        self.columns_ = columns
        _warn(notes)
        return np.hstack(blocks)

    def transform(self, X: Any) -> AnyArray:
        """Return the encoded features.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Table with the columns of the training table that are used.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features_out)
            A data frame if requested with `set_output`.

        Raises
        ------
        ValueError
            If a column is missing, or none of its cells can be read as in the training table.
        """
        check_is_fitted(self)
        frame, _ = self._read_frame(X, reset=False)
        blocks, notes = list[FloatArray](), list[str]()
        for column in self.columns_:
            if not column["outputs"]:
                continue
            name, kind = column["column"], column["kind"]
            cells = read_cells(name, frame[name], as_words=kind in (*WORDS, "number in text"))
            block, n_lost, note = _encode(column, cells)
            if n_lost and n_lost == np.sum(~cells.missing) and kind != "category":
                raise ValueError(
                    f"Column {name!r} was a {kind} in the training table, but none of its cells "
                    f"can be read so, for example {_give_example(cells)}. Correct it, or fit again."
                )
            blocks.append(block)
            notes += [f"{name!r}: {note}"] * bool(note)
        _warn(notes)
        return np.hstack(blocks)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the encoded features, such as ``plan=gold``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored, except that they must be the names of the training table if it had names.

        Returns
        -------
        names : ndarray of str objects
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array([name for c in self.columns_ for name in c["outputs"]], dtype=object)

    @property
    def summary_(self) -> Any:
        """What became of each column, as a pandas data frame."""
        check_is_fitted(self)
        keys = ("column", "kind", "encoding", "lost", "missing")
        return import_pandas().DataFrame(
            [{key: c[key] for key in keys} | {"features": len(c["outputs"])} for c in self.columns_]
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _check_parameters(self) -> None:
        check_integer("max_categories", self.max_categories, 2)
        check_integer("text_components", self.text_components, 1)
        if self.min_frequency != "auto" and not 0 < self.min_frequency < 1:
            check_integer("min_frequency", self.min_frequency, 1)
        kinds = self.kinds or {}
        if not isinstance(kinds, dict) or not set(kinds.values()) <= set(KINDS):
            raise ValueError(f"kinds must map columns to {', '.join(KINDS)}; got {kinds!r}.")

    def _read_frame(self, X: Any, *, reset: bool) -> tuple[Any, bool]:
        """Return X as a pandas data frame, and whether it was an array of numbers."""
        pd = import_pandas()
        if hasattr(X, "dask"):
            raise TypeError("X is a Dask collection; pass X.compute(), or a part of it.")
        if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
            X = X.to_pandas()
        known = [] if reset else [column["column"] for column in self.columns_]
        if isinstance(X, np.ma.MaskedArray):
            X = X.filled(np.nan) if X.dtype.kind == "f" else fill_masked(X)
        if not isinstance(X, pd.DataFrame):
            array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
            names = known or [f"x{j}" for j in range(array.shape[1])]
            return pd.DataFrame(array, columns=names), array.dtype.kind in "biuf"
        frame = X.set_axis([str(name) for name in X.columns], axis=1)
        if not frame.columns.is_unique:
            repeated = frame.columns[frame.columns.duplicated()].unique()
            raise ValueError(f"X has columns with the same name: {list_names(list(repeated))}.")
        if reset or not hasattr(self, "feature_names_in_"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return frame if reset else frame.set_axis(known, axis=1), False
        used = [column["column"] for column in self.columns_ if column["outputs"]]
        if absent := [repr(name) for name in used if name not in frame]:
            raise ValueError(
                f"X has no column {list_names(absent)}, which the encoder was fitted to; its "
                f"columns are {list_names([repr(name) for name in frame])}."
            )
        return frame, False

    def _choose(self, name: str, cells: Cells, kind: str | None) -> tuple[dict[str, Any], str]:
        """Return how a column is encoded, and what to warn of."""
        if kind == "ignore":
            return _leave_out("ignored", "as requested"), ""
        if cells.missing.all():
            return _leave_out("empty", "no values"), ""
        if kind in ("category", "text"):
            cells = to_words(cells)
        if cells.kind == "number" and kind != "date":
            return _choose_number(name, cells.values, kind, PLAIN, ""), _find_sentinel(cells.values)
        if cells.kind == "date" and kind != "number":
            return _choose_date(cells.values, {"day_first": None}, ""), ""
        if cells.kind != "word":
            return _leave_out("unsupported", cells.kind), ""
        counts, note = cells.count_words(), ""
        for readable, read in (("number", _read_numbers), ("date", _read_dates)):
            if kind != readable and (kind is not None or cells.is_category):
                continue
            state, written, values, possible, doubt = read(cells.words, counts)
            if kind is None and any(map(CODE.fullmatch, cells.words)):
                possible = np.zeros(len(values), dtype=bool)
            share = counts[possible].sum() / counts.sum()
            if share >= READABLE or (kind == readable and share):
                values = cells.spread(values)
                if readable == "date":
                    return _choose_date(values, state, written), doubt
                doubt = "; ".join(filter(None, (doubt, _find_sentinel(values))))
                return _choose_number(name, values, kind, state, written), doubt
            if share >= REPORTED:
                note = (
                    f"{share:.0%} of the cells are {readable}s, others are such as "
                    f"{_quote_one(cells.words, ~possible)}; "
                    f"kinds={{{name!r}: {readable!r}}} reads these as missing"
                )
        if kind in ("number", "date"):
            raise ValueError(
                f"kinds[{name!r}] is {kind!r}, but none of the cells can be read as a {kind}, "
                f"for example {_quote_one(cells.words)}."
            )
        return self._choose_words(cells, kind), note

    def _choose_words(self, cells: Cells, kind: str | None) -> dict[str, Any]:
        counts = cells.count_words()
        n_cells, n_words = int(counts.sum()), len(counts)
        if n_words == 1 and (kind == "text" or not cells.missing.any()):
            return _leave_out("constant", f"always {_quote_one(cells.words)}")
        n_single = counts[[" " not in word for word in cells.words]].sum()
        inferred = kind is None and not cells.is_category
        if inferred and n_words >= max(0.95 * n_cells, MIN_ROWS) and 2 * n_single >= n_cells:
            return _leave_out("identifier", f"{n_words} different values")
        state, n_frequent = self._choose_levels(cells)
        levels = state["levels"]
        fits = n_words <= self.max_categories or 2 * n_frequent >= n_cells
        if kind == "category" or cells.is_category or (inferred and fits and len(levels) > 1):
            if len(levels) < 2:
                return _leave_out("constant", "all values but one are rare")
            encoding = f"reference {levels[0]}; {list_names(levels[1:])}"
            return _describe("category", encoding, state)
        encoder = make_pipeline(
            HashingVectorizer(
                analyzer="char_wb", ngram_range=(3, 4), n_features=N_HASHES, dtype=np.float32
            ),
            TfidfTransformer(),
            TruncatedSVD(min(self.text_components, n_words), random_state=0),
        )
        with np.errstate(invalid="ignore"):  # if all words have the same characters
            encoder.fit(_list_texts(cells))
        encoding = f"{encoder[-1].n_components} components of its characters"
        return _describe("text", encoding, {"encoder": encoder})

    def _choose_levels(self, cells: Cells) -> tuple[dict[str, Any], int]:
        """Return the levels of a category, reference first, and the number of frequent cells."""
        counts, n_samples = cells.count_words(), len(cells.values)
        least = self.min_frequency
        if least == "auto":
            least = min(10, int(np.ceil(0.05 * n_samples)))
        elif isinstance(least, float):
            least = int(np.ceil(least * n_samples))
        order = np.argsort(-counts, kind="stable").tolist()
        kept = [j for j in order if counts[j] >= least][: self.max_categories]
        n_frequent = int(counts[kept].sum())
        if len(order) == 2:
            kept = sorted(order, key=lambda j: cells.words[j].casefold())
        levels = [cells.words[j] for j in kept]
        places = {level.casefold(): place for place, level in enumerate(levels)}
        for key, is_level in (
            ("other", counts.sum() - counts[kept].sum() >= least),
            ("missing", cells.missing.sum() >= least),
        ):
            if is_level and key not in places:
                places[key] = len(levels)
                levels.append(key)
        if cells.missing.sum() >= least:
            places[""] = places["missing"]
        return {"levels": levels, "places": places}, n_frequent


def _describe(kind: str, encoding: str, state: Any) -> dict[str, Any]:
    return {"kind": kind, "encoding": encoding, "state": state, "outputs": []}


def _leave_out(kind: str, reason: str) -> dict[str, Any]:
    return _describe(kind, f"left out: {reason}", None)


def _choose_number(
    name: str, values: AnyArray, kind: str | None, state: dict[str, Any], written: str
) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    n_values, spread = len(np.unique(known)), np.ptp(known)
    if n_values == 1:
        return _leave_out("constant", f"always {known[0]:g}")
    distinct = n_values == len(known) >= MIN_ROWS and not np.any(known % 1)
    is_dense = spread + 1 <= 1.5 * n_values  # row numbers, also in the training part of a fold
    if kind is None and distinct and (is_dense or ID_NAME.search(name)):
        return _leave_out("identifier", "a different integer in every row")
    return _describe("number in text" if written else "number", written or "kept", state)


def _choose_date(days: AnyArray, state: dict[str, Any], written: str) -> dict[str, Any]:
    known = days[~np.isnan(days)]
    if np.ptp(known) == 0:
        return _leave_out("constant", f"always {_format_day(known[0])}")
    cycles = [
        cycle
        for cycle in CYCLES
        if len(np.unique(np.floor(_get_position(known, cycle)))) > 2  # two are collinear
        and not (cycle == "month" and np.ptp(known) < 365)  # then it follows from the days
    ]
    state = state | {"origin": float(np.floor(known.min())), "cycles": cycles}
    encoding = ", ".join([f"days since {_format_day(state['origin'])}", *cycles]) + written
    return _describe("date", encoding, state)


def _format_day(days: float) -> str:
    return str(np.datetime64(int(np.floor(days)), "D"))


def _get_position(days: AnyArray, cycle: str) -> AnyArray:
    """Return the position of dates in a cycle: hour from 0, weekday from Monday, month from 0."""
    if cycle == "hour":
        return 24.0 * (days % 1.0)
    if cycle == "weekday":
        return (np.floor(days) + 3) % 7  # 1970 began on a Thursday
    months = np.nan_to_num(days).astype("datetime64[D]").astype("datetime64[M]")
    return np.where(np.isnan(days), np.nan, months.astype(np.int64) % 12)


def _read_numbers(words: list[str], counts: AnyArray) -> tuple[Any, str, FloatArray, AnyArray, str]:
    """Return the format of numbers in text, its description, the numbers, which are, a doubt."""
    decimal, unit = find_number_format(words, counts)
    numbers, limits = parse_numbers(words, decimal, unit)
    written = f"read as numbers{f' in {unit}' * bool(unit)}"
    written += " with decimal commas" * (decimal == ",")
    doubt = ""
    if n_limits := int(counts[limits].sum()):
        doubt = f"{n_limits} limits are read as numbers, such as {_quote_one(words, limits)}"
    return {"decimal": decimal, "unit": unit}, written, numbers, np.isfinite(numbers), doubt


def _read_dates(words: list[str], counts: AnyArray) -> tuple[Any, str, FloatArray, AnyArray, str]:
    """Return the same for dates: the mask has dates in any order, the values those in one."""
    month, day = (parse_dates(words, day_first=first) for first in (False, True))
    votes = [counts[np.isfinite(days)].sum() for days in (month, day)]
    day_first = bool(votes[1] > votes[0])
    doubt = ""
    differ = np.isfinite(month) & np.isfinite(day) & (month != day)
    if votes[0] == votes[1] and differ.any():
        doubt = f"the month is taken to be first, which {_quote_one(words, differ)} does not show"
    written = ""
    if np.any(~((month == day) | (np.isnan(month) & np.isnan(day)))):
        written = f" ({'day' if day_first else 'month'} first)"
    possible = np.isfinite(month) | np.isfinite(day)
    return {"day_first": day_first}, written, day if day_first else month, possible, doubt


def _find_sentinel(values: AnyArray) -> str:
    """Return a note on a value that may stand for missing cells, such as -999.

    It is the smallest or the largest value and occurs more than once; and it is farther from the
    others than these are from each other, or has only nines and is the most frequent one.
    """
    known, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    for end, rest in ((0, known[1:]), (-1, known[:-1])):
        value, count = known[end], counts[end]
        if len(rest) >= MIN_ROWS and count > 1:
            is_nines = re.fullmatch("-?99+", f"{value:g}") and count == counts.max()
            if is_nines or np.min(np.abs(rest - value)) > np.ptp(rest):
                return f"{value:g} ({count} cells) is unlike the other values; it may mean missing"
    return ""


def _encode(column: dict[str, Any], cells: Cells) -> tuple[FloatArray, int, str]:
    """Return the features of a column, (n, k), the number of lost cells, and what to warn of."""
    kind, state, n = column["kind"], column["state"], len(cells.values)
    if kind == "category":
        return _encode_category(state, to_words(cells))
    if kind == "text":
        cells = to_words(cells)
        texts = state["encoder"].transform(_list_texts(cells)) if not cells.missing.all() else 0.0
        block = np.full((n, state["encoder"][-1].n_components), np.nan)
        block[~cells.missing] = texts
        return block, 0, ""
    expected = "date" if kind == "date" else "number"
    values, note = np.full(n, np.nan), ""
    if cells.kind == expected:
        values = cells.values
    elif cells.kind == "word" and expected == "date":
        day_first = state["day_first"]
        if day_first is None:  # the training table had no text
            order, _, _, _, note = _read_dates(cells.words, cells.count_words())
            day_first = order["day_first"]
        values = cells.spread(parse_dates(cells.words, day_first=day_first))
    elif cells.kind == "word":
        values = cells.spread(parse_numbers(cells.words, state["decimal"], state["unit"])[0])
        bare = np.array([state["unit"] not in word.casefold() for word in cells.words])
        n_bare = int(np.sum(~np.isnan(values) & cells.spread(bare).astype(bool)))
        if n_bare > LOST_SHARE * n:
            note = f"{n_bare / n:.1%} of the cells have no unit and are read as {state['unit']!r}"
    lost = np.isnan(values) & ~cells.missing
    n_lost = int(lost.sum())
    if n_lost > LOST_SHARE * n:
        order = ""
        if expected == "date" and cells.kind == "word":
            order = f" with the {'day' if day_first else 'month'} first"
        note = (
            f"{n_lost / n:.1%} of the cells are not {expected}s{order} and become missing, "
            f"for example {_give_example(cells, lost)}"
        )
    if kind != "date":
        if cells.kind == "number" and state["unit"] and not cells.missing.all():
            note = f"numbers without the unit {state['unit']!r} are read as if they had it"
        return values[:, None], n_lost, note
    features = [values - state["origin"]]
    for cycle in state["cycles"]:
        angle = 2 * np.pi * _get_position(values, cycle) / CYCLES[cycle]
        features += [np.sin(angle), np.cos(angle)]
    return np.column_stack(features), n_lost, note


def _encode_category(state: dict[str, Any], cells: Cells) -> tuple[FloatArray, int, str]:
    """Return the indicators of all levels except the reference."""
    levels, places = state["levels"], state["places"]
    other = places.get("other", 0)
    rows = [places.get(word.casefold(), other) for word in cells.words]
    indicators = np.vstack([np.eye(len(levels)), np.full(len(levels), np.nan)])[:, 1:]
    block = indicators[np.array([*rows, places.get("", -1)])[cells.values]]
    unknown = np.array([word.casefold() not in places for word in cells.words], dtype=bool)
    if other or not unknown.any():
        return block, 0, ""
    n_lost = int(cells.count_words()[unknown].sum())
    note = (
        f"{n_lost / len(cells.values):.1%} of the cells are rare or unknown categories and count "
        f"as {levels[0]!r}, for example {_quote_one(cells.words, unknown)}"
    )
    return block, n_lost, note * (n_lost > LOST_SHARE * len(cells.values))


def _list_texts(cells: Cells) -> AnyArray:
    return np.array(cells.words, dtype=object)[cells.values[~cells.missing]]


def _name_outputs(column: dict[str, Any]) -> list[str]:
    kind, state, endings = column["kind"], column["state"], [""]
    if kind == "category":
        endings = [f"={level}" for level in state["levels"][1:]]
    elif kind == "date":
        endings = [":days", *(f":{cycle}_{w}" for cycle in state["cycles"] for w in ("sin", "cos"))]
    elif kind == "text":
        endings = [f":text_{j + 1}" for j in range(state["encoder"][-1].n_components)]
    return [column["column"] + ending for ending in endings]


def _quote_one(words: list[str], mask: Any = 0) -> str:
    return repr(words[int(np.argmax(mask))][:40])


def _give_example(cells: Cells, mask: AnyArray | None = None) -> str:
    """Return one of the cells as text, the first in `mask` if given."""
    place = int(np.argmax(~cells.missing if mask is None else mask))
    if cells.kind == "word":
        return repr(cells.words[cells.values[place]][:40])
    return f"{cells.values[place]:g}" if cells.kind == "number" else f"a {cells.kind}"


def _warn(notes: list[str]) -> None:
    if notes:
        columns = f"{len(notes)} column{'s' * (len(notes) > 1)}"
        warn_caller(f"Check {columns} of the table. {'. '.join(notes)}.", DataWarning)
