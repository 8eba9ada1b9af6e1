"""Predictions for rows by copies of a classifier that are fitted without them."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from opgd._utils.validation import check_integer
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.estimators import copy_temperature

MOST_ROWS = 20_000
MOST_VALUES = 1_000_000


def predict_held_out(
    estimator: Any,
    X: AnyArray,
    y: AnyArray,
    codes: IntArray,
    cv: int,
    groups: AnyArray | None = None,
) -> tuple[FloatArray | None, str]:
    """Predict labeled rows by copies that are fitted without them, (n, K), and describe how.

    Rows without a label stay in every training part, and get nan. With groups (n,), a copy is
    fitted without all rows of the groups that it predicts, labeled or not. Where
    cross-validation is not possible, return None and the reason.
    """
    check_integer("cv", cv)
    labeled = np.flatnonzero(codes >= 0)
    smallest = int(np.bincount(codes[labeled], minlength=len(estimator.classes_)).min())
    folds = min(cv, smallest)
    if groups is not None:
        folds = min(folds, len(np.unique(groups[labeled])))
    if cv < 2:
        return None, "cross-validation was not asked for"
    if len(X) > MOST_ROWS or X.size > MOST_VALUES:
        return None, "there are too many rows to fit copies without some of them"
    if smallest < 2:
        return None, "a class has fewer than two labeled rows"
    if folds < 2:
        return None, "all labeled rows are of one group"
    model = getattr(estimator, "best_estimator_", estimator)
    probabilities = np.full((len(X), len(estimator.classes_)), np.nan)
    splits = _split(labeled, codes, folds, groups)
    if any(_lacks_a_class(codes[seen], len(estimator.classes_)) for seen, _ in splits):
        return None, "some class is only in groups that would be left out together"
    for seen, out in splits:
        copy = clone(model)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all rows has warned already
                copy.fit(X[seen], y[seen])
        except ValueError as error:
            return None, f"a fit to part of the rows failed: {error}"
        copy_temperature(model, copy)
        probabilities[out] = copy.predict_proba(X[out])
    chosen = "with the chosen settings, " if model is not estimator else ""
    together = "" if groups is None else " of groups"
    return probabilities, (
        f"each of {len(splits)} folds{together} was predicted by a copy of the model, {chosen}"
        "fitted to the others"
    )


def _split(
    labeled: IntArray, codes: IntArray, folds: int, groups: AnyArray | None
) -> list[tuple[IntArray, IntArray]]:
    """Return rows to fit to and labeled rows to predict, fold by fold."""
    everything = np.arange(len(codes))
    if groups is None:
        alone = StratifiedKFold(folds, shuffle=True, random_state=0)
        parts = [labeled[part] for _, part in alone.split(labeled, codes[labeled])]
        return [(np.setdiff1d(everything, out), out) for out in parts]
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=0)
    together = splitter.split(labeled, codes[labeled], groups[labeled])
    parts = [labeled[part] for _, part in together if len(part)]  # few groups can leave it empty
    return [(np.flatnonzero(~np.isin(groups, groups[out])), out) for out in parts]


def _lacks_a_class(codes: IntArray, n_classes: int) -> bool:
    return len(np.unique(codes[codes >= 0])) < n_classes
