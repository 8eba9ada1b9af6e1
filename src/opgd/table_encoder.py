"""TableEncoder: from tables with numbers, categories and dates to numeric features."""

from itertools import chain, count
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from opgd._base.estimator import restore_on_failure
from opgd._dask.lazy import is_lazy
from opgd._tables.cells import Cells
from opgd._tables.columns import CategoryColumn, Column, NumberColumn
from opgd._tables.duplicates import find_repeated_categories, find_repeated_numbers
from opgd._tables.inference import (
    KINDS,
    CategoryLimits,
    Decision,
    decide,
    drop,
    order_ambiguous_dates,
)
from opgd._tables.reading import (
    find_row_numbers,
    get_input_names,
    is_numeric_array,
    read_new_columns,
    read_training_columns,
    to_container,
)
from opgd._tables.summary import ColumnSummary, TableSummary
from opgd._utils.text import list_names
from opgd._utils.validation import check_integer
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core.types import AnyArray

__all__ = ["TableEncoder"]

MISSING = ("keep", "median")
MAX_LOADED = 10_000
"""Number of rows of Dask input that decide how columns are encoded."""


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a data frame as numeric features.

    Numbers are passed on. Categories, booleans and text with few distinct values become indicator
    features, one for each category except the reference category. Dates become elapsed days and,
    where they vary, the sine and cosine of hour, day of the week and month. Text such as
    "1,234", "1 234", "21%", "$5" or "5 EUR" becomes a number if almost all cells of the column
    have this form. Identifiers, constant columns, free text and columns that repeat another one
    are dropped. `summary_` lists what was done with each column, and why.

    The encoder does not use labels. New tables need the same columns, except those that were
    dropped; their order does not matter, and further columns are ignored. Features of NumPy
    arrays of numbers are passed on without changes.

    Parameters
    ----------
    kinds : dict, default=None
        Kinds of columns by name, where the inferred ones are not suitable: ``"category"``,
        ``"number"``, ``"date"`` or ``"ignore"``. Columns of arrays are named ``"x0"``, ``"x1"``...
        Set it when `summary_` shows a column that is encoded in another way than you want. A column
        that has no features as the requested kind, such as a category of which every value is rare,
        is dropped with a warning.
    max_categories : int, default=30
        Maximum number of indicator features per column. Text with more distinct values is encoded
        only if at least half of the samples have a frequent one, and is dropped otherwise. Decrease
        it when there are few samples, since each indicator is a feature.
    min_frequency : {"auto"}, int or float, default="auto"
        Minimum number (int) or share (float) of samples of a category. Rarer categories are
        combined as ``other``, unless there are only two categories. If all of them together are
        still rare, they have the average indicators of the training samples, like categories that
        `fit` has not seen. "auto" is 10 or 5 % of the samples, whichever is less. Increase it when
        indicators of rare categories are noise; decrease it when rare categories matter.
    missing : {"keep", "median"}, default="keep"
        Missing values of numbers and dates are kept as NaN, or replaced by the median of the
        training samples. Missing categories are a category of their own, ``missing``, if they are
        not rare; otherwise their indicators are treated like numbers. Use "median" when a later
        step of the pipeline does not accept missing values.

    Attributes
    ----------
    summary_ : TableSummary
        What was done with each column; print it, or iterate over its entries with `column`,
        `kind`, `action`, `n_missing` and `outputs`.
    columns_ : list
        Encoding of each column that is used, as plain data.
    fill_values_ : ndarray of shape (n_features_out,) or None
        Medians that replace missing values; None with ``missing="keep"``.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; only if all of them are strings.

    Warns
    -----
    DataWarning
        If a column of numbers or dates has a few other cells, which are treated as missing, if text
        is dropped although at least half of its cells are numbers or dates, if the order of day and
        month is not certain, or if a new table has unknown categories. These count as ``other`` if
        there is this category; otherwise their indicators are the averages of the training samples,
        which favor no category.

    See Also
    --------
    OPGDClassifierCV : Classifier; use both in a pipeline.

    Notes
    -----
    A text column is numeric or a date if at least 90 % of its cells are; numbers with leading
    zeros, such as ZIP codes, are not. Thousands may be separated by commas, points, spaces or
    apostrophes, in groups of three digits. Amounts may have the sign of a currency, or its code,
    such as EUR, which must be the same in the whole column. In columns of numbers and
    dates a dash is a missing cell, and "(12.50)" is negative, as in accounting. If dates such as
    03/04/2024 can be read in two ways in the whole column, their order is that of other columns
    with slashes; if these do not decide, the month comes first, with a warning. Integers identify
    the rows if they are all different and consecutive, all different in a column named like
    ``id``, or all different with one length of at least nine digits in groups separated by spaces,
    such as telephone numbers. Two columns repeat each other if the absolute correlation is at
    least 0.999999, or if their categories group the samples in the same way.

    The reference category is the most frequent one, and the first of two (False, no). An indicator
    for it would be a linear function of the others; loadings of the others are relative to it.

    The month is encoded only if the dates cover at least a year: otherwise it follows from the
    elapsed days. Dates with a time zone, or with an offset in text, are encoded in local time, as
    they are displayed. A table with a time zone and one without it are compared by their local
    times.

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
    >>> print(encoder.summary_)
    column  kind      encoding                      missing
    age     number    kept
    plan    category  basic, free (reference gold)
    """

    def __init__(
        self,
        kinds: dict[str, str] | None = None,
        *,
        max_categories: int = 30,
        min_frequency: Any = "auto",
        missing: str = "keep",
    ) -> None:
        self.kinds = kinds
        self.max_categories = max_categories
        self.min_frequency = min_frequency
        self.missing = missing

    @restore_on_failure
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Decide how each column is encoded.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            pandas or polars data frame, pyarrow table, or array. Of a Dask array or data frame,
            at most 10000 rows, spread over the table, decide how columns are encoded.
        y : None
            Ignored.

        Returns
        -------
        self : TableEncoder
        """
        self._check_parameters()
        numbered: list[str] = []
        if is_lazy(X):
            X, positions = _load_rows(X)
            numbered = find_row_numbers(X, positions)
        X = to_container(X)
        columns = read_training_columns(self, X)
        kinds = dict(self.kinds or {})
        unknown = [repr(name) for name in kinds if name not in columns]
        if unknown:
            raise ValueError(f"kinds names columns that X does not have: {list_names(unknown)}.")
        n_rows = len(next(iter(columns.values())).missing)
        limits = CategoryLimits.make(self.max_categories, self.min_frequency, n_rows)
        if is_numeric_array(X) and not kinds:
            decisions = {name: Decision("number", "kept", NumberColumn(name)) for name in columns}
        else:
            decisions = {
                name: decide(name, cells, kinds.get(name), limits)
                for name, cells in columns.items()
            }
            for name in set(numbered) - kinds.keys():
                decisions[name] = drop("identifier", "it numbers the rows")
        notes = [decision.note for decision in decisions.values() if decision.note]
        _warn(notes + order_ambiguous_dates(decisions, columns))
        self._store(decisions, columns, n_rows)
        return self

    def transform(self, X: Any) -> AnyArray:
        """Return the encoded features.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Table with the columns of the training table that are used.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features_out)
            A data frame if requested with `set_output`; a Dask array, encoded on the workers, for
            Dask input.

        Raises
        ------
        ValueError
            If a column is missing, or has another type than in the training table.
        """
        check_is_fitted(self)
        if not is_lazy(X):
            return self._encode_rows(X)
        from opgd._dask.samples import encode_blocks

        return encode_blocks(self._encode_floats, X, len(self.get_feature_names_out()))

    def fit_transform(self, X: Any, y: Any = None) -> AnyArray:
        """Fit the encoder, and return the encoded features of the same table.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Table, as in `fit`.
        y : None
            Ignored.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features_out)
            Features, as returned by `transform`.
        """
        self.fit(X, y)
        if is_lazy(X):
            return self.transform(X)
        return self._encode_rows(X, warn=False)  # fit has warned of the same cells

    def _encode_floats(self, X: Any) -> AnyArray:
        """Return the features of a block of Dask input as float64; the block may be empty."""
        if len(X) == 0:
            return np.empty((0, len(self.get_feature_names_out())))
        return self._encode_rows(X).astype(np.float64, copy=False)

    def _encode_rows(self, X: Any, *, warn: bool = True) -> AnyArray:
        names = [column.name for column in self.columns_]
        cells = read_new_columns(self, to_container(X), names)
        blocks, notes = _encode(self.columns_, cells)
        if warn:
            _warn(notes)
        features = np.hstack(blocks)
        if self.fill_values_ is not None:
            features = np.where(np.isnan(features), self.fill_values_, features)
            features = features.astype(self.fill_values_.dtype, copy=False)
        return features

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the encoded features, such as ``plan=gold``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; must be those of the training table if it had names.

        Returns
        -------
        names : ndarray of str objects
        """
        check_is_fitted(self)
        names = get_input_names(self)
        if input_features is not None:
            given = [str(name) for name in input_features]
            if hasattr(self, "feature_names_in_") and given != names:
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(given) != self.n_features_in_:
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(given)}"
                )
            names = given
        renamed = dict(zip(get_input_names(self), names, strict=True))
        outputs = [
            renamed[column.name] + ending for column in self.columns_ for ending in column.outputs
        ]
        return np.array(_make_unique(outputs), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_parameters(self) -> None:
        check_integer("max_categories", self.max_categories, 2)
        frequency = self.min_frequency
        if isinstance(frequency, float) and 0 < frequency < 1:
            pass
        elif frequency != "auto":
            check_integer("min_frequency", frequency, 1)
        if self.missing not in MISSING:
            raise ValueError(f"missing must be 'keep' or 'median', got {self.missing!r}.")
        if self.kinds is not None and not isinstance(self.kinds, dict):
            raise TypeError(f"kinds must be a dict, got {type(self.kinds).__name__}.")
        for name, kind in (self.kinds or {}).items():
            if kind not in KINDS:
                allowed = ", ".join(map(repr, KINDS))
                raise ValueError(f"kinds[{name!r}] must be one of {allowed}; got {kind!r}.")

    def _store(
        self, decisions: dict[str, Decision], columns: dict[str, Cells], n_rows: int
    ) -> None:
        used = {name: entry.column for name, entry in decisions.items() if entry.column is not None}
        encoded, notes = _encode(list(used.values()), [columns[name] for name in used])
        _warn(notes)
        blocks = dict(zip(used, encoded, strict=True))
        for name, original in _find_repeated(decisions, blocks).items():
            decisions[name] = drop("duplicate", f"repeats {original!r}")
            del used[name], blocks[name]
        if not used:
            reasons = [f"{name!r} ({entry.kind})" for name, entry in decisions.items()]
            raise ValueError(
                f"No column of X can be used: {list_names(reasons)}. Pass other columns or `kinds`."
            )
        self.columns_ = list(used.values())
        self.fill_values_ = None
        if self.missing == "median":
            self.fill_values_ = np.nanmedian(np.hstack(list(blocks.values())), axis=0)
        names = iter(self.get_feature_names_out().tolist())
        entries = []
        for name, entry in decisions.items():
            n_outputs = blocks[name].shape[1] if name in blocks else 0
            outputs = [next(names) for _ in range(n_outputs)]
            missing = columns[name].missing
            if n_outputs and not isinstance(entry.column, CategoryColumn):
                missing = np.isnan(blocks[name][:, 0])  # also cells that cannot be read
            n_missing = int(np.sum(missing))
            entries.append(ColumnSummary(name, entry.kind, entry.action, n_missing, outputs))
        self.summary_ = TableSummary(n_rows, entries)


def _load_rows(X: Any) -> tuple[Any, AnyArray]:
    """Return rows spread over Dask input, and their positions."""
    from opgd._dask.samples import load_evenly

    sample = load_evenly(X, MAX_LOADED)
    return sample.X, sample.positions


def _encode(columns: list[Column], cells: list[Cells]) -> tuple[list[AnyArray], list[str]]:
    """Return the encoded columns, (n, k) each, and notes on unexpected cells."""
    notes: list[str] = []
    blocks = [column.encode(entry, notes) for column, entry in zip(columns, cells, strict=True)]
    return blocks, notes


def _warn(notes: list[str]) -> None:
    for note in notes:
        warn_caller(note, DataWarning)


def _find_repeated(decisions: dict[str, Decision], blocks: dict[str, AnyArray]) -> dict[str, str]:
    """Return the columns to drop because they repeat another one, with its name."""
    inferred = {name: block for name, block in blocks.items() if not decisions[name].requested}
    kinds = {name: decisions[name].kind for name in inferred}
    numbers = {name: block[:, 0] for name, block in inferred.items() if kinds[name] != "category"}
    categories = {name: block for name, block in inferred.items() if kinds[name] == "category"}
    return find_repeated_numbers(numbers) | find_repeated_categories(categories)


def _make_unique(names: list[str]) -> list[str]:
    """Return distinct names: repeated ones are numbered."""
    unique: dict[str, None] = {}
    for name in names:
        numbered = (f"{name} ({number})" for number in count(2))
        unique[next(text for text in chain([name], numbered) if text not in unique)] = None
    return list(unique)
