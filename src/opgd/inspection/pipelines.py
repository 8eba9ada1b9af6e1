"""Pipelines that end in an estimator of opgd: the estimator, its features and the table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from opgd._table_cells import MISSING_WORDS
from opgd._utils.features import to_memory
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.estimators import check_has_axes, name_columns
from opgd.inspection.loadings import compute_standardized_coefficients
from opgd.table_encoder import TableEncoder

MAX_CELL_LENGTH = 80


@dataclass(frozen=True)
class Unwrapped:
    """An estimator with the names of its features, and the steps before it."""

    estimator: Any
    steps: Pipeline | None
    names: list[str] | None  # of the features, if the steps name them

    def encode(self, X: Any) -> Any:
        """Return the features of samples, X without steps."""
        return X if self.steps is None or X is None else self.steps.transform(X)

    @property
    def table(self) -> list[dict[str, Any]] | None:
        """What a table encoder, the first step, did with each column."""
        first = None if self.steps is None else self.steps[0]
        return first.columns_ if isinstance(first, TableEncoder) else None

    @property
    def date_origins(self) -> dict[str, float]:
        """Features that are days since a date, and this date in days since 1970."""
        if self.steps is None or len(self.steps) > 1 or self.table is None:
            return {}
        return {
            column["outputs"][0]: column["state"]["origin"]
            for column in self.table
            if column["outputs"] and column["kind"] == "date"
        }


def unwrap(model: Any) -> Unwrapped:
    """Return the final estimator of a pipeline, or an estimator as it is."""
    if not isinstance(model, Pipeline):
        return Unwrapped(model, None, None)
    final = model.steps[-1][1]
    if len(model.steps) == 1 or not hasattr(final, "get_params"):
        return Unwrapped(final, None, None)
    check_is_fitted(final)
    steps = model[:-1]
    names = _get_names(steps, getattr(final, "n_features_in_", None))
    return Unwrapped(final if names is None else name_columns(final, names), steps, names)


def unwrap_with_axes(model: Any) -> Unwrapped:
    """Return the final estimator, which must be fitted and have components."""
    unwrapped = unwrap(model)
    check_has_axes(unwrapped.estimator, in_pipeline=unwrapped.estimator is not model)
    return unwrapped


def _get_names(steps: Pipeline, n_features: int | None) -> list[str] | None:
    try:
        names = [str(name) for name in steps.get_feature_names_out()]
    except (AttributeError, ValueError):  # a step does not name its features
        return None
    return names if len(names) == n_features else None


def select_rows(X: Any, rows: IntArray) -> Any:
    """Return rows of a data frame, table or array by position."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "column_names") and hasattr(X, "take"):
        return X.take(rows)
    return X[rows] if hasattr(X, "shape") else np.asarray(X, dtype=object)[rows]


def refit_steps(
    steps: Pipeline, X: Any, y: AnyArray, train: IntArray, test: IntArray
) -> tuple[Any, Any]:
    """Return features of training and test samples from steps fitted to the training samples."""
    copy = clone(steps)
    train_features = copy.fit_transform(select_rows(X, train), y[train])
    return train_features, copy.transform(select_rows(X, test))


@dataclass(frozen=True)
class WordCells:
    """The cells of a column as text: distinct words, and the index of the word of each cell."""

    words: list[str]
    codes: IntArray  # (n,), -1 where missing

    @property
    def missing(self) -> AnyArray:
        """Mask of the missing cells, (n,)."""
        return self.codes < 0


@dataclass(frozen=True)
class OriginalColumns:
    """Columns of the table before the steps, as words; important columns come first."""

    names: list[str]
    cells: list[WordCells]


def read_original_columns(unwrapped: Unwrapped, X: Any) -> OriginalColumns | None:
    """Return the cells of a data frame as text, None if there are no steps or no names."""
    X = to_memory(X, "X")
    if unwrapped.steps is None or not hasattr(X, "columns"):
        return None
    if hasattr(X, "items"):  # pandas
        columns = [(str(name), column) for name, column in X.items()]
    else:  # polars or pyarrow
        names = getattr(X, "column_names", X.columns)
        columns = [(name, X[name]) for name in names]
    order = _order_columns(unwrapped, [name for name, _ in columns])
    cells = [_read_words(columns[j][1]) for j in order]
    return OriginalColumns([columns[j][0] for j in order], cells)


def append_columns(
    first: OriginalColumns | None, second: OriginalColumns | None
) -> OriginalColumns | None:
    """Return the columns of `first` with the cells of both; columns not in `second` are missing."""
    if first is None or second is None:
        return None
    others = dict(zip(second.names, second.cells, strict=True))
    absent = WordCells([], np.full(len(second.cells[0].codes), -1))
    cells = [
        _append_cells(column, others.get(name, absent))
        for name, column in zip(first.names, first.cells, strict=True)
    ]
    return OriginalColumns(first.names, cells)


def _append_cells(first: WordCells, second: WordCells) -> WordCells:
    places = {word: place for place, word in enumerate(first.words)}
    words = first.words + [word for word in second.words if word not in places]
    places |= {word: place for place, word in enumerate(words)}
    codes = np.array([*(places[word] for word in second.words), -1])[second.codes]
    return WordCells(words, np.concatenate([first.codes, codes]))


def _order_columns(unwrapped: Unwrapped, names: list[str]) -> list[int]:
    """Return the columns by their largest relative loading; those that are not used come last."""
    table, features = unwrapped.table, unwrapped.names
    if table is None or features is None:
        return list(range(len(names)))
    sizes: FloatArray = np.abs(compute_standardized_coefficients(unwrapped.estimator))
    sizes = (sizes / sizes.max(axis=1, keepdims=True)).max(axis=0)
    by_feature = dict(zip(features, sizes.tolist(), strict=True))
    importance = {
        column["column"]: max(
            (by_feature.get(name, 0.0) for name in column["outputs"]), default=-1.0
        )
        for column in table
    }
    return sorted(range(len(names)), key=lambda j: -importance.get(names[j], -1.0))


def _read_words(column: Any) -> WordCells:
    """Return the cells of a column as short words; 1.0 is "1"."""
    places: dict[str, int] = {}
    values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    codes = []
    for value in values:
        word = f"{value:.6g}" if isinstance(value, float) else str(value).strip()
        is_missing = word.lower() in MISSING_WORDS
        codes.append(-1 if is_missing else places.setdefault(word[:MAX_CELL_LENGTH], len(places)))
    return WordCells(list(places), np.array(codes, dtype=np.intp))
