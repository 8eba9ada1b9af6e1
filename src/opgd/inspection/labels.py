"""Encode labels as integers."""

from typing import Any

import numpy as np

from opgd._utils.labels import encode_among, is_missing, to_label_array
from opgd._utils.text import list_names
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core.types import IntArray


def encode_classes(classifier: Any, y: Any) -> IntArray:
    """Return the class index of each label, -1 if it is missing or not a class."""
    unlabeled = getattr(classifier, "unlabeled", np.nan)
    return encode_among(to_label_array(y), classifier.classes_, unlabeled)


def warn_if_unknown(classifier: Any, y: Any, codes: IntArray) -> None:
    """Warn if labels are given, but none of them is a class."""
    labels = to_label_array(y)
    given = labels[~is_missing(labels, getattr(classifier, "unlabeled", np.nan))]
    if len(given) and np.all(codes < 0):
        classes = list_names([repr(label) for label in classifier.classes_.tolist()])
        warn_caller(
            f"No label is a class of {type(classifier).__name__}: y has {given.tolist()[0]!r}, "
            f"the classes are {classes}. Pass labels like those of the fit.",
            DataWarning,
        )


def encode_any(y: Any) -> tuple[list[str], IntArray]:
    """Return the sorted distinct labels as text, and the index of each label, -1 if missing."""
    labels = to_label_array(y)
    missing = is_missing(labels, np.nan)
    known = list(dict.fromkeys(labels[~missing].tolist()))
    try:
        known.sort()
    except TypeError:  # labels of several types
        known.sort(key=str)
    return [str(label) for label in known], encode_among(labels, np.array(known, object), np.nan)
