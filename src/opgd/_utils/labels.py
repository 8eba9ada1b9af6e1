"""Encoding of labels, some of which may be missing."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from opgd._utils.validation import encode_labels
from opgd.core.types import AnyArray, IntArray


def to_label_array(y: Any) -> AnyArray:
    """Convert labels to an array, (n,); labels in lists of several types keep their types."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. Use OPGDMixture if "
            "no labels are available."
        )
    if isinstance(y, list | tuple) and len({type(label) for label in y}) > 1:
        y = np.array(y, dtype=object)
    if hasattr(y, "isna") and np.any(y.isna()):  # pandas: keep the types of the other labels
        y = np.asarray(y.astype(object))
    labels: AnyArray = column_or_1d(y, warn=True)
    return labels


def encode_partly_labeled(labels: AnyArray, unlabeled: Any) -> tuple[AnyArray, IntArray]:
    """Return sorted classes and the code of every label, -1 for missing ones.

    Labels equal to `unlabeled` are missing; if that is None, labels that are -1, None or NaN.
    """
    missing = is_missing(labels, unlabeled)
    if missing.all():
        raise ValueError("y has no labeled samples. Use OPGDMixture if no labels are available.")
    known = labels[~missing]
    if known.dtype == object and _of_one_kind(known):
        known = np.array(known.tolist())
    codes = np.full(len(labels), -1, dtype=np.intp)
    classes, codes[~missing] = encode_labels(known)
    if len(classes) == 1 and missing.any():
        raise ValueError(
            f"Only one class ({classes.tolist()[0]!r}) is labeled. If -1 is a class, pass another "
            "marker as `unlabeled`."
        )
    return classes, codes


def encode_among(labels: AnyArray, classes: AnyArray, unlabeled: Any) -> IntArray:
    """Return the codes of labels among the classes, -1 for missing labels and other classes."""
    places = {label: code for code, label in enumerate(classes.tolist())}
    missing = is_missing(labels, unlabeled)
    return np.array(
        [
            -1 if label_missing else places.get(label, -1)
            for label, label_missing in zip(labels.tolist(), missing, strict=True)
        ],
        dtype=np.intp,
    )


def is_missing(labels: AnyArray, unlabeled: Any) -> AnyArray:
    """Return a mask of missing labels, (n,)."""
    if unlabeled is not None:
        return np.array([_equals_marker(label, unlabeled) for label in labels.tolist()], dtype=bool)
    if labels.dtype.kind == "f":
        if np.any(np.isinf(labels)):
            raise ValueError("Input y contains infinity; labels must be finite.")
        return np.isnan(labels) | (labels == -1)
    if labels.dtype.kind == "i":
        return labels == -1
    if labels.dtype.kind == "O":
        if all(isinstance(label, str) for label in labels):
            _check_words(labels)
        return np.array(
            [_is_none(label) or _equals_marker(label, -1) for label in labels], dtype=bool
        )
    if labels.dtype.kind in "US":
        _check_words(labels)
    return np.zeros(len(labels), dtype=bool)


def _check_words(labels: AnyArray) -> None:
    """Raise ValueError for strings that look like missing labels converted by NumPy."""
    words = [word for word in ("-1", "nan", "None", "<NA>") if np.any(labels == word)]
    if words:
        raise ValueError(
            f"y has the label {words[0]!r}, which may be a missing label that NumPy converted to a "
            f"string. If it is, pass unlabeled={words[0]!r}. If it is a real class, set "
            "`unlabeled` to a value that does not occur in y."
        )


def _is_none(label: Any) -> bool:
    """Return whether a label is None, NaN, or a missing value of pandas."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, Real) and label != label


def _equals_marker(label: Any, unlabeled: Any) -> bool:
    """Return whether a label equals the marker of missing labels; True does not equal 1."""
    if _is_none(unlabeled):
        return _is_none(label)
    is_bool = isinstance(label, bool | np.bool_), isinstance(unlabeled, bool | np.bool_)
    return not _is_none(label) and is_bool[0] == is_bool[1] and bool(label == unlabeled)


def _of_one_kind(known: AnyArray) -> bool:
    """Return whether the labels of an object array are all strings, numbers or booleans."""
    kinds = [str, bool | np.bool_, Real]
    return any(all(isinstance(label, kind) for label in known) for kind in kinds)
