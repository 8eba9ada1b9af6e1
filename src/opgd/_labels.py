"""Labels of which some are missing."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from opgd._validation import encode_labels
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
    labels: AnyArray = column_or_1d(y, warn=True)
    return labels


def encode_partly(labels: AnyArray, unlabeled: Any) -> tuple[AnyArray, IntArray]:
    """Classes in sorted order and the code of every row, -1 for rows without a label.

    Without a label are rows that equal `unlabeled`; if that is None, those that are -1, None or
    NaN.
    """
    missing = _missing(labels, unlabeled)
    if missing.all():
        raise ValueError("y has no labelled rows; without any labels, use OPGDMixture.")
    known = labels[~missing]
    if known.dtype == object and _of_one_kind(known):
        known = np.array(known.tolist())
    codes = np.full(len(labels), -1, dtype=np.intp)
    classes, codes[~missing] = encode_labels(known)
    return classes, codes


def _missing(values: AnyArray, unlabeled: Any) -> AnyArray:
    if unlabeled is not None:
        return np.array([_same(value, unlabeled) for value in values.tolist()], dtype=bool)
    if values.dtype.kind == "f":
        if np.any(np.isinf(values)):
            raise ValueError("Input y contains infinity; labels must be finite.")
        return np.isnan(values) | (values == -1)
    if values.dtype.kind == "i":
        return values == -1
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return np.array([_is_missing(value) for value in values], dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True
    return (
        isinstance(value, Real) and not isinstance(value, bool) and (value != value or value == -1)
    )


def _same(value: Any, unlabeled: Any) -> bool:
    both_nan = value != value and unlabeled != unlabeled
    return bool(both_nan or (type(value) is not bool and value == unlabeled))


def _of_one_kind(known: AnyArray) -> bool:
    """Whether labels of an object array are all strings or all numbers."""
    kinds = {
        str if isinstance(own, str) else Real if isinstance(own, Real) else type(own)
        for own in known
    }
    return len(kinds) == 1 and kinds <= {str, Real}
