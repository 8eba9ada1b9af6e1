"""Splits into training and held-out samples, outside and inside of a comparison."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)

from opgd.core.types import AnyArray

Split = tuple[AnyArray, AnyArray]


def make_inner_splitter(inner_cv: Any, y: AnyArray, groups: Any, rng: np.random.RandomState) -> Any:
    """Return a splitter of training samples; numbers keep groups together if there are any."""
    if isinstance(inner_cv, bool):
        raise TypeError(f"inner_cv must be an int, a float or a splitter, got {inner_cv!r}.")
    if isinstance(inner_cv, Real) and not isinstance(inner_cv, Integral):
        if not 0 < float(inner_cv) < 1:
            raise ValueError(
                f"A float inner_cv must be between 0 and 1 (exclusive), got {inner_cv!r}."
            )
        kind = StratifiedShuffleSplit if groups is None else GroupShuffleSplit
        return kind(1, test_size=float(inner_cv), random_state=rng.randint(2**31 - 1))
    if isinstance(inner_cv, Integral) and int(inner_cv) > 1:
        return _make_folds(int(inner_cv), groups, rng)
    try:
        check_cv(inner_cv, y, classifier=True)
    except ValueError as error:
        raise ValueError(f"inner_cv={inner_cv!r} is not valid: {error}") from None
    return inner_cv


def make_outer_splits(
    cv: Any, X: Any, y: AnyArray, groups: Any, rng: np.random.RandomState
) -> list[Split]:
    """Return the splits as indices of training and held-out samples."""
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        cv = _make_folds(int(cv), groups, rng)
    rows = np.arange(len(y))
    splits = check_cv(cv, y, classifier=True).split(X, y, groups)
    indices = [(rows[train], rows[test]) for train, test in splits]
    if not indices:
        raise ValueError(
            "cv yielded no splits. If it is a generator, it may already be exhausted; "
            "pass a list of splits instead."
        )
    return indices


def sort_splits(splits: list[Split], n_samples: int) -> list[Split]:
    """Return the splits as ascending indices, by which Dask input is selected block by block."""
    rows = np.arange(n_samples)
    return [(np.sort(rows[train]), np.sort(rows[test])) for train, test in splits]


def _make_folds(n_folds: int, groups: Any, rng: np.random.RandomState) -> Any:
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(n_folds, shuffle=True, random_state=rng.randint(2**31 - 1))
