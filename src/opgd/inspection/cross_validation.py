"""Cross-validated class probabilities of a fitted classifier."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from opgd._utils.validation import check_integer
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.estimators import copy_calibration
from opgd.inspection.pipelines import refit_steps

MAX_ROWS = 20_000
MAX_VALUES = 1_000_000
Split = tuple[IntArray, IntArray]


def predict_held_out(
    estimator: Any,
    X: AnyArray,
    y: AnyArray,
    codes: IntArray,
    cv: int,
    groups: AnyArray | None = None,
    table: tuple[Any, Any] | None = None,
) -> tuple[FloatArray | None, str]:
    """Return held-out probabilities of labeled rows, (n, K), and a description of the method.

    `table` has the steps of a pipeline and the rows before these steps, which are fitted again to
    the training rows of each fold.

    Unlabeled rows are part of every training set, and their probabilities are nan. With groups,
    (n,), all rows of a group are held out together, labeled or not. If cross-validation is not
    possible, return None and the reason.
    """
    splits, note = plan_folds(X, codes, len(estimator.classes_), cv, groups)
    if splits is None:
        return None, note
    model = getattr(estimator, "best_estimator_", estimator)
    probabilities = np.full((len(X), len(estimator.classes_)), np.nan)
    for train, test in splits:
        copy = clone(model)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # the fit to all rows has issued its warnings already
                features = X[train], X[test]
                if table is not None:
                    features = refit_steps(*table, y, train, test)
                copy.fit(features[0], y[train])
        except ValueError as error:
            return None, f"a fit to the training folds failed: {error}"
        if not getattr(copy, "calibrate", False):  # otherwise, its fit has calibrated it
            copy_calibration(model, copy)
        probabilities[test] = copy.predict_proba(features[1])
    settings = " of the selected settings" if model is not estimator else ""
    return probabilities, note + settings


def plan_folds(
    X: AnyArray, codes: IntArray, n_classes: int, cv: int, groups: AnyArray | None = None
) -> tuple[list[Split] | None, str]:
    """Return training rows and labeled test rows of each fold, and the name of the method.

    The folds are the same on every call. If cross-validation is not possible, return None and the
    reason.
    """
    check_integer("cv", cv)
    labeled = np.flatnonzero(codes >= 0)
    smallest = int(np.bincount(codes[labeled], minlength=n_classes).min())
    folds = min(cv, smallest)
    if groups is not None:
        folds = min(folds, len(np.unique(groups[labeled])))
    if cv < 2:
        return None, "cross-validation was not requested"
    if len(X) > MAX_ROWS or X.size > MAX_VALUES:
        return None, "the table is too large for cross-validation"
    if smallest < 2:
        return None, "a class has fewer than two labeled rows"
    if folds < 2:
        return None, "all labeled rows belong to one group"
    splits = _split(labeled, codes, folds, groups)
    if any(_lacks_a_class(codes[train], n_classes) for train, _ in splits):
        return None, "a class occurs only in groups that are held out together"
    by_group = "" if groups is None else " by group"
    return splits, f"{len(splits)}-fold cross-validation{by_group}"


def _split(labeled: IntArray, codes: IntArray, folds: int, groups: AnyArray | None) -> list[Split]:
    """Return the training rows and the labeled test rows of each fold."""
    all_rows = np.arange(len(codes))
    if groups is None:
        k_fold = StratifiedKFold(folds, shuffle=True, random_state=0)
        tests = [labeled[test] for _, test in k_fold.split(labeled, codes[labeled])]
        return [(np.setdiff1d(all_rows, test), test) for test in tests]
    group_k_fold = StratifiedGroupKFold(folds, shuffle=True, random_state=0)
    splits = group_k_fold.split(labeled, codes[labeled], groups[labeled])
    tests = [labeled[test] for _, test in splits if len(test)]  # with few groups, some are empty
    return [(np.flatnonzero(~np.isin(groups, groups[test])), test) for test in tests]


def _lacks_a_class(codes: IntArray, n_classes: int) -> bool:
    return len(np.unique(codes[codes >= 0])) < n_classes
