"""Labels of which some are missing."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from opgd._utils.validation import encode_labels
from opgd.core.types import AnyArray, IntArray


def label_array(y: Any) -> AnyArray:
    """Labels as an array, (n,); in a list of several types they stay what they are."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None; without any labels, "
            "use OPGDMixture."
        )
    if isinstance(y, list | tuple) and len({type(label) for label in y}) > 1:
        y = np.array(y, dtype=object)
    if hasattr(y, "isna") and np.any(y.isna()):  # of pandas: keep the type of the labels there are
        y = np.asarray(y.astype(object))
    labels: AnyArray = column_or_1d(y, warn=True)
    return labels


def encode_partly(labels: AnyArray, unlabeled: Any) -> tuple[AnyArray, IntArray]:
    """Classes in sorted order and the code of every row, -1 for rows without a label.

    Without a label are rows that equal `unlabeled`; if that is None, those that are -1, None or
    NaN.
    """
    missing = is_missing(labels, unlabeled)
    if missing.all():
        raise ValueError("y has no labeled rows; without any labels, use OPGDMixture.")
    known = labels[~missing]
    if known.dtype == object and _of_one_kind(known):
        known = np.array(known.tolist())
    codes = np.full(len(labels), -1, dtype=np.intp)
    classes, codes[~missing] = encode_labels(known)
    if len(classes) == 1 and missing.any():
        raise ValueError(
            f"All labeled rows are of one class ({classes.tolist()[0]!r}), so the others have no "
            "choice. If -1 is a label here, say with unlabeled what is none."
        )
    return classes, codes


def codes_among(labels: AnyArray, classes: AnyArray, unlabeled: Any) -> IntArray:
    """Codes of labels that are among the classes; -1 for others, and for those that are missing."""
    places = {label: code for code, label in enumerate(classes.tolist())}
    missing = is_missing(labels, unlabeled)
    return np.array(
        [
            -1 if gone else places.get(own, -1)
            for own, gone in zip(labels.tolist(), missing, strict=True)
        ],
        dtype=np.intp,
    )


def is_missing(labels: AnyArray, unlabeled: Any) -> AnyArray:
    """Which rows have no label, (n,)."""
    if unlabeled is not None:
        return np.array([_same(label, unlabeled) for label in labels.tolist()], dtype=bool)
    if labels.dtype.kind == "f":
        if np.any(np.isinf(labels)):
            raise ValueError("Input y contains infinity; labels must be finite.")
        return np.isnan(labels) | (labels == -1)
    if labels.dtype.kind == "i":
        return labels == -1
    if labels.dtype.kind == "O":
        if all(isinstance(label, str) for label in labels):
            _refuse_words(labels)
        return np.array([_is_none(label) or _same(label, -1) for label in labels], dtype=bool)
    if labels.dtype.kind in "US":
        _refuse_words(labels)
    return np.zeros(len(labels), dtype=bool)


def _refuse_words(labels: AnyArray) -> None:
    """Refuse missing labels that NumPy has made words of."""
    words = [word for word in ("-1", "nan", "None", "<NA>") if np.any(labels == word)]
    if words:
        raise ValueError(
            f"y has the word {words[0]!r} among its labels, as NumPy makes of a missing one in an "
            f"array of words; if so, set unlabeled={words[0]!r}, else another value for unlabeled."
        )


def _is_none(label: Any) -> bool:
    """Whether this is None, NaN, or what pandas has instead."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, Real) and label != label


def _same(label: Any, unlabeled: Any) -> bool:
    if _is_none(unlabeled):
        return _is_none(label)
    is_bool = isinstance(label, bool | np.bool_), isinstance(unlabeled, bool | np.bool_)
    return not _is_none(label) and is_bool[0] == is_bool[1] and bool(label == unlabeled)


def _of_one_kind(known: AnyArray) -> bool:
    """Whether labels of an object array are all strings, all numbers or all true and false."""
    kinds = [str, bool | np.bool_, Real]
    return any(all(isinstance(label, kind) for label in known) for kind in kinds)
